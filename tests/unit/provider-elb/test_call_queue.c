// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/call_queue.h"

#include "common/clock.h"
#include "common/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

enum { ENTRIES = 8 };

static struct ev_loop *loop;
static struct call_queue *queue;
static struct call_entry entries[ENTRIES];
static char turns[64]; /* whose turn it was: 'a' is the first entry */
static char *outage;
static size_t outage_news;
static bool gate_open;

static void on_turn(struct call_entry *entry)
{
	size_t len = strlen(turns);
	assert_true(len + 1 < sizeof(turns));
	turns[len] = (char)('a' + (entry - entries));
	ev_break(loop, EVBREAK_ALL); /* it is seen before the loop sleeps */
}

static void on_outage(void *ctx, const char *reason)
{
	free(outage);
	outage = reason != NULL ? xstrdup(reason) : NULL;
	outage_news++;
}

static bool is_gate_open(void *ctx)
{
	return gate_open;
}

static void start(size_t parallel_max, double per_s, double burst)
{
	struct call_queue_config config = {
		.loop = loop, .parallel_max = parallel_max, .on_outage = on_outage};
	for (size_t i = 0; i < CALL_CLASS_COUNT; i++)
		config.rates[i] = (struct call_rate){per_s, burst};
	queue = call_queue_new(&config);
}

static int set_up(void **state)
{
	loop = ev_loop_new(0);
	memset(entries, 0, sizeof(entries));
	memset(turns, 0, sizeof(turns));
	outage_news = 0;
	gate_open = true;
	return 0;
}

static int tear_down(void **state)
{
	for (size_t i = 0; i < ENTRIES; i++)
		call_queue_leave(queue, &entries[i]);
	call_queue_free(queue);
	free(outage);
	outage = NULL;
	ev_loop_destroy(loop);
	return 0;
}

static void join(size_t i, enum call_class bucket, enum call_rank rank, bool is_write)
{
	entries[i].bucket = bucket;
	entries[i].rank = rank;
	entries[i].is_write = is_write;
	entries[i].on_turn = on_turn;
	call_queue_join(queue, &entries[i]);
}

static void done(size_t i, enum aws_outcome outcome, const char *reason)
{
	call_queue_done(queue, &entries[i], outcome, reason, -1);
}

/* What can happen at once. */
static void turn(void)
{
	ev_run(loop, EVRUN_NOWAIT);
	ev_run(loop, EVRUN_NOWAIT);
}

static void on_limit(struct ev_loop *where, ev_timer *timer, int events)
{
	fail_msg("nothing happened for 20 s; turns: %s", turns);
}

static void wait_for(const char *want)
{
	ev_timer limit;
	ev_timer_init(&limit, on_limit, 20., 0.);
	ev_timer_start(loop, &limit);
	while (strcmp(turns, want) != 0)
		ev_run(loop, EVRUN_ONCE);
	ev_timer_stop(loop, &limit);
}

static void ranks_go_before_the_order_of_coming(void **state)
{
	start(1, 1000, 100);
	join(0, CALL_WRITE, RANK_SWEEP, false);
	join(1, CALL_WRITE, RANK_CREATE, true);
	join(2, CALL_WRITE, RANK_CREATE, false);
	join(3, CALL_WRITE, RANK_CHANGE, true);
	join(4, CALL_WRITE, RANK_POLL, false);
	assert_string_equal(turns, "");
	assert_int_equal(call_queue_waiting(queue), 5);
	for (size_t i = 0; i < 5; i++) {
		turn();
		done((size_t)(turns[i] - 'a'), AWS_OK, "");
	}
	assert_string_equal(turns, "dbcea");
	assert_int_equal(call_queue_waiting(queue), 0);
}

static void joining_again_only_betters_the_rank(void **state)
{
	start(1, 1000, 100);
	join(0, CALL_READ, RANK_POLL, false);
	join(1, CALL_READ, RANK_SWEEP, false);
	join(1, CALL_READ, RANK_CHANGE, false);
	join(1, CALL_READ, RANK_SWEEP, false);
	assert_int_equal(call_queue_waiting(queue), 2);
	turn();
	assert_string_equal(turns, "b");
	join(1, CALL_READ, RANK_CHANGE, false);
	assert_int_equal(call_queue_waiting(queue), 1);
	done(1, AWS_OK, "");
	turn();
	assert_string_equal(turns, "ba");
}

static void only_so_many_have_their_turn_at_once(void **state)
{
	start(2, 1000, 100);
	for (size_t i = 0; i < 4; i++)
		join(i, CALL_READ, RANK_POLL, false);
	turn();
	assert_string_equal(turns, "ab");
	call_queue_leave(queue, &entries[0]);
	call_queue_leave(queue, &entries[2]);
	turn();
	assert_string_equal(turns, "abd");
}

static void classes_take_turns(void **state)
{
	start(1, 1000, 100);
	for (size_t i = 0; i < 3; i++)
		join(i, CALL_TARGETS, RANK_CHANGE, true);
	join(3, CALL_OTHER, RANK_SWEEP, false);
	join(4, CALL_READ, RANK_SWEEP, false);
	for (size_t i = 0; i < 5; i++) {
		turn();
		done((size_t)(turns[i] - 'a'), AWS_OK, "");
	}
	assert_string_equal(turns, "aedbc");
}

