// SPDX-License-Identifier: Apache-2.0
/*
 * Rate limit for something that costs everybody a little, such as a reload, and that a single tenant can trigger without end. The first
 * few times need only the shortest pause between them; after that each time doubles the pause, up to the longest. Every longest pause that
 * passes without one takes one off the count. Pure: the caller passes the time, in seconds of a monotonic clock.
 */
#pragma once

enum { PACE_FREE_COUNT = 8 /* times before the pause grows */ };

struct pace {
	double least_s;
	double most_s; /* not below least_s */
	double last_s; /* when it was last done; meaningless while count is 0 */
	double count;  /* times that have not been taken off yet */
};

void pace_init(struct pace *pace, double least_s, double most_s);
/* Seconds until it may be done again; 0: now. */
double pace_wait_s(const struct pace *pace, double now_s);
/* It is done now. */
void pace_step(struct pace *pace, double now_s);
