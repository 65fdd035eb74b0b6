// SPDX-License-Identifier: Apache-2.0
/*
 * Gives memory back to the system once a burst is over: what reading a list took in pages of JSON stays
 * with the process otherwise, because something small that lives on stands behind it. A process that
 * does nothing is not woken up for it, and a busy one does it every few seconds at most.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>

struct heap_trimmer {
	ev_prepare activity;
	ev_timer timer;
	double after_s;
	bool has_trimmed; /* the loop's turn that ends now did nothing else */
	void (*trim)(void);
};

/* Before anything is allocated: one heap for all threads, as those of libraries need hardly any. */
void heap_configure(void);
/* Calls `trim` (NULL: gives the free pages back) so long after the loop has begun to do something, and again as
 * long as it goes on. Until it is stopped the loop does not end by itself. */
void heap_trimmer_start(
	struct heap_trimmer *trimmer, struct ev_loop *loop, double after_s, void (*trim)(void));
void heap_trimmer_stop(struct heap_trimmer *trimmer, struct ev_loop *loop);
