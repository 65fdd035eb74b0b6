// SPDX-License-Identifier: Apache-2.0
#include "watcher/reflector_fsm.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define DO(action) REFLECTOR_DO_##action
#define IN(state)  REFLECTOR_STATE_##state
#define EV(event)  REFLECTOR_EV_##event

static const struct reflector_limits limits = {
	.page_size = 500, .backoff_first_s = 0.8, .backoff_max_s = 30, .silence_min_s = 90};

static struct reflector_output tell_at(struct reflector_fsm *m, enum reflector_event event,
	const char *revision, bool may_stream, double now)
{
	struct reflector_input input = {
		.event = event,
		.now = now,
		.revision = str_from(revision),
		.may_stream = may_stream,
		.retry_after_s = -1,
	};
	return reflector_fsm_step(m, &input);
}

static struct reflector_output tell(
	struct reflector_fsm *m, enum reflector_event event, const char *revision)
{
	return tell_at(m, event, revision, true, 1000);
}

/* A machine in that state, as it comes there in life: watching at revision 50, opened long ago, one frame seen. */
static struct reflector_fsm machine_in(enum reflector_state state)
{
	struct reflector_fsm m;
	reflector_fsm_init(&m, &limits);
	if (state == IN(IDLE))
		return m;
	bool streams = state == IN(STREAMING);
	(void)tell_at(&m, EV(START), NULL, streams, 100);
	if (state == IN(STREAMING) || state == IN(LISTING))
		return m;
	(void)tell_at(&m, EV(LISTED), "40", false, 100);
	(void)tell_at(&m, EV(OPENED), NULL, false, 100);
	(void)tell_at(&m, EV(CHANGE), "50", false, 100);
	if (state == IN(VERIFYING))
		(void)tell_at(&m, EV(SILENT), NULL, false, 500);
	else if (state == IN(WAITING))
		(void)tell_at(&m, EV(THROTTLED), NULL, false, 500);
	else if (state == IN(CHECKING)) {
		(void)tell_at(&m, EV(TROUBLE), NULL, false, 500);
		(void)tell_at(&m, EV(TIMER), NULL, false, 501);
	} else if (state == IN(LOST))
		(void)tell_at(&m, EV(UNSERVED), NULL, false, 500);
	assert_int_equal(m.state, state);
	return m;
}

struct pair {
	enum reflector_state state;
	enum reflector_event event;
	enum reflector_state then;
	unsigned actions;
};

#define ROUND (DO(MARK) | DO(STREAM))
#define FAIL  (DO(CANCEL) | DO(FAILED) | DO(WAIT))
#define AGAIN (DO(CANCEL) | DO(RELIST) | ROUND)
#define END   (DO(CANCEL) | DO(CANCEL_SECOND))
#define GONE_ (END | DO(FAILED) | DO(REDISCOVER))

