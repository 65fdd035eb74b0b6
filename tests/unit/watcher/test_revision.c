// SPDX-License-Identifier: Apache-2.0
#include "watcher/revision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void numbers_have_an_order_and_other_texts_none(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool is_older;
	} rows[] = {
		{"9", "10", true},
		{"10", "9", false},
		{"7", "7", false},
		{"999999999999999999", "1000000000000000000", true},
		{"1000000000000000000", "999999999999999999", false},
		{"1000000000000000000", "1000000000000000001", true},
		{"", "1", false},
		{"1", "", false},
		{"1", "b", false},
		{"a", "b", false},
		{"007", "8", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (revision_is_older(str_from(rows[i].a), str_from(rows[i].b)) != rows[i].is_older)
			fail_msg("\"%s\" \"%s\"", rows[i].a, rows[i].b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_have_an_order_and_other_texts_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
