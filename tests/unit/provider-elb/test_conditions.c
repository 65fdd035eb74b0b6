// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/conditions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define TEN     "0123456789"
#define FIFTY   TEN TEN TEN TEN TEN
#define HUNDRED FIFTY FIFTY

static const char *const results[] = {
	"good", "host refused", "host chars", "host length", "path chars", "path length"};

static int set_up(void **ret_arena)
{
	struct arena *arena = test_malloc(sizeof(*arena));
	arena_init(arena);
	*ret_arena = arena;
	return 0;
}

static int tear_down(void **arena)
{
	arena_fini(*arena);
	test_free(*arena);
	return 0;
}

/* "h=a.com p~^/a$", or what is wrong. */
static const char *show(enum conditions_result result, const struct condition_list *list)
{
	static char text[1024];
	size_t len = 0;
	text[0] = '\0';
	if (result != CONDITIONS_GOOD)
		return results[result];
	for (size_t i = 0; i < list->count; i++) {
		const struct elb_condition *c = &list->items[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%s", i == 0 ? "" : " ",
			c->field == ELB_FIELD_HOST ? "h" : "p", c->is_regex ? "~" : "=");
		for (size_t k = 0; k < c->values.count; k++)
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%.*s",
				k == 0 ? "" : "|", STR_FMT(c->values.items[k]));
	}
	return text;
}

static struct virtual_host host_of(const char *host)
{
	return (struct virtual_host){.host = str_from(host),
		.match = host[0] == '\0'  ? HOST_ANY
			 : host[0] == '*' ? HOST_WILDCARD
					  : HOST_EXACT};
}

