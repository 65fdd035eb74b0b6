// SPDX-License-Identifier: Apache-2.0
#include "common/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static int trims;
static struct ev_loop *loop;

static void count_trim(void)
{
	trims++;
	ev_break(loop, EVBREAK_ALL);
}

static void end_loop(struct ev_loop *l, ev_timer *timer, int events)
{
	(void)timer;
	(void)events;
	ev_break(l, EVBREAK_ALL);
}

/* Turns the loop until the trimmer has been called, or for so long. */
static void run_for(double delay_s)
{
	ev_timer end;
	ev_timer_init(&end, end_loop, delay_s, 0.);
	ev_timer_start(loop, &end);
	ev_run(loop, 0);
	ev_timer_stop(loop, &end);
}

static void test_trims_after_activity_only(void **state)
{
	struct heap_trimmer trimmer;
	(void)state;
	loop = ev_loop_new(EVFLAG_AUTO);
	heap_trimmer_start(&trimmer, loop, 0.01, count_trim);
	run_for(100);
	assert_int_equal(trims, 1);
	/* Its own turn counts as nothing: the loop waits for us alone. */
	ev_run(loop, EVRUN_NOWAIT);
	assert_false(ev_is_active(&trimmer.timer));
	ev_run(loop, EVRUN_NOWAIT);
	assert_true(ev_is_active(&trimmer.timer));
	run_for(100);
	assert_int_equal(trims, 2);
	heap_trimmer_stop(&trimmer, loop);
	assert_false(ev_is_active(&trimmer.timer));
	ev_loop_destroy(loop);
}

static void test_real_trim(void **state)
{
	struct heap_trimmer trimmer;
	(void)state;
	heap_configure();
	loop = ev_loop_new(EVFLAG_AUTO);
	heap_trimmer_start(&trimmer, loop, 0.01, NULL);
	trimmer.trim();
	heap_trimmer_stop(&trimmer, loop);
	ev_loop_destroy(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trims_after_activity_only),
		cmocka_unit_test(test_real_trim),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