/* Every pair of state and event that does anything; all others must do nothing. Streaming lists may be had. */
static const struct pair pairs[] = {
	{IN(IDLE), EV(START), IN(STREAMING), ROUND},

	{IN(STREAMING), EV(STOP), IN(IDLE), END},
	{IN(STREAMING), EV(MARKED), IN(WATCHING), DO(SWEEP) | DO(SYNCED) | DO(HEALTHY)},
	{IN(STREAMING), EV(ENDED), IN(LISTING), DO(CANCEL) | DO(MARK) | DO(LIST)},
	{IN(STREAMING), EV(DEADLINE), IN(LISTING), DO(CANCEL) | DO(MARK) | DO(LIST)},
	{IN(STREAMING), EV(REFUSED), IN(LISTING),
		DO(CANCEL) | DO(NO_STREAMS) | DO(MARK) | DO(LIST)},
	{IN(STREAMING), EV(UNMARKED), IN(LISTING),
		DO(CANCEL) | DO(NO_STREAMS) | DO(MARK) | DO(LIST)},
	{IN(STREAMING), EV(GONE), IN(WAITING), FAIL},
	{IN(STREAMING), EV(TOO_NEW), IN(WAITING), FAIL},
	{IN(STREAMING), EV(BROKEN), IN(WAITING), FAIL},
	{IN(STREAMING), EV(TROUBLE), IN(WAITING), FAIL},
	{IN(STREAMING), EV(TOO_LONG), IN(WAITING), FAIL},
	{IN(STREAMING), EV(CUT), IN(WAITING), FAIL},
	{IN(STREAMING), EV(UNREACHABLE), IN(WAITING), FAIL},
	{IN(STREAMING), EV(THROTTLED), IN(WAITING), FAIL},
	{IN(STREAMING), EV(UNAUTHORIZED), IN(WAITING), FAIL},
	{IN(STREAMING), EV(FORBIDDEN), IN(WAITING), FAIL},
	{IN(STREAMING), EV(UNSERVED), IN(LOST), GONE_},

	{IN(LISTING), EV(STOP), IN(IDLE), END},
	{IN(LISTING), EV(PAGE), IN(LISTING), DO(NEXT)},
	{IN(LISTING), EV(LISTED), IN(WATCHING), DO(SWEEP) | DO(SYNCED) | DO(HEALTHY) | DO(WATCH)},
	{IN(LISTING), EV(GONE), IN(WAITING), FAIL},
	{IN(LISTING), EV(TOO_NEW), IN(WAITING), FAIL},
	{IN(LISTING), EV(TOO_LONG), IN(LISTING), DO(CANCEL) | DO(NEXT)},
	{IN(LISTING), EV(CUT), IN(WAITING), FAIL},
	{IN(LISTING), EV(UNREACHABLE), IN(WAITING), FAIL},
	{IN(LISTING), EV(DEADLINE), IN(WAITING), FAIL},
	{IN(LISTING), EV(THROTTLED), IN(WAITING), FAIL},
	{IN(LISTING), EV(TROUBLE), IN(WAITING), FAIL},
	{IN(LISTING), EV(UNAUTHORIZED), IN(WAITING), FAIL},
	{IN(LISTING), EV(FORBIDDEN), IN(WAITING), FAIL},
	{IN(LISTING), EV(ENDED), IN(WAITING), FAIL},
	{IN(LISTING), EV(BROKEN), IN(WAITING), FAIL},
	{IN(LISTING), EV(REFUSED), IN(WAITING), FAIL},
	{IN(LISTING), EV(UNSERVED), IN(LOST), GONE_},

	{IN(WATCHING), EV(STOP), IN(IDLE), END},
	{IN(WATCHING), EV(RESYNC), IN(STREAMING), END | ROUND},
	{IN(WATCHING), EV(OPENED), IN(WATCHING), DO(HEALTHY)},
	{IN(WATCHING), EV(ENDED), IN(WATCHING), DO(CANCEL) | DO(WATCH)},
	{IN(WATCHING), EV(CUT), IN(WATCHING), DO(CANCEL) | DO(WATCH)},
	{IN(WATCHING), EV(UNREACHABLE), IN(WATCHING), DO(CANCEL) | DO(WATCH)},
	{IN(WATCHING), EV(DEADLINE), IN(WATCHING), DO(CANCEL) | DO(WATCH)},
	{IN(WATCHING), EV(SILENT), IN(VERIFYING), DO(SECOND)},
	{IN(WATCHING), EV(GONE), IN(STREAMING), AGAIN},
	{IN(WATCHING), EV(TOO_NEW), IN(WAITING), FAIL},
	{IN(WATCHING), EV(THROTTLED), IN(WAITING), FAIL},
	{IN(WATCHING), EV(TROUBLE), IN(WAITING), FAIL},
	{IN(WATCHING), EV(BROKEN), IN(WAITING), FAIL},
	{IN(WATCHING), EV(UNAUTHORIZED), IN(WAITING), FAIL},
	{IN(WATCHING), EV(FORBIDDEN), IN(WAITING), FAIL},
	{IN(WATCHING), EV(REFUSED), IN(WAITING), FAIL},
	{IN(WATCHING), EV(TOO_LONG), IN(WAITING), FAIL},
	{IN(WATCHING), EV(UNSERVED), IN(LOST), GONE_},

	{IN(VERIFYING), EV(STOP), IN(IDLE), END},
	{IN(VERIFYING), EV(RESYNC), IN(STREAMING), END | ROUND},
	{IN(VERIFYING), EV(CHANGE), IN(WATCHING), DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(BOOKMARK), IN(WATCHING), DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(MARKED), IN(WATCHING), DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(SECOND_OPENED), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(SECOND_FAILED), IN(WATCHING), DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(ENDED), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(CUT), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(UNREACHABLE), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(DEADLINE), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(THROTTLED), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(TROUBLE), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(UNAUTHORIZED), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(FORBIDDEN), IN(WATCHING), DO(SWAP)},
	{IN(VERIFYING), EV(GONE), IN(STREAMING), AGAIN | DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(BROKEN), IN(WAITING), FAIL | DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(TOO_LONG), IN(WAITING), FAIL | DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(TOO_NEW), IN(WAITING), FAIL | DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(REFUSED), IN(WAITING), FAIL | DO(CANCEL_SECOND)},
	{IN(VERIFYING), EV(UNSERVED), IN(LOST), GONE_},

	{IN(WAITING), EV(STOP), IN(IDLE), END},
	{IN(WAITING), EV(TIMER), IN(WATCHING), DO(WATCH)},

	{IN(CHECKING), EV(STOP), IN(IDLE), END},
	{IN(CHECKING), EV(RESYNC), IN(STREAMING), DO(CANCEL) | ROUND},
	{IN(CHECKING), EV(PAGE), IN(WATCHING), DO(CANCEL) | DO(WATCH)},
	{IN(CHECKING), EV(LISTED), IN(WATCHING), DO(CANCEL) | DO(WATCH)},
	{IN(CHECKING), EV(UNREACHABLE), IN(WAITING), FAIL},
	{IN(CHECKING), EV(CUT), IN(WAITING), FAIL},
	{IN(CHECKING), EV(ENDED), IN(WAITING), FAIL},
	{IN(CHECKING), EV(DEADLINE), IN(WAITING), FAIL},
	{IN(CHECKING), EV(THROTTLED), IN(WAITING), FAIL},
	{IN(CHECKING), EV(TROUBLE), IN(WAITING), FAIL},
	{IN(CHECKING), EV(UNAUTHORIZED), IN(WAITING), FAIL},
	{IN(CHECKING), EV(FORBIDDEN), IN(WAITING), FAIL},
	{IN(CHECKING), EV(REFUSED), IN(WAITING), FAIL},
	{IN(CHECKING), EV(BROKEN), IN(WAITING), FAIL},
	{IN(CHECKING), EV(GONE), IN(WAITING), FAIL},
	{IN(CHECKING), EV(TOO_NEW), IN(WAITING), FAIL},
	{IN(CHECKING), EV(TOO_LONG), IN(WAITING), FAIL},
	{IN(CHECKING), EV(UNSERVED), IN(LOST), GONE_},

	{IN(LOST), EV(START), IN(STREAMING), ROUND},
	{IN(LOST), EV(STOP), IN(IDLE), END},
};

