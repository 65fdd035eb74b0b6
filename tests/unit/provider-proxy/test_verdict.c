// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/verdict.h"

#include "common/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static struct ev_loop *loop;
static struct verdict verdict;
static unsigned told;

static void on_due(void *ctx)
{
	told++;
}

static int start(void **state)
{
	loop = ev_loop_new(0);
	told = 0;
	verdict_init(&verdict, loop, on_due, NULL);
	return 0;
}

static int stop(void **state)
{
	verdict_fini(&verdict);
	ev_loop_destroy(loop);
	return 0;
}

static void test_quick_change_is_not_told(void **state)
{
	(void)state;
	assert_true(verdict_tell(&verdict));
	assert_int_equal(verdict_set(&verdict, LB_STATE_APPLIED, NULL), VERDICT_NEW);
	assert_int_equal(verdict_set(&verdict, LB_STATE_PENDING, NULL), VERDICT_HELD);
	assert_false(verdict_tell(&verdict));
	verdict_set(&verdict, LB_STATE_APPLIED, NULL);
	assert_true(verdict_tell(&verdict));
	/* Nothing is left to wait for. */
	assert_int_equal(ev_run(loop, 0), 0);
	assert_int_equal(told, 0);
}

static void test_slow_change_is_told_once(void **state)
{
	(void)state;
	verdict_set(&verdict, LB_STATE_APPLIED, NULL);
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	ev_run(loop, 0);
	assert_int_equal(told, 1);
	assert_true(verdict_tell(&verdict));
	/* It has been told: what follows is not held back. */
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	assert_true(verdict_tell(&verdict));
}

static void test_words_are_told_at_once(void **state)
{
	(void)state;
	verdict_set(&verdict, LB_STATE_APPLIED, NULL);
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	assert_int_equal(verdict_set(&verdict, LB_STATE_PENDING, "the disk is full"), VERDICT_NEW);
	assert_true(verdict_tell(&verdict));
	assert_string_equal(verdict.message, "the disk is full");
	assert_int_equal(verdict_set(&verdict, LB_STATE_FAILED, "nginx has ended"), VERDICT_NEW);
	assert_true(verdict_tell(&verdict));
	assert_int_equal(verdict.state, LB_STATE_FAILED);
}

/* A change as most are: it is pending for a moment, and applied then. */
static enum verdict_news change(void)
{
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	return verdict_set(&verdict, LB_STATE_APPLIED, NULL);
}

static void set_applied_and_told(void)
{
	verdict_set(&verdict, LB_STATE_APPLIED, NULL);
	assert_true(verdict_tell(&verdict));
}

static void test_what_says_the_same_is_not_made(void **state)
{
	set_applied_and_told();
	assert_int_equal(change(), VERDICT_SAME);
	assert_int_equal(change(), VERDICT_SAME);
	assert_int_equal(verdict_set(&verdict, LB_STATE_APPLIED, NULL), VERDICT_SAME);
}

static void test_what_was_not_told_is_news(void **state)
{
	assert_int_equal(change(), VERDICT_NEW);
	/* Nobody has made a status of it. */
	assert_int_equal(change(), VERDICT_NEW);
	assert_true(verdict_tell(&verdict));
	assert_int_equal(change(), VERDICT_SAME);
}

static void test_other_states_are_news(void **state)
{
	static const char *const words[] = {"nginx has ended", "the disk is full"};
	set_applied_and_told();
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(verdict_set(&verdict, LB_STATE_FAILED, words[i]), VERDICT_NEW);
		assert_true(verdict_tell(&verdict));
	}
	assert_int_equal(change(), VERDICT_NEW);
	set_applied_and_told();
	assert_int_equal(verdict_set(&verdict, LB_STATE_PENDING, words[1]), VERDICT_NEW);
	assert_true(verdict_tell(&verdict));
	assert_int_equal(change(), VERDICT_NEW);
	/* One that lasts is told when it is due. */
	set_applied_and_told();
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	ev_run(loop, 0);
	assert_int_equal(told, 1);
	assert_true(verdict_tell(&verdict));
	assert_int_equal(change(), VERDICT_NEW);
}

static void test_what_else_has_changed_is_news_once(void **state)
{
	set_applied_and_told();
	verdict_set_stale(&verdict);
	assert_int_equal(change(), VERDICT_NEW);
	assert_true(verdict_tell(&verdict));
	assert_int_equal(change(), VERDICT_SAME);
	/* While it is held back nothing of it is told, and it is not forgotten either. */
	verdict_set_stale(&verdict);
	assert_int_equal(verdict_set(&verdict, LB_STATE_PENDING, NULL), VERDICT_HELD);
	assert_int_equal(verdict_set(&verdict, LB_STATE_APPLIED, NULL), VERDICT_NEW);
}

/* Such as a notice that comes with the change. */
static void test_a_status_that_was_held_back_is_made_later(void **state)
{
	set_applied_and_told();
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	assert_false(verdict_tell(&verdict));
	assert_int_equal(verdict_set(&verdict, LB_STATE_APPLIED, NULL), VERDICT_NEW);
	/* Nor is it when another change comes before it could be made. */
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	assert_false(verdict_tell(&verdict));
	assert_int_equal(verdict_set(&verdict, LB_STATE_APPLIED, NULL), VERDICT_NEW);
	assert_true(verdict_tell(&verdict));
	assert_int_equal(change(), VERDICT_SAME);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_quick_change_is_not_told, start, stop),
		cmocka_unit_test_setup_teardown(test_slow_change_is_told_once, start, stop),
		cmocka_unit_test_setup_teardown(test_words_are_told_at_once, start, stop),
		cmocka_unit_test_setup_teardown(test_what_says_the_same_is_not_made, start, stop),
		cmocka_unit_test_setup_teardown(test_what_was_not_told_is_news, start, stop),
		cmocka_unit_test_setup_teardown(test_other_states_are_news, start, stop),
		cmocka_unit_test_setup_teardown(
			test_what_else_has_changed_is_news_once, start, stop),
		cmocka_unit_test_setup_teardown(
			test_a_status_that_was_held_back_is_made_later, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
