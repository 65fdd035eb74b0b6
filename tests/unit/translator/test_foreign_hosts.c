// SPDX-License-Identifier: Apache-2.0
/* Which hosts outside the cluster may be asked. */
#include "translator/dialects/foreign_hosts.h"

#include "tests/unit/translator/help.h"

#include <stdlib.h>
#include <string.h>

static void options(void **state)
{
	static const struct {
		const char *item;
		bool is_good;
	} rows[] = {
		{"auth.example.com", true},
		{"*.corp.example", true},
		{"Auth.example.com", false},
		{"*", false},
		{"*.*.example", false},
		{"example", false},
		{"*.example", false},
		{"169.254.169.254", false},
		{"[::1]", false},
		{"localhost", false},
		{"x.localhost", false},
		{"https://auth.example.com", false},
		{"auth.example.com:443", false},
		{"", false},
	};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char *items[] = {strdup(rows[i].item)};
		char *problem = foreign_hosts_problem(&(struct option_list){items, 1});
		if ((problem == NULL) != rows[i].is_good)
			fail_msg("%s: %s", rows[i].item, problem != NULL ? problem : "taken");
		free(problem);
		free(items[0]);
	}
}

static void hosts(void **state)
{
	static const struct {
		const char *host;
		bool is_there;
	} rows[] = {
		{"auth.example.com", true},
		{"a.corp.example", true},
		{"a.b.corp.example", true},
		{"corp.example", false},
		{".corp.example", false},
		{"xcorp.example", false},
		{"other.example.com", false},
		{"x.auth.example.com", false},
		{"auth.example.com.evil.test", false},
		{"auth", false},
		{"10.0.0.1.corp.example", true},
		{"a.corp.example;x", false},
		{"*.corp.example", false},
		{"$host", false},
		{"", false},
	};
	char *items[] = {(char[]){"auth.example.com"}, (char[]){"*.corp.example"}};
	const struct option_list list = {items, 2};
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (foreign_hosts_have(&list, str_from(rows[i].host)) != rows[i].is_there)
			fail_msg("%s", rows[i].host);
		assert_false(foreign_hosts_have(NULL, str_from(rows[i].host)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options),
		cmocka_unit_test(hosts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
