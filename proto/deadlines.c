// SPDX-License-Identifier: Apache-2.0
#include "proto/deadlines.h"

#include <stddef.h>

void deadlines_init(struct deadlines *deadlines, double all_s)
{
	*deadlines = (struct deadlines){
		.dead_after_s = all_s > 0 ? all_s : DEADLINE_DEAD_AFTER_S,
		.hello_s = all_s > 0 ? all_s : DEADLINE_HELLO_S,
		.frame_s = all_s > 0 ? all_s : DEADLINE_FRAME_S,
		.take_s = all_s > 0 ? all_s : DEADLINE_TAKE_S,
	};
}

void deadlines_begin(struct deadlines *deadlines, double now)
{
	deadlines->greeted_at = now;
	deadlines->heard_at = now;
	deadlines->taken_at = now;
	deadlines->taken = 0;
	deadlines->is_in_frame = false;
	deadlines->is_waiting = false;
}

void deadlines_heard(struct deadlines *deadlines, double now, bool had_frame, bool is_partial)
{
	deadlines->heard_at = now;
	if (is_partial && (had_frame || !deadlines->is_in_frame))
		deadlines->frame_at = now;
	deadlines->is_in_frame = is_partial;
}

void deadlines_look(struct deadlines *deadlines, double now, uint64_t taken, bool is_waiting)
{
	deadlines->is_waiting = is_waiting;
	if (taken == deadlines->taken && is_waiting)
		return;
	deadlines->taken = taken;
	deadlines->taken_at = now;
}

const char *deadlines_missed(const struct deadlines *deadlines, double now, bool is_up)
{
	if (!is_up)
		return now - deadlines->greeted_at >= deadlines->hello_s ? "the peer says no hello"
									 : NULL;
	if (now - deadlines->heard_at >= deadlines->dead_after_s)
		return "the peer is silent";
	if (deadlines->is_in_frame && now - deadlines->frame_at >= deadlines->frame_s)
		return "a frame was begun and not ended in time";
	if (deadlines->is_waiting && now - deadlines->taken_at >= deadlines->take_s)
		return "the peer does not take what is sent to it";
	return NULL;
}