static void an_empty_bucket_holds_up_its_class_alone(void **state)
{
	start(8, 50, 2);
	double began_at = clock_monotonic_s();
	for (size_t i = 0; i < 4; i++)
		join(i, CALL_TARGETS, RANK_CHANGE, true);
	join(4, CALL_READ, RANK_SWEEP, false);
	turn();
	assert_string_equal(turns, "aeb");
	wait_for("aebcd");
	assert_true(clock_monotonic_s() - began_at >= 0.035);
}

static void a_throttled_class_slows_down_alone(void **state)
{
	start(8, 100, 10);
	join(0, CALL_READ, RANK_POLL, false);
	turn();
	done(0, AWS_THROTTLED, "Rate exceeded");
	assert_true(call_queue_rate(queue, CALL_READ) < 50.1);
	assert_true(call_queue_rate(queue, CALL_WRITE) > 99.9);
	assert_null(call_queue_outage_reason(queue));
	join(1, CALL_READ, RANK_CHANGE, false);
	join(2, CALL_WRITE, RANK_SWEEP, true);
	turn();
	assert_string_equal(turns, "ac");
	wait_for("acb");
}

static void writes_wait_at_the_gate(void **state)
{
	start(8, 100, 10);
	gate_open = false;
	call_queue_set_gate(queue, is_gate_open, NULL);
	join(0, CALL_WRITE, RANK_CHANGE, true);
	join(1, CALL_WRITE, RANK_SWEEP, false);
	join(2, CALL_OTHER, RANK_CHANGE, true);
	turn();
	assert_string_equal(turns, "b");
	gate_open = true;
	call_queue_wake(queue);
	turn();
	assert_string_equal(turns, "bca");
}

static void an_outage_lets_one_through_at_a_time(void **state)
{
	start(4, 1000, 100);
	for (size_t i = 0; i < 3; i++)
		join(i, CALL_READ, RANK_POLL, false);
	turn();
	assert_string_equal(turns, "abc");
	done(0, AWS_OUTAGE, "cannot connect");
	done(1, AWS_OUTAGE, "cannot connect");
	assert_string_equal(outage, "cannot connect");
	assert_int_equal(outage_news, 1);
	done(2, AWS_FAILED, "timed out");
	assert_string_equal(call_queue_outage_reason(queue), "timed out");
	for (size_t i = 3; i < 6; i++)
		join(i, CALL_READ, RANK_POLL, false);
	turn();
	assert_string_equal(turns, "abc");
	wait_for("abcd");
	turn();
	assert_string_equal(turns, "abcd");
	done(3, AWS_OUTAGE, "the keys are refused");
	turn();
	assert_string_equal(turns, "abcd");
	call_queue_retry_now(queue);
	turn();
	assert_string_equal(turns, "abcde");
	done(4, AWS_NOT_FOUND, "no such thing");
	assert_null(outage);
	assert_null(call_queue_outage_reason(queue));
	turn();
	assert_string_equal(turns, "abcdef");
}

static void another_place_says_nothing_of_an_outage(void **state)
{
	start(1, 1000, 100);
	join(0, CALL_DNS, RANK_CHANGE, false);
	turn();
	done(0, AWS_OUTAGE, "cannot connect");
	assert_null(call_queue_outage_reason(queue));
	join(1, CALL_READ, RANK_CHANGE, false);
	turn();
	done(1, AWS_OUTAGE, "cannot connect");
	assert_string_equal(call_queue_outage_reason(queue), "cannot connect");
	call_queue_retry_now(queue);
	join(0, CALL_DNS, RANK_CHANGE, false);
	turn();
	done(0, AWS_OK, "");
	assert_string_equal(call_queue_outage_reason(queue), "cannot connect");
}

static void failures_of_one_entry_are_no_outage(void **state)
{
	start(1, 1000, 100);
	for (size_t i = 0; i < 6; i++) {
		join(0, CALL_READ, RANK_POLL, false);
		turn();
		done(0, AWS_FAILED, "500");
	}
	assert_null(call_queue_outage_reason(queue));
	for (size_t i = 1; i < 4; i++) {
		join(i, CALL_READ, RANK_POLL, false);
		turn();
		assert_null(call_queue_outage_reason(queue));
		done(i, AWS_FAILED, "500");
	}
	assert_string_equal(call_queue_outage_reason(queue), "500");
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROW(ranks_go_before_the_order_of_coming),
		ROW(joining_again_only_betters_the_rank),
		ROW(only_so_many_have_their_turn_at_once),
		ROW(classes_take_turns),
		ROW(an_empty_bucket_holds_up_its_class_alone),
		ROW(a_throttled_class_slows_down_alone),
		ROW(writes_wait_at_the_gate),
		ROW(an_outage_lets_one_through_at_a_time),
		ROW(another_place_says_nothing_of_an_outage),
		ROW(failures_of_one_entry_are_no_outage),
	};
#undef ROW
	return cmocka_run_group_tests(tests, NULL, NULL);
}
