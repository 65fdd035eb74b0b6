// SPDX-License-Identifier: Apache-2.0
/*
 * How long a peer may take: for its hello, for a frame once it has begun one, between signs of life, and to take a byte of what waits for it. A
 * byte is a sign of life, but completes neither a hello nor a frame: trickling bytes does not keep a connection open. Pure; times are seconds of
 * one monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	DEADLINE_DEAD_AFTER_S = 20, /* of silence */
	DEADLINE_HELLO_S = 20,      /* from the connection to a whole hello */
	DEADLINE_FRAME_S = 20,      /* from the first byte of a frame to its last */
	DEADLINE_TAKE_S = 20,       /* in which it takes nothing, though something waits for it */
};

struct deadlines {
	double dead_after_s;
	double hello_s;
	double frame_s;
	double take_s;
	double greeted_at;
	double heard_at;
	double frame_at; /* of the frame that is still incomplete */
	double taken_at; /* when it was last seen to have taken something, or nothing to wait */
	uint64_t taken;
	bool is_in_frame;
	bool is_waiting; /* something, for the peer to take it */
};

/* `all_s`: how long each may take; 0: as above. */
void deadlines_init(struct deadlines *deadlines, double all_s);
/* A connection was made. */
void deadlines_begin(struct deadlines *deadlines, double now);
/* Bytes arrived. `had_frame`: they include the end of a frame; `is_partial`: they end within one.
 */
void deadlines_heard(struct deadlines *deadlines, double now, bool had_frame, bool is_partial);
/* Looked at from time to time. `taken`: bytes that the peer has taken since the connection was made; `is_waiting`: more wait for it. */
void deadlines_look(struct deadlines *deadlines, double now, uint64_t taken, bool is_waiting);
/* NULL, or why the peer is to be disconnected. `is_up`: its hello has arrived. */
const char *deadlines_missed(const struct deadlines *deadlines, double now, bool is_up);