static struct pair wanted(enum reflector_state state, enum reflector_event event)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		if (pairs[i].state == state && pairs[i].event == event)
			return pairs[i];
	}
	return (struct pair){state, event, state, 0};
}

static void every_pair_of_state_and_event_does_what_the_table_says(void **state)
{
	(void)state;
	for (int s = 0; s < REFLECTOR_STATE_COUNT; s++) {
		for (int e = 0; e < REFLECTOR_EV_COUNT; e++) {
			struct pair want = wanted((enum reflector_state)s, (enum reflector_event)e);
			struct reflector_fsm m = machine_in(want.state);
			struct reflector_output out = tell(&m, want.event, "60");
			if (m.state != want.then || out.actions != want.actions)
				fail_msg("%s, %s: went to %s with actions %x, not to %s with %x",
					reflector_state_name(want.state),
					reflector_event_name(want.event),
					reflector_state_name(m.state), out.actions,
					reflector_state_name(want.then), want.actions);
		}
	}
}

/* ---- longer stories ---- */

static void without_streams_a_list_goes_page_by_page(void **state)
{
	(void)state;
	struct reflector_fsm m;
	reflector_fsm_init(&m, &limits);
	assert_int_equal(tell_at(&m, EV(START), NULL, false, 1).actions, DO(MARK) | DO(LIST));
	assert_true(m.consistent);
	assert_int_equal(tell_at(&m, EV(PAGE), "10", false, 1).actions, DO(NEXT));
	/* A page that fails is asked for again, not the whole list. */
	assert_int_equal(tell_at(&m, EV(THROTTLED), NULL, false, 1).actions, FAIL);
	assert_int_equal(tell_at(&m, EV(TIMER), NULL, false, 2).actions, DO(NEXT));
	(void)tell_at(&m, EV(LISTED), "10", false, 1);
	assert_int_equal(m.state, IN(WATCHING));
	assert_string_equal(m.revision.text, "10");
	assert_false(m.consistent);
}

