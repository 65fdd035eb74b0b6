// SPDX-License-Identifier: Apache-2.0
#include "common/shared_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void equal_texts_are_one(void **state)
{
	(void)state;
	const char *a = shared_text_get(STR("one"));
	const char *b = shared_text_get((struct str){"one more", 3});
	const char *c = shared_text_get(STR("one more"));
	assert_ptr_equal(a, b);
	assert_string_equal(a, "one");
	assert_string_equal(c, "one more");
	assert_int_equal(shared_text_count(), 2);
	assert_ptr_equal(shared_text_hold(a), a);
	shared_text_drop(a);
	shared_text_drop(b);
	assert_string_equal(a, "one");
	shared_text_drop(a);
	assert_int_equal(shared_text_count(), 1);
	shared_text_drop(c);
	assert_int_equal(shared_text_count(), 0);
}

static void nothing_is_no_text(void **state)
{
	(void)state;
	assert_null(shared_text_get(STR_NONE));
	assert_null(shared_text_hold(NULL));
	shared_text_drop(NULL);
	assert_null(shared_text_get(STR("")));
	assert_int_equal(shared_text_count(), 0);
}

static void many_are_found_again(void **state)
{
	enum { COUNT = 3000 };
	static const char *texts[COUNT];
	char room[32];
	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < COUNT; i++) {
			snprintf(room, sizeof(room), "text %d", i);
			const char *text = shared_text_get(str_from(room));
			if (round == 0)
				texts[i] = text;
			assert_ptr_equal(texts[i], text);
			assert_string_equal(text, room);
		}
	}
	for (int i = 0; i < COUNT; i++) {
		shared_text_drop(texts[i]);
		shared_text_drop(texts[i]);
	}
	assert_int_equal(shared_text_count(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_texts_are_one),
		cmocka_unit_test(nothing_is_no_text),
		cmocka_unit_test(many_are_found_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
