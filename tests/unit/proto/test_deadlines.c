// SPDX-License-Identifier: Apache-2.0
#include "proto/deadlines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void check(const struct deadlines *deadlines, double now, bool is_up, const char *want)
{
	const char *missed = deadlines_missed(deadlines, now, is_up);
	if ((missed == NULL) != (want == NULL) || (want != NULL && strstr(missed, want) == NULL))
		fail_msg("at %.0f: %s, not %s", now, missed != NULL ? missed : "nothing",
			want != NULL ? want : "nothing");
}

static void a_hello_must_be_whole_in_time(void **state)
{
	struct deadlines deadlines;
	(void)state;
	deadlines_init(&deadlines, 0);
	deadlines_begin(&deadlines, 100);
	for (int second = 1; second < DEADLINE_HELLO_S; second++) {
		deadlines_heard(&deadlines, 100 + second, false, true);
		check(&deadlines, 100 + second, false, NULL);
	}
	check(&deadlines, 100 + DEADLINE_HELLO_S, false, "no hello");
}

static void a_frame_must_be_whole_in_time(void **state)
{
	struct deadlines deadlines;
	(void)state;
	deadlines_init(&deadlines, 0);
	deadlines_begin(&deadlines, 100);
	/* Frame behind frame, each begun before the last was read: all of them are on time. */
	for (int second = 1; second < 3 * DEADLINE_FRAME_S; second++) {
		deadlines_heard(&deadlines, 100 + second, true, true);
		check(&deadlines, 100 + second, true, NULL);
	}
	/* One that grows byte by byte is not. */
	double begun = 100 + 3 * DEADLINE_FRAME_S - 1;
	for (int second = 1; second < DEADLINE_FRAME_S; second++) {
		deadlines_heard(&deadlines, begun + second, false, true);
		check(&deadlines, begun + second, true, NULL);
	}
	check(&deadlines, begun + DEADLINE_FRAME_S, true, "not ended");
	/* Its end makes good, and between frames only silence counts. */
	deadlines_heard(&deadlines, begun + DEADLINE_FRAME_S, true, false);
	check(&deadlines, begun + 2 * DEADLINE_FRAME_S - 1, true, NULL);
	check(&deadlines, begun + DEADLINE_FRAME_S + DEADLINE_DEAD_AFTER_S, true, "silent");
}

/* However much it says: what it does not take would have to be kept for it without end. */
static void what_waits_must_be_taken(void **state)
{
	struct deadlines deadlines;
	uint64_t taken = 1;
	(void)state;
	deadlines_init(&deadlines, 0);
	deadlines_begin(&deadlines, 100);
	/* Byte by byte is slow, but not nothing. */
	for (int second = 1; second < 3 * DEADLINE_TAKE_S; second++) {
		deadlines_heard(&deadlines, 100 + second, true, false);
		deadlines_look(&deadlines, 100 + second, taken++, true);
		check(&deadlines, 100 + second, true, NULL);
	}
	double last = 100 + 3 * DEADLINE_TAKE_S - 1;
	for (int second = 1; second < DEADLINE_TAKE_S; second++) {
		deadlines_heard(&deadlines, last + second, true, false);
		deadlines_look(&deadlines, last + second, taken - 1, true);
		check(&deadlines, last + second, true, NULL);
	}
	deadlines_heard(&deadlines, last + DEADLINE_TAKE_S, true, false);
	deadlines_look(&deadlines, last + DEADLINE_TAKE_S, taken - 1, true);
	check(&deadlines, last + DEADLINE_TAKE_S, true, "does not take");
	/* Where nothing waits, nothing has to be taken. */
	deadlines_look(&deadlines, last + DEADLINE_TAKE_S, taken - 1, false);
	check(&deadlines, last + DEADLINE_TAKE_S, true, NULL);
}

static void a_new_connection_begins_anew(void **state)
{
	struct deadlines deadlines;
	(void)state;
	deadlines_init(&deadlines, 1);
	deadlines_begin(&deadlines, 100);
	deadlines_heard(&deadlines, 100, false, true);
	deadlines_begin(&deadlines, 200);
	check(&deadlines, 200.5, true, NULL);
	deadlines_heard(&deadlines, 200.9, false, true);
	check(&deadlines, 201.5, true, NULL);
	check(&deadlines, 201.5, false, "no hello");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hello_must_be_whole_in_time),
		cmocka_unit_test(a_frame_must_be_whole_in_time),
		cmocka_unit_test(what_waits_must_be_taken),
		cmocka_unit_test(a_new_connection_begins_anew),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
