// SPDX-License-Identifier: Apache-2.0
/*
 * When a kind is listed again although its watch runs: periodically if configured, and soon after a list that lacked known objects. Deletions
 * normally arrive by the watch; a list that lacks objects may come from a server or cache that is wrong for a moment, so a second one decides.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>

#define RESYNC_SECOND_LIST_S 5.0

struct resync {
	struct ev_loop *loop;
	ev_timer timer;
	double period_s; /* 0: never */
	bool is_unsure;  /* the latest list lacked something */
	void (*on_due)(void *ctx);
	void *ctx;
};

/* Starts the timer. Due about every period_s; 0: only when a list may be wrong. */
void resync_start(struct resync *resync, struct ev_loop *loop, double period_s,
	void (*on_due)(void *ctx), void *ctx);
void resync_stop(struct resync *resync);
/* A full list has arrived; it lacked this many objects that the one before had. */
void resync_listed(struct resync *resync, size_t missed);
