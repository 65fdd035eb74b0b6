// SPDX-License-Identifier: Apache-2.0
#include "common/shared_text.h"
#include "watcher/revision.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void what_is_kept_reads_the_same(void **state)
{
	static const struct {
		const char *text;
		size_t shared;
	} rows[] = {
		{"", 0},
		{"0", 0},
		{"1", 0},
		{"123456789", 0},
		{"999999999999999999", 0},
		{"1000000000000000000", 1},
		{"18446744073709551615", 1},
		{"99999999999999999999999999", 1},
		{"007", 1},
		{"+1", 1},
		{"1.5", 1},
		{"abc", 1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct revision_kept kept = {0};
		struct revision_kept again = {0};
		char room[REVISION_NUMBER_ROOM];
		revision_keep(&kept, str_from(rows[i].text));
		revision_keep(&again, str_from("5"));
		revision_keep(&again, str_from(rows[i].text));
		if (!str_eq_c(revision_text(kept, room), rows[i].text) ||
			shared_text_count() != rows[i].shared)
			fail_msg("\"%s\"", rows[i].text);
		assert_true(revision_kept_eq(kept, again));
		assert_int_equal(revision_is_kept(kept), rows[i].text[0] != '\0');
		revision_keep(&kept, STR_NONE);
		revision_keep(&again, STR_NONE);
		assert_int_equal(shared_text_count(), 0);
	}
}

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
		struct revision_kept a = {0};
		struct revision_kept b = {0};
		revision_keep(&a, str_from(rows[i].a));
		revision_keep(&b, str_from(rows[i].b));
		if (revision_kept_is_older(a, b) != rows[i].is_older ||
			revision_is_older(str_from(rows[i].a), str_from(rows[i].b)) !=
				rows[i].is_older)
			fail_msg("\"%s\" \"%s\"", rows[i].a, rows[i].b);
		revision_keep(&a, STR_NONE);
		revision_keep(&b, STR_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_reads_the_same),
		cmocka_unit_test(numbers_have_an_order_and_other_texts_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
