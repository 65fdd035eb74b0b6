// SPDX-License-Identifier: Apache-2.0
#include "common/buf.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void grows_up_to_its_ceiling_and_not_beyond(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 1000);
	char block[100] = {0};
	for (int i = 0; i < 10; i++)
		assert_int_equal(buf_append(&b, block, sizeof(block)), 0);
	assert_int_equal(buf_append(&b, block, 1), -EMSGSIZE);
	assert_int_equal(buf_len(&b), 1000);
	assert_null(buf_reserve(&b, 1));
	buf_consume(&b, 400);
	assert_int_equal(buf_append(&b, block, sizeof(block)), 0);
	assert_int_equal(buf_len(&b), 700);
	buf_fini(&b);
}

static void refuses_sizes_that_would_overflow(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 1000);
	assert_int_equal(buf_append(&b, "x", 1), 0);
	assert_null(buf_reserve(&b, SIZE_MAX));
	buf_fini(&b);
}

static void keeps_order_while_consumed_and_filled(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 4096);
	unsigned char next_in = 0;
	unsigned char next_out = 0;
	for (int round = 0; round < 2000; round++) {
		for (int i = 0; i < 7; i++, next_in++)
			assert_int_equal(buf_append(&b, &next_in, 1), 0);
		for (int i = 0; i < 6 + round % 3; i++, next_out++) {
			if (buf_len(&b) == 0)
				break;
			assert_int_equal(buf_data(&b)[0], next_out);
			buf_consume(&b, 1);
		}
	}
	buf_fini(&b);
}

static void prints_and_cuts_nothing(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 6);
	assert_int_equal(buf_printf(&b, "%d", 12345), 0);
	assert_int_equal(buf_printf(&b, "%d", 12345), -EMSGSIZE);
	assert_true(str_eq_c(buf_str(&b), "12345"));
	buf_fini(&b);
}

static void appends_numbers(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 24);
	assert_int_equal(buf_append_uint(&b, UINT64_MAX), 0);
	assert_int_equal(buf_append_uint(&b, 0), 0);
	assert_int_equal(buf_append_uint(&b, 1234), -EMSGSIZE);
	assert_int_equal(buf_append_uint(&b, 907), 0);
	assert_true(str_eq_c(buf_str(&b), "184467440737095516150907"));
	buf_fini(&b);
}

static void appends_all_parts_or_none(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 6);
	assert_int_equal(buf_append_parts(&b, STR_PARTS(STR("ab"), STR_NONE, STR("cd"))), 0);
	assert_int_equal(buf_append_parts(&b, STR_PARTS(STR("e"), STR("fg"))), -EMSGSIZE);
	assert_int_equal(buf_append_parts(&b, STR_PARTS(STR("e"), STR("f"))), 0);
	assert_true(str_eq_c(buf_str(&b), "abcdef"));
	buf_fini(&b);
}

static void takes_nothing_when_new(void **state)
{
	(void)state;
	struct buf b;
	buf_init(&b, 10);
	assert_int_equal(buf_append(&b, NULL, 0), 0);
	assert_non_null(buf_reserve(&b, 0));
	assert_int_equal(buf_len(&b), 0);
	buf_fini(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_nothing_when_new),
		cmocka_unit_test(appends_all_parts_or_none),
		cmocka_unit_test(grows_up_to_its_ceiling_and_not_beyond),
		cmocka_unit_test(refuses_sizes_that_would_overflow),
		cmocka_unit_test(keeps_order_while_consumed_and_filled),
		cmocka_unit_test(prints_and_cuts_nothing),
		cmocka_unit_test(appends_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