static void a_page_that_expired_costs_one_list_without_pages(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(LISTING));
	(void)tell_at(&m, EV(PAGE), "10", false, 1);
	assert_int_equal(
		tell_at(&m, EV(GONE), NULL, false, 1).actions, DO(CANCEL) | DO(MARK) | DO(LIST));
	assert_true(m.whole);
	/* Too long as a whole: pages again after all. */
	assert_int_equal(tell_at(&m, EV(TOO_LONG), NULL, false, 1).actions,
		DO(CANCEL) | DO(MARK) | DO(LIST));
	assert_false(m.whole);
}

static void pages_that_are_too_long_are_halved_down_to_one(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(LISTING));
	unsigned sizes[] = {250, 125, 62, 31, 15, 7, 3, 1};
	for (size_t i = 0; i < 8; i++) {
		assert_int_equal(
			tell_at(&m, EV(TOO_LONG), NULL, false, 1).actions, DO(CANCEL) | DO(NEXT));
		assert_int_equal(m.page_size, sizes[i]);
	}
	assert_int_equal(tell_at(&m, EV(TOO_LONG), NULL, false, 1).actions, FAIL);
}

static void a_revision_that_is_gone_asks_for_one_not_older_and_only_then_for_the_newest(
	void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	assert_int_equal(tell_at(&m, EV(GONE), NULL, false, 500).actions,
		DO(CANCEL) | DO(RELIST) | DO(MARK) | DO(LIST));
	assert_false(m.consistent);
	assert_string_equal(m.revision.text, "50");
	assert_int_equal(tell_at(&m, EV(TOO_NEW), NULL, false, 502).actions,
		DO(CANCEL) | DO(MARK) | DO(LIST));
	assert_true(m.consistent);
	struct reflector_output out = tell_at(&m, EV(LISTED), "30", false, 503);
	assert_true(out.went_back);
	assert_string_equal(m.revision.text, "30");
}

static void a_stream_asks_for_the_newest_when_its_revision_is_the_trouble(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	assert_int_equal(tell(&m, EV(GONE), NULL).actions, AGAIN);
	assert_false(m.consistent);
	assert_int_equal(tell(&m, EV(TOO_NEW), NULL).actions, DO(CANCEL) | ROUND);
	assert_true(m.consistent);
	assert_int_equal(tell(&m, EV(TOO_NEW), NULL).actions, FAIL);
	/* Then by pages, until a round has ended; the next one tries the stream again. */
	assert_int_equal(tell(&m, EV(TIMER), NULL).actions, DO(MARK) | DO(LIST));
	(void)tell(&m, EV(LISTED), "70");
	assert_int_equal(tell(&m, EV(RESYNC), NULL).actions, END | ROUND);
}

static void initial_objects_do_not_move_the_revision(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(STREAMING));
	(void)tell(&m, EV(CHANGE), "900");
	(void)tell(&m, EV(CHANGE), "100");
	(void)tell(&m, EV(BOOKMARK), "950");
	assert_string_equal(m.revision.text, "");
	(void)tell(&m, EV(MARKED), "960");
	assert_string_equal(m.revision.text, "960");
	(void)tell(&m, EV(CHANGE), "970");
	assert_string_equal(m.revision.text, "970");
}

