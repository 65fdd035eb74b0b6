// SPDX-License-Identifier: Apache-2.0
/*
 * Returns memory to the system once a burst is over: otherwise the memory for reading pages of JSON
 * lists stays with the process, because some small long-lived allocation lies behind it. An idle
 * process is not woken up for it, and a busy one does it every few seconds at most.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>

struct heap_trimmer {
	ev_prepare activity;
	ev_timer timer;
	double after_s;
	bool has_trimmed; /* the loop iteration that is ending did nothing else */
	void (*trim)(void);
};

/* Call before anything is allocated: one heap for all threads, as those of libraries need hardly
 * any memory. */
void heap_configure(void);
/* Calls `trim` (NULL: gives the free pages back) so long after the loop has begun to do something, and again as
 * long as it goes on. Until it is stopped the loop does not end by itself. */
void heap_trimmer_start(
	struct heap_trimmer *trimmer, struct ev_loop *loop, double after_s, void (*trim)(void));
void heap_trimmer_stop(struct heap_trimmer *trimmer, struct ev_loop *loop);
