// SPDX-License-Identifier: Apache-2.0
/* What --trusted-proxies and --client-address-header may say. */
#include "provider-proxy/trusted_proxies.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static void networks(void **state)
{
	static const struct {
		const char *in;
		const char *want; /* NULL: it is wrong */
		unsigned bits;
	} rows[] = {
		{"10.0.0.0/8", "10.0.0.0", 8},
		{"10.1.2.3/8", "10.0.0.0", 8},
		{"192.0.2.1", "192.0.2.1", 32},
		{"2001:db8::/32", "2001:db8::", 32},
		{"2001:db8::1", "2001:db8::1", 128},
		{"0.0.0.0/1", "0.0.0.0", 1},
		{"0.0.0.0/0", NULL, 0},
		{"::/0", NULL, 0},
		{"10.0.0.0/33", NULL, 0},
		{"10.0.0.0/", NULL, 0},
		{"front.example", NULL, 0},
		{"10.0.0.1;", NULL, 0},
		{"unix:", NULL, 0},
		{"", NULL, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *item = (char *)(uintptr_t)rows[i].in;
		const struct option_list list = {.items = &item, .count = 1};
		struct check_cidr network;
		char *problem = trusted_proxies_problem(&list, "X-Forwarded-For");
		if ((problem == NULL) != (rows[i].want != NULL))
			fail_msg("%s: %s", rows[i].in, problem != NULL ? problem : "is taken");
		free(problem);
		if (rows[i].want == NULL)
			continue;
		assert_true(trusted_proxies_get(&list, 0, &network));
		assert_string_equal(network.ip.text, rows[i].want);
		assert_int_equal(network.bits, rows[i].bits);
		assert_false(trusted_proxies_get(&list, 1, &network));
	}
}

static void too_many(void **state)
{
	char *items[TRUSTED_PROXIES_MAX + 1];
	struct option_list list = {.items = items, .count = TRUSTED_PROXIES_MAX};
	static char text[] = "192.0.2.1";
	for (size_t i = 0; i <= TRUSTED_PROXIES_MAX; i++)
		items[i] = text;
	assert_null(trusted_proxies_problem(&list, "X"));
	list.count++;
	char *problem = trusted_proxies_problem(&list, "X");
	assert_non_null(problem);
	free(problem);
}

static void headers(void **state)
{
	static const struct {
		const char *in;
		bool is_good;
	} rows[] = {
		{"X-Forwarded-For", true},
		{"CF-Connecting-IP", true},
		{"", false},
		{"X Y", false},
		{"X:", false},
		{"X;", false},
		{"X_Y", false},
		{"x,-1) if TRUE", false},
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false},
	};
	const struct option_list none = {0};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *problem = trusted_proxies_problem(&none, rows[i].in);
		if ((problem == NULL) != rows[i].is_good)
			fail_msg("%s: %s", rows[i].in, problem != NULL ? problem : "is taken");
		free(problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(networks),
		cmocka_unit_test(too_many),
		cmocka_unit_test(headers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
