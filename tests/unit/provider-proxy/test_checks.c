// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/checks.h"
#include "provider-proxy/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

struct text_case {
	struct str in;
	bool want;
};

#define CHECK_ALL(cases, function)                                                  \
	for (size_t i = 0; i < sizeof(cases) / sizeof((cases)[0]); i++) {           \
		if (function((cases)[i].in) != (cases)[i].want)                     \
			fail_msg(#function " of \"%.*s\"", STR_FMT((cases)[i].in)); \
	}

static void hosts_are_dns_names(void **state)
{
	static const struct text_case cases[] = {
		{STR("a.test"), true},
		{STR("a"), true},
		{STR("xn--bcher-kva.test"), true},
		{STR("1.2"), true},
		{STR(""), false},
		{STR("."), false},
		{STR("a.test."), false},
		{STR("A.test"), false},
		{STR("-a.test"), false},
		{STR("a-.test"), false},
		{STR("a..test"), false},
		{STR("*.test"), false},
		{STR("a b"), false},
		{STR("a\nb"), false},
		{STR("a\0b"), false},
		{STR("a:80"), false},
		{STR("_a.test"), false},
		{STR("f\xc3\xbc.test"), false},
	};
	char longest[254];
	(void)state;
	CHECK_ALL(cases, check_host);
	memset(longest, 'a', sizeof(longest));
	for (size_t i = 63; i < sizeof(longest); i += 64)
		longest[i] = '.';
	assert_true(check_host((struct str){longest, 253}));
	assert_false(check_host((struct str){longest, 254}));
	assert_true(check_wildcard(STR("*.a.test")));
	assert_false(check_wildcard(STR("*.*.test")));
	assert_false(check_wildcard(STR("a.test")));
}

static void paths_are_printable(void **state)
{
	static const struct text_case cases[] = {
		{STR("/"), true},
		{STR("/a\"b'c\\d;e{f}$g%h[i]|j<<"), true},
		{STR(""), false},
		{STR("a"), false},
		{STR("/a b"), false},
		{STR("/a\nb"), false},
		{STR("/a\rb"), false},
		{STR("/a\0b"), false},
		{STR("/a\x7f"), false},
		{STR("/a?b"), false},
		{STR("/a#b"), false},
		{STR("/\xc3\xbc"), false},
	};
	char slashes[CHECK_PATH_ELEMENTS_MAX + 1];
	(void)state;
	CHECK_ALL(cases, check_path);
	memset(slashes, '/', sizeof(slashes));
	assert_true(check_path((struct str){slashes, CHECK_PATH_ELEMENTS_MAX}));
	assert_false(check_path((struct str){slashes, CHECK_PATH_ELEMENTS_MAX + 1}));
}

static void cookie_names_are_tokens(void **state)
{
	static const struct text_case cases[] = {
		{STR("SLUICE"), true},
		{STR("a-b_c.1"), true},
		{STR(""), false},
		{STR("a b"), false},
		{STR("a;b"), false},
		{STR("a=b"), false},
		{STR("\"a\""), false},
	};
	(void)state;
	CHECK_ALL(cases, check_cookie_name);
}

static void addresses_are_canonical(void **state)
{
	struct check_ip ip;
	(void)state;
	assert_true(check_ip(STR("10.0.0.1"), &ip));
	assert_string_equal(ip.text, "10.0.0.1");
	assert_true(check_ip(STR("FD00:0:0::1"), &ip));
	assert_string_equal(ip.text, "fd00::1");
	assert_true(check_ip(STR("::ffff:10.0.0.1"), &ip));
	assert_string_equal(ip.text, "10.0.0.1");
	assert_false(check_ip(STR("10.0.0.1:80"), &ip));
	assert_false(check_ip(STR("[::1]"), &ip));
	assert_false(check_ip(STR("fe80::1%eth0"), &ip));
	assert_false(check_ip(STR("10.0.0.256"), &ip));
	assert_false(check_ip(STR("010.0.0.1"), &ip));
	assert_false(check_ip(STR("host"), &ip));
	assert_false(check_ip(STR_NONE, &ip));
}

static void networks_have_no_host_bits(void **state)
{
	struct check_cidr cidr;
	(void)state;
	assert_true(check_cidr(STR("10.1.2.3/8"), &cidr));
	assert_string_equal(cidr.ip.text, "10.0.0.0");
	assert_int_equal(cidr.bits, 8);
	assert_true(check_cidr(STR("fd00::1/64"), &cidr));
	assert_string_equal(cidr.ip.text, "fd00::");
	assert_true(check_cidr(STR("10.1.2.3"), &cidr));
	assert_int_equal(cidr.bits, 32);
	assert_true(check_cidr(STR("0.0.0.0/0"), &cidr));
	assert_false(check_cidr(STR("10.0.0.0/33"), &cidr));
	assert_false(check_cidr(STR("10.0.0.0/"), &cidr));
	assert_false(check_cidr(STR("10.0.0.0/8 "), &cidr));
	assert_false(check_cidr(STR("/8"), &cidr));
}

static void names_are_of_one_form(void **state)
{
	struct name a = name_of(NAME_POOL, STR("default/web:80"));
	struct name b = name_of(NAME_POOL, STR("default/web:81"));
	(void)state;
	/* They stand in files that outlive the program: the same for ever. */
	assert_string_equal(name_of(NAME_HOST, STR("")).text, "h4oymiquy7qobjgx3");
	assert_string_not_equal(a.text, b.text);
	assert_true(name_is_one(NAME_POOL, name_str(&a)));
	assert_false(name_is_one(NAME_HOST, name_str(&a)));
	assert_false(name_is_one(NAME_POOL, STR("p")));
	assert_false(name_is_one(NAME_POOL, STR("paaaaaaaaaaaaaaa1")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_are_dns_names),
		cmocka_unit_test(paths_are_printable),
		cmocka_unit_test(cookie_names_are_tokens),
		cmocka_unit_test(addresses_are_canonical),
		cmocka_unit_test(networks_have_no_host_bits),
		cmocka_unit_test(names_are_of_one_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
