// SPDX-License-Identifier: Apache-2.0
/*
 * What the statuses say of all that was committed. Most changes are in force within milliseconds, and a status that says "pending" is outdated
 * before it has been read; so that one is held back for a moment, and is never told when the change is quicker.
 */
#pragma once

#include "proto/messages.h"

#include <ev.h>
#include <stdbool.h>

struct verdict {
	struct ev_loop *loop;
	enum lb_state state;
	char *message;
	ev_timer hold;
	bool is_held;
	void (*on_due)(void *ctx); /* what was held back is to be told */
	void *ctx;
};

/* Pending, and not held back. */
void verdict_init(
	struct verdict *verdict, struct ev_loop *loop, void (*on_due)(void *ctx), void *ctx);
void verdict_fini(struct verdict *verdict);
/* The words are copied; NULL: none. */
void verdict_set(struct verdict *verdict, enum lb_state state, const char *words);
/* Nothing is told yet. */
bool verdict_is_held(const struct verdict *verdict);
