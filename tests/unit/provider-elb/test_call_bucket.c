// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/call_bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>

static const double NOW = 1000;

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) < 1e-3))
		fail_msg("%f, not %f", got, want);
}

/* How many calls can be made without waiting. */
static unsigned drain(struct call_bucket *bucket, double now)
{
	unsigned count = 0;
	while (call_bucket_wait_s(bucket, now) <= 0) {
		call_bucket_take(bucket, now);
		count++;
	}
	return count;
}

static void a_burst_is_followed_by_the_rate(void **state)
{
	struct call_bucket bucket;
	call_bucket_init(&bucket, 4, 20, NOW);
	assert_int_equal(drain(&bucket, NOW), 20);
	assert_near(call_bucket_wait_s(&bucket, NOW), 0.25);
	assert_near(call_bucket_wait_s(&bucket, NOW + 0.1), 0.15);
	assert_int_equal(drain(&bucket, NOW + 1), 4);
	assert_int_equal(drain(&bucket, NOW + 1000), 20);
}

static void an_unused_turn_costs_nothing(void **state)
{
	struct call_bucket bucket;
	call_bucket_init(&bucket, 1, 1, NOW);
	call_bucket_take(&bucket, NOW);
	call_bucket_return(&bucket);
	assert_int_equal(drain(&bucket, NOW), 1);
}

static void throttling_halves_the_rate_once(void **state)
{
	struct call_bucket bucket;
	call_bucket_init(&bucket, 8, 30, NOW);
	call_bucket_throttled(&bucket, -1, NOW);
	call_bucket_throttled(&bucket, -1, NOW + 0.2);
	assert_near(call_bucket_rate(&bucket, NOW + 0.2), 4);
	double pause_s = call_bucket_wait_s(&bucket, NOW);
	assert_true(pause_s >= 1 && pause_s <= 2);
	/* What had been saved up does not make the next burst. */
	assert_true(drain(&bucket, NOW + pause_s) <= 9);
}

static void the_rate_comes_back_with_quiet_minutes(void **state)
{
	struct call_bucket bucket;
	call_bucket_init(&bucket, 10, 30, NOW);
	call_bucket_throttled(&bucket, -1, NOW);
	assert_near(call_bucket_rate(&bucket, NOW + 59), 5);
	assert_near(call_bucket_rate(&bucket, NOW + 61), 6);
	assert_near(call_bucket_rate(&bucket, NOW + 181), 8);
	call_bucket_throttled(&bucket, -1, NOW + 185);
	assert_near(call_bucket_rate(&bucket, NOW + 240), 4);
	assert_near(call_bucket_rate(&bucket, NOW + 250), 5);
	assert_near(call_bucket_rate(&bucket, NOW + 10000), 10);
}

static void pauses_grow_until_a_call_succeeds(void **state)
{
	struct call_bucket bucket;
	double now = NOW;
	call_bucket_init(&bucket, 10, 30, now);
	for (int i = 0; i < 10; i++) {
		call_bucket_throttled(&bucket, -1, now);
		now += call_bucket_wait_s(&bucket, now);
	}
	call_bucket_throttled(&bucket, -1, now);
	double pause_s = call_bucket_wait_s(&bucket, now);
	assert_true(pause_s >= 30 && pause_s <= 60);
	assert_near(call_bucket_rate(&bucket, now), 10. / 32);
	call_bucket_succeeded(&bucket, now); /* it was sent before */
	now += pause_s;
	call_bucket_succeeded(&bucket, now);
	call_bucket_throttled(&bucket, -1, now);
	assert_true(call_bucket_wait_s(&bucket, now) <= 10. / 3);
}

static void the_time_that_aws_names_is_kept(void **state)
{
	struct call_bucket bucket;
	call_bucket_init(&bucket, 10, 30, NOW);
	call_bucket_throttled(&bucket, 20, NOW);
	assert_near(call_bucket_wait_s(&bucket, NOW), 20);
	call_bucket_throttled(&bucket, 3600, NOW + 21);
	assert_near(call_bucket_wait_s(&bucket, NOW + 21), 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_burst_is_followed_by_the_rate),
		cmocka_unit_test(an_unused_turn_costs_nothing),
		cmocka_unit_test(throttling_halves_the_rate_once),
		cmocka_unit_test(the_rate_comes_back_with_quiet_minutes),
		cmocka_unit_test(pauses_grow_until_a_call_succeeds),
		cmocka_unit_test(the_time_that_aws_names_is_kept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