static void the_revision_never_goes_back_by_a_change(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	(void)tell(&m, EV(CHANGE), "49");
	assert_string_equal(m.revision.text, "50");
	(void)tell(&m, EV(CHANGE), "100");
	assert_string_equal(m.revision.text, "100");
	/* Servers may use other texts: then the last one counts. */
	(void)tell(&m, EV(CHANGE), "abc");
	assert_string_equal(m.revision.text, "abc");
}

static void a_bookmark_that_goes_back_lists_anew(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	struct reflector_output out = tell(&m, EV(BOOKMARK), "9");
	assert_true(out.went_back);
	assert_int_equal(out.actions, END | ROUND);
	assert_true(m.consistent);
	assert_false(tell(&m, EV(CHANGE), "3").went_back);
	assert_true(tell(&m, EV(MARKED), "10").went_back);
	assert_string_equal(m.revision.text, "10");
}

static void what_has_no_usable_revision_is_broken(void **state)
{
	static const enum reflector_event events[] = {
		EV(LISTED), EV(CHANGE), EV(BOOKMARK), EV(MARKED)};
	static const char *const revisions[] = {NULL, "", "a&b", "1 2", "1\"}"};
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		for (size_t j = 0; j < 5; j++) {
			struct reflector_fsm m = machine_in(IN(WATCHING));
			assert_int_equal(tell(&m, events[i], revisions[j]).actions, FAIL);
			assert_int_equal(m.goal, REFLECTOR_GOAL_ROUND);
		}
	}
}

static void a_watch_that_ends_at_once_waits_and_does_not_list(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	double now = 1000;
	(void)tell_at(&m, EV(ENDED), NULL, false, now); /* an ordinary end: at once again */
	for (int i = 0; i < 7; i++) {
		(void)tell_at(&m, EV(OPENED), NULL, false, now);
		assert_int_equal(tell_at(&m, EV(ENDED), NULL, false, now).actions, FAIL);
		assert_int_equal(tell_at(&m, EV(TIMER), NULL, false, ++now).actions, DO(WATCH));
	}
	/* Somebody answers watches with nothing for ever: see by a list what is the matter. */
	(void)tell_at(&m, EV(OPENED), NULL, false, now);
	(void)tell_at(&m, EV(ENDED), NULL, false, now);
	assert_int_equal(tell_at(&m, EV(TIMER), NULL, false, now).actions, DO(MARK) | DO(LIST));
}

static void one_frame_makes_a_short_watch_a_good_one(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	(void)tell(&m, EV(ENDED), NULL);
	(void)tell(&m, EV(OPENED), NULL);
	(void)tell(&m, EV(BOOKMARK), "51");
	assert_int_equal(tell(&m, EV(ENDED), NULL).actions, DO(CANCEL) | DO(WATCH));
	/* So does a second of life. */
	(void)tell_at(&m, EV(OPENED), NULL, true, 2000);
	assert_int_equal(tell_at(&m, EV(CUT), NULL, true, 2001).actions, DO(CANCEL) | DO(WATCH));
}

static void a_watch_that_cannot_be_opened_waits_for_the_watch(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	(void)tell(&m, EV(CUT), NULL);
	assert_int_equal(tell(&m, EV(CUT), NULL).actions, FAIL);
	assert_int_equal(m.goal, REFLECTOR_GOAL_WATCH);
	assert_int_equal(tell(&m, EV(TIMER), NULL).actions, DO(CHECK));
	assert_int_equal(tell(&m, EV(PAGE), "50").actions, DO(CANCEL) | DO(WATCH));
}

static void a_server_that_comes_back_older_is_listed_anew(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(CHECKING));
	struct reflector_output out = tell(&m, EV(PAGE), "49");
	assert_true(out.went_back);
	assert_int_equal(out.actions, DO(CANCEL) | ROUND);
	assert_true(m.consistent);
	(void)tell(&m, EV(MARKED), "49");
	assert_string_equal(m.revision.text, "49");
	/* A watch that is refused for load says nothing of where the server is. */
	(void)tell(&m, EV(THROTTLED), NULL);
	assert_int_equal(tell(&m, EV(TIMER), NULL).actions, DO(WATCH));
}

