// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/batch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void make(struct buf *batch)
{
	struct batch_head head = {.flags = BATCH_LAST, .base = 7, .serial = 0x1234567890abcdef};
	batch_begin(batch);
	assert_true(batch_is_empty(batch));
	assert_int_equal(batch_add(batch, STR("Wone"), ((struct str){"value\n\0with all", 15})), 0);
	assert_int_equal(batch_add(batch, STR("Pgone"), STR_NONE), 0);
	assert_int_equal(batch_add(batch, STR("Oempty"), STR("")), 0);
	batch_end(batch, &head);
}

static void test_round_trip(void **state)
{
	struct buf batch;
	struct batch_head head;
	struct batch_row row;
	struct str rows;
	size_t len = 0;
	(void)state;
	buf_init(&batch, BATCH_LEN_MAX);
	make(&batch);
	assert_int_equal(batch_read(buf_str(&batch), &head, &rows, &len), 0);
	assert_int_equal(len, buf_len(&batch));
	assert_int_equal(head.flags, BATCH_LAST);
	assert_int_equal(head.base, 7);
	assert_true(head.serial == 0x1234567890abcdef);
	assert_true(batch_next(&rows, &row));
	assert_true(str_eq(row.key, STR("Wone")) && row.value.len == 15);
	assert_true(batch_next(&rows, &row));
	assert_true(str_eq(row.key, STR("Pgone")) && row.value.p == NULL);
	assert_true(batch_next(&rows, &row));
	assert_true(str_eq(row.key, STR("Oempty")) && row.value.p != NULL && row.value.len == 0);
	assert_false(batch_next(&rows, &row));
	buf_fini(&batch);
}

/* Every cut and every changed byte is noticed. */
static void test_damage(void **state)
{
	struct buf batch;
	struct batch_head head;
	struct str rows;
	size_t len = 0;
	(void)state;
	buf_init(&batch, BATCH_LEN_MAX);
	make(&batch);
	struct str whole = buf_str(&batch);
	for (size_t cut = 0; cut < whole.len; cut++) {
		struct str part = {whole.p, cut};
		assert_int_equal(batch_read(part, &head, &rows, &len), -EBADMSG);
	}
	for (size_t at = 0; at < whole.len; at++) {
		/* Base and serial are checked by whoever compares them. */
		if (at >= 5 && at < 41)
			continue;
		batch.data[at] ^= 1;
		assert_int_equal(batch_read(whole, &head, &rows, &len), -EBADMSG);
		batch.data[at] ^= 1;
	}
	assert_int_equal(batch_read(whole, &head, &rows, &len), 0);
	buf_fini(&batch);
}

static void test_limits(void **state)
{
	static char long_key[BATCH_KEY_LEN_MAX + 1];
	struct buf batch;
	(void)state;
	buf_init(&batch, 1024);
	batch_begin(&batch);
	assert_int_equal(batch_add(&batch, STR(""), STR("x")), -EMSGSIZE);
	assert_int_equal(
		batch_add(&batch, (struct str){long_key, sizeof(long_key)}, STR("x")), -EMSGSIZE);
	assert_int_equal(batch_add(&batch, STR("k"), (struct str){long_key, 1024}), -EMSGSIZE);
	assert_true(batch_is_empty(&batch));
	buf_fini(&batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
