// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define BYTES(text) ((struct str){text, sizeof(text) - 1})

static void test_records(void **unused)
{
	(void)unused;
	static const struct {
		const char *name;
		struct str bytes;
		size_t count;
		bool is_right;
	} cases[] = {
		{"none", BYTES(""), 0, true},
		{"one without names", BYTES("\0\0\0\0\0\0"), 1, true},
		{"one with a namespace and an interface", BYTES("\4blue\4eth0\0\0\0\0"), 1, true},
		{"options that mean nothing", BYTES("\0\0\1\2\3\4"), 1, true},
		{"two", BYTES("\0\0\0\0\0\0\2ns\0\0\0\0\0"), 2, true},
		{"fewer than are announced", BYTES("\0\0\0\0\0\0"), 2, false},
		{"more than are announced", BYTES("\0\0\0\0\0\0\0"), 1, false},
		{"nothing where one is announced", BYTES(""), 1, false},
		{"a name that is longer than what there is", BYTES("\377blue"), 1, false},
		{"cut behind the names", BYTES("\0\0\0\0\0"), 1, false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (transfer_are_records(cases[i].bytes, cases[i].count) != cases[i].is_right)
			fail_msg("%s", cases[i].name);
	}
}

static void test_what_is_added_are_records(void **unused)
{
	struct buf records;
	(void)unused;
	buf_init(&records, TRANSFER_BATCH_MAX * TRANSFER_RECORD_MAX);
	transfer_add_records(&records, TRANSFER_BATCH_MAX);
	assert_true(transfer_are_records(buf_str(&records), TRANSFER_BATCH_MAX));
	assert_false(transfer_are_records(buf_str(&records), TRANSFER_BATCH_MAX - 1));
	buf_fini(&records);
}

static void test_variable_of_nginx(void **unused)
{
	static const struct {
		size_t count;
		const char *want;
	} cases[] = {{0, ""}, {1, "3;"}, {3, "3;4;5;"}};
	(void)unused;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = transfer_nginx_variable(3, cases[i].count);
		assert_string_equal(text, cases[i].want);
		free(text);
	}
	char *longest = transfer_nginx_variable(3, TRANSFER_SOCKETS_MAX);
	assert_string_equal(longest + strlen(longest) - strlen("8193;8194;"), "8193;8194;");
	free(longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_what_is_added_are_records),
		cmocka_unit_test(test_variable_of_nginx),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
