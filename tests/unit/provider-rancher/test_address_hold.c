// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/address_hold.h"

#include "common/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { SHOWN_COUNT = 3 };
static const double HOLD_S = 0.05;

struct fixture {
	struct ev_loop *loop;
	struct address_hold *hold;
	struct shown shown[SHOWN_COUNT];
	const struct shown *over[SHOWN_COUNT]; /* in the order in which they were told */
	size_t over_count;
	size_t warned_count;
};

static void on_over(void *ctx, struct shown *shown, bool warn)
{
	struct fixture *f = ctx;
	assert_true(f->over_count < SHOWN_COUNT);
	assert_false(shown->is_held);
	f->over[f->over_count++] = shown;
	f->warned_count += warn ? 1 : 0;
}

static int setup(void **state)
{
	static struct fixture fixture;
	fixture = (struct fixture){.over_count = 0};
	fixture.loop = ev_loop_new(EVFLAG_AUTO);
	fixture.hold = address_hold_new(fixture.loop, HOLD_S, on_over, &fixture);
	*state = &fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	address_hold_free(f->hold);
	for (size_t i = 0; i < SHOWN_COUNT; i++)
		shown_fini(&f->shown[i]);
	ev_loop_destroy(f->loop);
	return 0;
}

static void lose(struct fixture *f, struct shown *shown, double before_s)
{
	assert_int_equal(shown_update(shown, NULL, clock_monotonic_s() - before_s), SHOWN_HOLD);
	address_hold_begin(f->hold, shown);
}

/* Returns when nothing is held any more: the loop has nothing else to wait for. */
static void wait_for_all(struct fixture *f)
{
	ev_run(f->loop, 0);
}

static void each_is_told_when_its_time_is_over(void **state)
{
	struct fixture *f = *state;
	double begin = clock_monotonic_s();
	f->shown[0].had_any = true;
	lose(f, &f->shown[0], 0);
	lose(f, &f->shown[1], 0);
	wait_for_all(f);
	assert_true(clock_monotonic_s() - begin >= HOLD_S - 0.01);
	assert_int_equal(f->over_count, 2);
	assert_ptr_equal(f->over[0], &f->shown[0]);
	assert_ptr_equal(f->over[1], &f->shown[1]);
	/* Only owners who have had an address are warned. */
	assert_int_equal(f->warned_count, 1);
	assert_true(f->shown[0].is_known && f->shown[0].last == NULL);
}

static void one_that_has_addresses_again_is_not_told(void **state)
{
	struct fixture *f = *state;
	for (size_t i = 0; i < SHOWN_COUNT; i++)
		lose(f, &f->shown[i], 0);
	address_hold_end(f->hold, &f->shown[0]);
	address_hold_end(f->hold, &f->shown[0]);
	assert_false(f->shown[0].is_held);
	wait_for_all(f);
	assert_int_equal(f->over_count, 2);
	assert_ptr_equal(f->over[0], &f->shown[1]);
	assert_false(f->shown[0].is_known);
}

static void a_time_that_runs_is_not_begun_anew(void **state)
{
	struct fixture *f = *state;
	/* Its time was over before anybody asked. */
	lose(f, &f->shown[0], 10 * HOLD_S);
	address_hold_begin(f->hold, &f->shown[0]);
	/* Not for a long time. */
	lose(f, &f->shown[1], -1000);
	ev_run(f->loop, EVRUN_ONCE);
	assert_int_equal(f->over_count, 1);
	assert_ptr_equal(f->over[0], &f->shown[0]);
	assert_true(f->shown[1].is_held);
	address_hold_end(f->hold, &f->shown[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			each_is_told_when_its_time_is_over, setup, teardown),
		cmocka_unit_test_setup_teardown(
			one_that_has_addresses_again_is_not_told, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_time_that_runs_is_not_begun_anew, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
