// SPDX-License-Identifier: Apache-2.0
#include "common/ip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void one_address_has_one_spelling(void **state)
{
	static const struct {
		struct str text;
		const char *canonical; /* NULL: no address */
	} rows[] = {
		{STR("192.0.2.1"), "192.0.2.1"},
		{STR("2001:DB8:0:0::1"), "2001:db8::1"},
		{STR("::ffff:192.0.2.1"), "::ffff:192.0.2.1"},
		{STR("ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255"),
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
		{STR("192.0.2.01"), NULL},
		{STR("192.0.2"), NULL},
		{STR("192.0.2.1 "), NULL},
		{STR("192.0.2.1\0x"), NULL},
		{STR("fe80::1%eth0"), NULL},
		{STR("lb.example"), NULL},
		{STR("0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"), NULL},
		{STR(""), NULL},
		{STR_NONE, NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[INET6_ADDRSTRLEN] = "as it was";
		const char *want = rows[i].canonical != NULL ? rows[i].canonical : "as it was";
		assert_int_equal(ip_canonical(rows[i].text, text), rows[i].canonical != NULL);
		assert_string_equal(text, want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_address_has_one_spelling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