static void without_the_right_to_list_a_watch_is_opened_unchecked(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(CHECKING));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(tell(&m, EV(FORBIDDEN), NULL).actions, FAIL);
		assert_int_equal(tell(&m, EV(TIMER), NULL).actions, DO(CHECK));
	}
	assert_int_equal(tell(&m, EV(FORBIDDEN), NULL).actions, DO(CANCEL) | DO(WATCH));
}

static double pause_after(struct reflector_fsm *m, enum reflector_event event)
{
	double wait_s = tell(m, event, NULL).wait_s;
	(void)tell(m, EV(TIMER), NULL);
	(void)tell(m, m->state == IN(CHECKING) ? EV(LISTED) : EV(TIMER), "60");
	return wait_s;
}

static void pauses_double_up_to_their_limit(void **state)
{
	static const double want[] = {0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30, 30};
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	double now = 1000;
	for (size_t i = 0; i < 8; i++) {
		struct reflector_output out = tell_at(&m, EV(TROUBLE), NULL, true, now);
		assert_float_equal(out.wait_s, want[i], 1e-9);
		assert_float_equal(out.wait_jitter_s, want[i], 1e-9);
		now += 600;
		(void)tell_at(&m, EV(TIMER), NULL, true, now);
	}
}

static void a_server_that_cannot_be_reached_is_tried_every_few_seconds(void **state)
{
	static const double want[] = {0.8, 1.6, 3.2, 4, 4};
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	(void)tell(&m, EV(CUT), NULL);
	for (size_t i = 0; i < 5; i++)
		assert_float_equal(pause_after(&m, EV(UNREACHABLE)), want[i], 1e-9);
	/* It is there again, and has not yet begun to work; one that comes and goes does not gain by it. */
	assert_float_equal(pause_after(&m, EV(FORBIDDEN)), 0.8, 1e-9);
	assert_float_equal(pause_after(&m, EV(TROUBLE)), 1.6, 1e-9);
	assert_float_equal(pause_after(&m, EV(UNREACHABLE)), 3.2, 1e-9);
	assert_float_equal(pause_after(&m, EV(TROUBLE)), 6.4, 1e-9);
}

static void what_a_watch_brings_ends_the_row_of_failures(void **state)
{
	static const enum reflector_event frames[] = {EV(CHANGE), EV(BOOKMARK)};
	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct reflector_fsm m = machine_in(IN(WATCHING));
		(void)pause_after(&m, EV(TROUBLE));
		assert_float_equal(pause_after(&m, EV(TROUBLE)), 1.6, 1e-9);
		(void)tell(&m, EV(OPENED), NULL);
		(void)tell(&m, frames[i], "60");
		assert_float_equal(pause_after(&m, EV(TROUBLE)), 0.8, 1e-9);
	}
}

static void a_watch_that_lived_for_a_while_ends_the_row_of_failures(void **state)
{
	static const enum reflector_event ends[] = {EV(ENDED), EV(CUT), EV(TROUBLE), EV(BROKEN)};
	static const double want[] = {0.8, 0.8, 1.6, 1.6};
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct reflector_fsm m = machine_in(IN(WATCHING));
		(void)pause_after(&m, EV(TROUBLE));
		(void)pause_after(&m, EV(TROUBLE));
		(void)tell_at(&m, EV(OPENED), NULL, true, 2000);
		(void)tell_at(&m, ends[i], NULL, true, 2001);
		(void)tell_at(&m, EV(TIMER), NULL, true, 2010);
		assert_float_equal(pause_after(&m, EV(TROUBLE)), want[i], 1e-9);
	}
}

static void a_whole_list_ends_the_row_of_failures(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(STREAMING));
	(void)pause_after(&m, EV(CUT));
	assert_float_equal(pause_after(&m, EV(CUT)), 1.6, 1e-9);
	(void)tell(&m, EV(MARKED), "40");
	(void)tell(&m, EV(BOOKMARK), "41");
	assert_float_equal(pause_after(&m, EV(TROUBLE)), 0.8, 1e-9);
}

