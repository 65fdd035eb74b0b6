// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/pace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Does it as soon as it may be; returns how long that took. */
static double step(struct pace *pace, double *now_s)
{
	double wait_s = pace_wait_s(pace, *now_s);
	*now_s += wait_s;
	assert_true(pace_wait_s(pace, *now_s) < 1e-6);
	pace_step(pace, *now_s);
	return wait_s;
}

static void a_storm_gets_slower(void **state)
{
	static const double want[] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 4, 8, 16, 16, 30, 30};
	struct pace pace;
	double now_s = 1000;
	(void)state;
	pace_init(&pace, 1, 30);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++)
		assert_float_equal(step(&pace, &now_s), want[i], 1e-6);
	for (int i = 0; i < 1000; i++)
		assert_float_equal(step(&pace, &now_s), 30, 1e-6);
}

static void quiet_takes_it_back(void **state)
{
	struct pace pace;
	double now_s = 1000;
	(void)state;
	pace_init(&pace, 1, 30);
	for (int i = 0; i < 100; i++)
		(void)step(&pace, &now_s);
	now_s += 30 * 20;
	for (int i = 0; i < PACE_FREE_COUNT; i++)
		assert_float_equal(step(&pace, &now_s), i == 0 ? 0 : 1, 1e-6);
	/* One now and then waits for nothing. */
	for (int i = 0; i < 100; i++) {
		now_s += 31;
		assert_float_equal(step(&pace, &now_s), 0, 1e-6);
	}
}

static void the_longest_is_never_below_the_shortest(void **state)
{
	struct pace pace;
	double now_s = 0;
	(void)state;
	pace_init(&pace, 60, 30);
	assert_float_equal(step(&pace, &now_s), 0, 1e-6);
	for (int i = 0; i < 20; i++)
		assert_float_equal(step(&pace, &now_s), 60, 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_storm_gets_slower),
		cmocka_unit_test(quiet_takes_it_back),
		cmocka_unit_test(the_longest_is_never_below_the_shortest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
