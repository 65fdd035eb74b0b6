// SPDX-License-Identifier: Apache-2.0
/*
 * What the statuses say of all that was committed. Most changes are in force within milliseconds, and a status that says "pending" is outdated
 * before it has been read; so that one is held back for a moment, and is never told when the change is quicker. And it takes longer to make a
 * status than to apply most changes, which no status speaks of; so it is known here whether a new one would say the same.
 */
#pragma once

#include "proto/messages.h"

#include <ev.h>
#include <stdbool.h>

/* What is to be done with statuses. */
enum verdict_news {
	VERDICT_NEW,  /* make all of them again */
	VERDICT_SAME, /* each says what the last one did */
	VERDICT_HELD, /* none yet: verdict.on_due() follows, or another verdict */
};

struct verdict {
	struct ev_loop *loop;
	enum lb_state state;
	char *message;
	enum lb_state told; /* by the statuses that were made last */
	bool is_stale;      /* something else that they speak of has changed since */
	ev_timer hold;
	bool is_held;
	void (*on_due)(void *ctx); /* what was held back is to be told */
	void *ctx;
};

/* Pending, not held back, and not told. */
void verdict_init(
	struct verdict *verdict, struct ev_loop *loop, void (*on_due)(void *ctx), void *ctx);
void verdict_fini(struct verdict *verdict);
/* The words are copied; NULL: none. */
enum verdict_news verdict_set(struct verdict *verdict, enum lb_state state, const char *words);
/* Something that statuses speak of has changed, apart from the verdict: the next one is news. */
void verdict_set_stale(struct verdict *verdict);
/* To be asked before a status is made. False: it must not be told yet; the next verdict is news then. */
bool verdict_tell(struct verdict *verdict);