/* Else a server whose watches never work would be asked for whole lists as fast as it can make them. */
static void lists_whose_watches_fail_at_once_come_more_and_more_seldom(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(LISTING));
	double want = 0.8;
	for (int i = 0; i < 5; i++, want *= 2) {
		(void)tell_at(&m, EV(LISTED), "40", false, 1);
		(void)tell_at(&m, EV(OPENED), NULL, false, 1);
		struct reflector_output out = tell_at(&m, EV(BROKEN), NULL, false, 1);
		assert_float_equal(out.wait_s, want, 1e-9);
		assert_int_equal(
			tell_at(&m, EV(TIMER), NULL, false, 2).actions, DO(MARK) | DO(LIST));
	}
}

static void a_revision_that_is_gone_though_just_listed_waits(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	(void)pause_after(&m, EV(TROUBLE));
	(void)pause_after(&m, EV(TROUBLE));
	/* The first time is no failure, whatever came before. */
	assert_int_equal(tell(&m, EV(GONE), NULL).actions, AGAIN);
	(void)tell(&m, EV(MARKED), "70");
	assert_int_equal(tell(&m, EV(GONE), NULL).actions, FAIL);
	(void)tell(&m, EV(TIMER), NULL);
	(void)tell(&m, EV(MARKED), "80");
	(void)tell(&m, EV(CHANGE), "81");
	assert_int_equal(tell(&m, EV(GONE), NULL).actions, AGAIN);
}

static void waits_as_long_as_the_server_asks(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	struct reflector_input input = {.event = EV(THROTTLED), .now = 1000, .retry_after_s = 17};
	struct reflector_output out = reflector_fsm_step(&m, &input);
	assert_float_equal(out.wait_s, 17, 1e-9);
	assert_true(out.wait_jitter_s > 0);
}

static void silence_is_three_bookmarks_missing_but_never_less_than_the_limit(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(WATCHING));
	assert_float_equal(reflector_fsm_silence_s(&m), 0, 1e-9); /* no two bookmarks yet */
	(void)tell_at(&m, EV(BOOKMARK), "51", true, 1000);
	assert_float_equal(reflector_fsm_silence_s(&m), 0, 1e-9);
	(void)tell_at(&m, EV(BOOKMARK), "52", true, 1010);
	assert_float_equal(reflector_fsm_silence_s(&m), 90, 1e-9);
	(void)tell_at(&m, EV(BOOKMARK), "53", true, 1070);
	assert_float_equal(reflector_fsm_silence_s(&m), 180, 1e-9);
	/* A process that was stopped for an hour does not believe in hourly bookmarks. */
	(void)tell_at(&m, EV(BOOKMARK), "54", true, 5000);
	assert_float_equal(reflector_fsm_silence_s(&m), 360, 1e-9);
	(void)tell_at(&m, EV(SILENT), NULL, true, 6000);
	assert_float_equal(reflector_fsm_silence_s(&m), 0, 1e-9);
}

static void the_second_watch_takes_over_and_goes_on_from_the_same_revision(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(VERIFYING));
	assert_string_equal(m.revision.text, "50");
	(void)tell(&m, EV(SECOND_OPENED), NULL);
	assert_true(m.opened);
	(void)tell(&m, EV(CHANGE), "55");
	assert_string_equal(m.revision.text, "55");
}

static void lost_begins_anew_from_the_newest(void **state)
{
	(void)state;
	struct reflector_fsm m = machine_in(IN(LOST));
	(void)tell(&m, EV(START), NULL);
	assert_true(m.consistent);
}

