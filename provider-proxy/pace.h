// SPDX-License-Identifier: Apache-2.0
/*
 * How often something may be done that costs everybody a little, such as a reload, when one of many can ask for it without end. The
 * first few times come as fast as the shortest pause lets them; then every time doubles the pause, up to the longest. Each longest pause
 * in which nothing is done takes back one of these times. Pure: the caller says what time it is, in seconds of a clock that only goes
 * forward.
 */
#pragma once

enum { PACE_FREE_COUNT = 8 /* times before the pause grows */ };

struct pace {
	double least_s;
	double most_s; /* not below least_s */
	double last_s; /* when it was done last; meaningless while count is 0 */
	double count;  /* times that are not taken back yet */
};

void pace_init(struct pace *pace, double least_s, double most_s);
/* Seconds until it may be done again; 0: now. */
double pace_wait_s(const struct pace *pace, double now_s);
/* It is done now. */
void pace_step(struct pace *pace, double now_s);
