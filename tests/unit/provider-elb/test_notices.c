// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/notices.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static int set_up(void **ret_notices)
{
	struct notices *notices = test_calloc(1, sizeof(*notices));
	struct arena *arena = test_calloc(1, sizeof(*arena));
	arena_init(arena);
	notices_init(notices, arena);
	*ret_notices = notices;
	return 0;
}

static int tear_down(void **state)
{
	struct notices *notices = *state;
	arena_fini(notices->arena);
	test_free(notices->arena);
	test_free(notices);
	return 0;
}

static void each_is_told_once_for_each_it_concerns(void **state)
{
	struct notices *notices = *state;
	struct lb_notice *list;
	notices_add(notices, NOTICE_SCALE, STR_NONE, STR_NONE);
	notices_add(notices, NOTICE_PATH_LEN, STR("b/b"), STR("x/1"));
	notices_add(notices, NOTICE_PATH_LEN, STR("a/a"), STR("x/2"));
	notices_add(notices, NOTICE_PATH_LEN, STR("b/b"), STR("x/3"));
	notices_add(notices, NOTICE_PATH_LEN, STR("b/b"), STR("x/1"));
	notices_add_service(notices, NOTICE_ALGORITHM, STR("a/a"));
	notices_add_certificate(notices, NOTICE_CERTIFICATE_QUOTA, STR("a/a"));
	assert_int_equal(notices_list(notices, 32, &list), 5);
	assert_string_equal(list[0].certificate.p, "a/a");
	assert_string_equal(list[1].ingress.p, "a/a");
	assert_string_equal(list[2].ingress.p, "b/b");
	assert_true(str_ends_with(list[2].message, STR("left out: x/1, x/3")));
	assert_string_equal(list[3].service.p, "a/a");
	assert_null(list[3].ingress.p);
	assert_string_equal(list[4].reason.p, "ScaleNotSupported");
}

static void lists_are_bounded(void **state)
{
	struct notices *notices = *state;
	struct lb_notice *list;
	char text[NOTICE_LEN_MAX * 2];
	memset(text, 'x', sizeof(text));
	notices_add(notices, NOTICE_PATH_LEN, STR("a/a"), (struct str){text, sizeof(text)});
	for (size_t i = 0; i < NOTICE_SUBJECTS_MAX + 5; i++)
		notices_add(notices, NOTICE_PATH_CHARS, STR("a/a"),
			arena_printf(notices->arena, "%zu", i));
	for (size_t i = 0; i < 40; i++)
		notices_add(notices, NOTICE_HOST_LEN, STR("a/a"),
			arena_printf(notices->arena, "%.*s%zu", 100, text, i));
	assert_int_equal(notices_list(notices, 32, &list), 3);
	for (size_t i = 0; i < 3; i++)
		assert_in_range(list[i].message.len, 1, 4096);
	assert_true(str_ends_with(list[0].message, STR(" and 31 more")));
	assert_true(str_ends_with(list[1].message, STR(", 63 and more")));
}

static void the_last_one_counts_the_others(void **state)
{
	struct notices *notices = *state;
	struct lb_notice *list;
	for (size_t i = 0; i < 10; i++)
		notices_add(notices, NOTICE_PATH_LEN, arena_printf(notices->arena, "a/%zu", i),
			STR("x"));
	assert_int_equal(notices_list(notices, 10, &list), 10);
	assert_string_equal(list[9].reason.p, "PathTooLong");
	assert_int_equal(notices_list(notices, 4, &list), 4);
	assert_string_equal(list[2].reason.p, "PathTooLong");
	assert_string_equal(list[3].reason.p, "MoreNotices");
	assert_string_equal(list[3].message.p, "there are 7 more notices");
	for (size_t i = 0; i < NOTICES_MAX; i++)
		notices_add(notices, NOTICE_PATH_CHARS, arena_printf(notices->arena, "a/%zu", i),
			STR("x"));
	assert_int_equal(notices_list(notices, 4, &list), 4);
	assert_string_equal(list[3].message.p, "there are at least 253 more notices");
}

static void reasons_are_words_for_events(void **state)
{
	struct notices *notices = *state;
	struct lb_notice *list;
	for (int i = 0; i < NOTICE_COUNT; i++)
		notices_add(notices, (enum notice_id)i, STR_NONE, STR_NONE);
	assert_int_equal(notices_list(notices, NOTICE_COUNT, &list), NOTICE_COUNT);
	for (int i = 0; i < NOTICE_COUNT; i++) {
		assert_true(isupper(list[i].reason.p[0]));
		for (size_t k = 0; k < list[i].reason.len; k++)
			assert_true(isalnum(list[i].reason.p[k]));
		assert_in_range(list[i].message.len, 10, 300);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_is_told_once_for_each_it_concerns, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lists_are_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_last_one_counts_the_others, set_up, tear_down),
		cmocka_unit_test_setup_teardown(reasons_are_words_for_events, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