static void hosts_become_conditions(void **arena)
{
	static const struct {
		const char *host;
		uint64_t port;
		enum wildcard_hosts wildcards;
		const char *want;
	} cases[] = {
		{"", 80, WILDCARD_REGEX, "p=/*"},
		{"", 8080, WILDCARD_REGEX, "p=/*"},
		{"a.example.com", 80, WILDCARD_REGEX, "h=a.example.com"},
		{"a.example.com", 443, WILDCARD_REGEX, "h=a.example.com"},
		{"a-b.example.com", 80, WILDCARD_GLOB, "h=a-b.example.com"},
		{"a.example.com", 80, WILDCARD_REFUSE, "h=a.example.com"},
		/* A client of another port says so in its Host header. */
		{"a.example.com", 8443, WILDCARD_REGEX, "h~^a\\.example\\.com(:[0-9]+)?$"},
		{"a.example.com", 8443, WILDCARD_GLOB, "h=a.example.com"},
		{"a.example.com", 8443, WILDCARD_REFUSE, "h=a.example.com"},
		/* No values: AWS wants a dot, letters behind the last one, and no '_'. */
		{"localhost", 80, WILDCARD_REGEX, "h~^localhost$"},
		{"localhost", 80, WILDCARD_GLOB, "h~^localhost$"},
		{"localhost", 8080, WILDCARD_GLOB, "h~^localhost(:[0-9]+)?$"},
		{"a.b1", 80, WILDCARD_REGEX, "h~^a\\.b1$"},
		{"a_b.example.com", 80, WILDCARD_REGEX, "h~^a_b\\.example\\.com$"},
		{"a.example.com.", 80, WILDCARD_REGEX, "h~^a\\.example\\.com\\.$"},
		{"a?.example.com", 80, WILDCARD_REGEX, "host chars"},
		{"a b.example.com", 80, WILDCARD_REGEX, "host chars"},
		{"a[.com", 80, WILDCARD_REGEX, "host chars"},
		{"\xc3\xa4.com", 80, WILDCARD_REGEX, "host chars"},
		{HUNDRED TEN TEN "1234.com", 80, WILDCARD_REGEX, "h=" HUNDRED TEN TEN "1234.com"},
		{HUNDRED TEN TEN "12345.com", 80, WILDCARD_REGEX, "host length"},
		/* The expression would be too long, the value is not. */
		{HUNDRED TEN ".com", 8080, WILDCARD_REGEX, "h~^" HUNDRED TEN "\\.com(:[0-9]+)?$"},
		{HUNDRED TEN "12.com", 8080, WILDCARD_REGEX, "h=" HUNDRED TEN "12.com"},
		{HUNDRED TEN TEN "123456789", 80, WILDCARD_REGEX, "host length"},
		/* One label, as an Ingress says. */
		{"*.example.com", 80, WILDCARD_REGEX, "h~^[^.]+\\.example\\.com$"},
		{"*.example.com", 8443, WILDCARD_REGEX, "h~^[^.]+\\.example\\.com(:[0-9]+)?$"},
		{"*.a_b.c1", 80, WILDCARD_REGEX, "h~^[^.]+\\.a_b\\.c1$"},
		{"*.example.com", 80, WILDCARD_GLOB, "h=*.example.com"},
		{"*.example.com", 8443, WILDCARD_GLOB, "h=*.example.com"},
		{"*.com", 80, WILDCARD_GLOB, "h=*.com"},
		{"*.a_b.com", 80, WILDCARD_GLOB, "host chars"},
		{"*.example.c1", 80, WILDCARD_GLOB, "host chars"},
		{"*.example.com", 80, WILDCARD_REFUSE, "host refused"},
		{"*", 80, WILDCARD_REGEX, "host chars"},
		{"*a.example.com", 80, WILDCARD_REGEX, "host chars"},
		{"*.*.example.com", 80, WILDCARD_REGEX, "host chars"},
		{"*." HUNDRED TEN "1234.com", 80, WILDCARD_REGEX,
			"h~^[^.]+\\." HUNDRED TEN "1234\\.com$"},
		{"*." HUNDRED TEN "12345.com", 80, WILDCARD_REGEX, "host length"},
		{"*." HUNDRED TEN TEN "123.com", 80, WILDCARD_GLOB, "host length"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct condition_list list;
		struct virtual_host host = host_of(cases[i].host);
		enum conditions_result result = conditions_make(
			&host, NULL, cases[i].port, cases[i].wildcards, *arena, &list);
		assert_string_equal(show(result, &list), cases[i].want);
	}
}

static void paths_become_conditions(void **arena)
{
	static const struct {
		const char *path;
		enum path_type match;
		const char *want;
	} cases[] = {
		{"/", PATH_PREFIX, ""},
		{"", PATH_PREFIX, ""},
		{"", PATH_IMPLEMENTATION_SPECIFIC, ""},
		{"/", PATH_IMPLEMENTATION_SPECIFIC, ""},
		{"/", PATH_EXACT, "p=/"},
		{"/a", PATH_EXACT, "p=/a"},
		{"/a/", PATH_EXACT, "p=/a/"},
		{"/a", PATH_PREFIX, "p=/a|/a/*"},
		{"/a/", PATH_PREFIX, "p=/a|/a/*"},
		{"/a", PATH_IMPLEMENTATION_SPECIFIC, "p=/a|/a/*"},
		{"/a/b.c", PATH_PREFIX, "p=/a/b.c|/a/b.c/*"},
		/* Case counts. */
		{"/aB", PATH_EXACT, "p=/aB"},
		/* AWS's set. */
		{"/_-.$~\"'@:+&", PATH_EXACT, "p=/_-.$~\"'@:+&"},
		/* '*' and '?' of a value mean anything. */
		{"/a*b", PATH_EXACT, "p~^/a\\*b$"},
		{"/a?b", PATH_EXACT, "p~^/a\\?b$"},
		{"/a*", PATH_PREFIX, "p~^/a\\*(/.*)?$"},
		{"/a*/", PATH_PREFIX, "p~^/a\\*(/.*)?$"},
		/* Out of the set. */
		{"/a%20b", PATH_EXACT, "p~^/a%20b$"},
		{"/a,b;c=d", PATH_PREFIX, "p~^/a,b;c=d(/.*)?$"},
		{"/(a)!", PATH_EXACT, "p~^/\\(a\\)!$"},
		{"/\\^$.|?*+()[]{}", PATH_EXACT,
			"p~^/\\\\\\^\\$\\.\\|\\?\\*\\+\\(\\)\\[\\]\\{\\}$"},
		{"/a b", PATH_EXACT, "path chars"},
		{"/a\tb", PATH_EXACT, "path chars"},
		{"/a\x7f", PATH_EXACT, "path chars"},
		{"/\xc3\xa4", PATH_PREFIX, "path chars"},
		{"", PATH_EXACT, "path chars"},
		/* 128 characters, of which a prefix needs two for itself. */
		{"/" HUNDRED TEN TEN "1234567", PATH_EXACT, "p=/" HUNDRED TEN TEN "1234567"},
		{"/" HUNDRED TEN TEN "12345678", PATH_EXACT, "path length"},
		{"/" HUNDRED TEN TEN "12345", PATH_PREFIX,
			"p=/" HUNDRED TEN TEN "12345|/" HUNDRED TEN TEN "12345/*"},
		{"/" HUNDRED TEN TEN "123456", PATH_PREFIX, "path length"},
		{"/," HUNDRED TEN TEN "1234", PATH_EXACT, "p~^/," HUNDRED TEN TEN "1234$"},
		{"/," HUNDRED TEN TEN "12345", PATH_EXACT, "path length"},
		{"/," HUNDRED TEN "1234567", PATH_PREFIX, "p~^/," HUNDRED TEN "1234567(/.*)?$"},
		{"/," HUNDRED TEN "123456789", PATH_PREFIX, "path length"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct condition_list list;
		char want[1024];
		struct path_rule rule = {.path = str_from(cases[i].path), .match = cases[i].match};
		struct virtual_host host = host_of("a.com");
		bool is_good = cases[i].want[0] == '\0' || cases[i].want[0] == 'p';
		is_good = is_good && strncmp(cases[i].want, "path ", 5) != 0;
		snprintf(want, sizeof(want), "%s%s%s", is_good ? "h=a.com" : "",
			is_good && cases[i].want[0] != '\0' ? " " : "", cases[i].want);
		enum conditions_result result =
			conditions_make(&host, &rule, 80, WILDCARD_REGEX, *arena, &list);
		assert_string_equal(show(result, &list), want);
		assert_int_equal(conditions_take_all(&rule), cases[i].want[0] == '\0');
		/* Without a host there has to be a path. */
		host = host_of("");
		result = conditions_make(&host, &rule, 80, WILDCARD_REGEX, *arena, &list);
		assert_string_equal(
			show(result, &list), cases[i].want[0] == '\0' ? "p=/*" : cases[i].want);
	}
}

static void hosts_that_a_pattern_takes_too_many_of(void **arena)
{
	struct condition_list list;
	struct virtual_host host = host_of("*.example.com");
	enum conditions_result result = conditions_make_deeper(&host, *arena, &list);
	assert_string_equal(show(result, &list), "h=*.*.example.com");
	host = host_of("*." HUNDRED TEN "0123456789.com");
	result = conditions_make_deeper(&host, *arena, &list);
	assert_string_equal(show(result, &list), "h=*.*." HUNDRED TEN "0123456789.com");
	host = host_of("*." HUNDRED TEN TEN "1.com");
	result = conditions_make_deeper(&host, *arena, &list);
	assert_string_equal(show(result, &list), "host length");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(hosts_become_conditions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(paths_become_conditions, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			hosts_that_a_pattern_takes_too_many_of, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
