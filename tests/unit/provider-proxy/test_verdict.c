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
	assert_false(verdict_is_held(&verdict));
	verdict_set(&verdict, LB_STATE_APPLIED, NULL);
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	assert_true(verdict_is_held(&verdict));
	verdict_set(&verdict, LB_STATE_APPLIED, NULL);
	assert_false(verdict_is_held(&verdict));
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
	assert_false(verdict_is_held(&verdict));
	/* It has been told: what follows is no news. */
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	assert_false(verdict_is_held(&verdict));
}

static void test_words_are_told_at_once(void **state)
{
	(void)state;
	verdict_set(&verdict, LB_STATE_APPLIED, NULL);
	verdict_set(&verdict, LB_STATE_PENDING, NULL);
	verdict_set(&verdict, LB_STATE_PENDING, "the disk is full");
	assert_false(verdict_is_held(&verdict));
	assert_string_equal(verdict.message, "the disk is full");
	verdict_set(&verdict, LB_STATE_FAILED, "nginx has ended");
	assert_false(verdict_is_held(&verdict));
	assert_int_equal(verdict.state, LB_STATE_FAILED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_quick_change_is_not_told, start, stop),
		cmocka_unit_test_setup_teardown(test_slow_change_is_told_once, start, stop),
		cmocka_unit_test_setup_teardown(test_words_are_told_at_once, start, stop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
