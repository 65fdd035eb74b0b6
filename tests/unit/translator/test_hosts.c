// SPDX-License-Identifier: Apache-2.0
#include "translator/hosts.h"

#include "tests/unit/translator/help.h"

static void hosts_are_told_apart(void **state)
{
	static const struct {
		const char *host;
		enum host_match match;
	} rows[] = {
		{"", HOST_ANY},
		{"example.com", HOST_EXACT},
		{"a-b.c9.example", HOST_EXACT},
		{"localhost", HOST_EXACT},
		{"xn--mnchen-3ya.de", HOST_EXACT},
		{"1.example", HOST_EXACT},
		{"*.com", HOST_WILDCARD},
		{"*.a.example.com", HOST_WILDCARD},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum host_match match = HOST_ANY;
		const char *problem = host_check(str_from(rows[i].host), &match);
		if (problem != NULL || match != rows[i].match)
			fail_msg("\"%s\": %s, match %d", rows[i].host, problem, (int)match);
	}
}

static void what_is_no_host_is_refused(void **state)
{
	static const char *const rows[] = {"*", "*.", "**.com", "*.*.com", "a.*", "a*.com", ".",
		".com", "com.", "a..b", "-a", "a-", "a.-b", "a_b", "a b", "a/b", "a:80", "[::1]",
		"::1", "1.2.3.4", "a.1", "a\nb", "m\xc3\xbcnchen.de", "a\"b", "a;b", "a{b}",
		"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.com"};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		enum host_match match = HOST_ANY;
		if (host_check(str_from(rows[i]), &match) == NULL)
			fail_msg("\"%s\" was taken", rows[i]);
	}
}

static void length_is_limited(void **state)
{
	char host[300];
	enum host_match match;
	(void)state;
	for (size_t i = 0; i < sizeof(host); i++)
		host[i] = i % 2 == 0 ? 'a' : '.';
	assert_null(host_check((struct str){host, 253}, &match));
	assert_non_null(host_check((struct str){host, 255}, &match));
}

static void capitals_become_small(void **state)
{
	struct arena arena;
	struct str small = STR("small.example");
	(void)state;
	arena_init(&arena);
	assert_text(host_lower(&arena, STR("WWW.Example.COM")), "www.example.com");
	assert_ptr_equal(host_lower(&arena, small).p, small.p);
	assert_int_equal(host_lower(&arena, STR("")).len, 0);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_told_apart),
		cmocka_unit_test(what_is_no_host_is_refused),
		cmocka_unit_test(length_is_limited),
		cmocka_unit_test(capitals_become_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