/* Random events: whatever happens, these hold. */
static void random_events_keep_what_must_hold(void **state)
{
	(void)state;
	srand(7);
	for (int round = 0; round < 300; round++) {
		struct reflector_fsm m = machine_in(IN(IDLE));
		double now = 1;
		for (int i = 0; i < 400; i++) {
			char revision[16];
			enum reflector_event event =
				(enum reflector_event)(rand() % REFLECTOR_EV_COUNT);
			struct revision before = m.revision;
			snprintf(revision, sizeof(revision), "%d", 1 + rand() % 1000);
			now += rand() % 100 / 10.0;
			struct reflector_output out =
				tell_at(&m, event, revision, rand() % 2 == 0, now);
			/* Objects go only after a list that was told to be complete. */
			if ((out.actions & DO(SWEEP)) != 0)
				assert_true(event == EV(LISTED) || event == EV(MARKED));
			assert_true((out.actions & DO(WAIT)) == 0 || m.state == IN(WAITING));
			if (m.state == IN(WATCHING) || m.state == IN(VERIFYING))
				assert_true(revision_is_set(&m.revision));
			if (revision_is_older(str_from(m.revision.text), str_from(before.text)))
				assert_true(out.went_back);
			/* Never two new requests at once. */
			unsigned begun = out.actions &
					 (DO(STREAM) | DO(LIST) | DO(NEXT) | DO(CHECK) | DO(WATCH));
			assert_int_equal(begun & (begun - 1), 0);
		}
	}
}

static void revisions_compare_as_numbers(void **state)
{
	static const struct {
		const char *a;
		const char *b;
		bool older;
	} rows[] = {
		{"1", "2", true},
		{"2", "1", false},
		{"9", "10", true},
		{"10", "9", false},
		{"99999999999999999999999999999999999999",
			"100000000000000000000000000000000000000", true},
		{"5", "5", false},
		{"", "5", false},
		{"5", "", false},
		{"a", "b", false},
		{"1", "b", false},
		{"01", "2", false},
		{"0", "1", true},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(
			revision_is_older(str_from(rows[i].a), str_from(rows[i].b)), rows[i].older);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_pair_of_state_and_event_does_what_the_table_says),
		cmocka_unit_test(without_streams_a_list_goes_page_by_page),
		cmocka_unit_test(a_page_that_expired_costs_one_list_without_pages),
		cmocka_unit_test(pages_that_are_too_long_are_halved_down_to_one),
		cmocka_unit_test(
			a_revision_that_is_gone_asks_for_one_not_older_and_only_then_for_the_newest),
		cmocka_unit_test(a_stream_asks_for_the_newest_when_its_revision_is_the_trouble),
		cmocka_unit_test(initial_objects_do_not_move_the_revision),
		cmocka_unit_test(the_revision_never_goes_back_by_a_change),
		cmocka_unit_test(a_bookmark_that_goes_back_lists_anew),
		cmocka_unit_test(what_has_no_usable_revision_is_broken),
		cmocka_unit_test(a_watch_that_ends_at_once_waits_and_does_not_list),
		cmocka_unit_test(one_frame_makes_a_short_watch_a_good_one),
		cmocka_unit_test(a_watch_that_cannot_be_opened_waits_for_the_watch),
		cmocka_unit_test(a_server_that_comes_back_older_is_listed_anew),
		cmocka_unit_test(without_the_right_to_list_a_watch_is_opened_unchecked),
		cmocka_unit_test(pauses_double_up_to_their_limit),
		cmocka_unit_test(a_server_that_cannot_be_reached_is_tried_every_few_seconds),
		cmocka_unit_test(what_a_watch_brings_ends_the_row_of_failures),
		cmocka_unit_test(a_watch_that_lived_for_a_while_ends_the_row_of_failures),
		cmocka_unit_test(a_whole_list_ends_the_row_of_failures),
		cmocka_unit_test(lists_whose_watches_fail_at_once_come_more_and_more_seldom),
		cmocka_unit_test(a_revision_that_is_gone_though_just_listed_waits),
		cmocka_unit_test(waits_as_long_as_the_server_asks),
		cmocka_unit_test(silence_is_three_bookmarks_missing_but_never_less_than_the_limit),
		cmocka_unit_test(the_second_watch_takes_over_and_goes_on_from_the_same_revision),
		cmocka_unit_test(lost_begins_anew_from_the_newest),
		cmocka_unit_test(random_events_keep_what_must_hold),
		cmocka_unit_test(revisions_compare_as_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
