// SPDX-License-Identifier: Apache-2.0
/*
 * One running request of a reflector: a page of a list, or a watch. Objects that come back go into the intake; events of the reflector's
 * state machine go to the owner. Nothing is decided here.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/intake.h"
#include "watcher/reflector_fsm.h"

enum { CHANNEL_PROBLEM_LEN = 448 };

struct channel;

struct channel_ops {
	/* May free the channel. Any event but OPENED, CHANGE, BOOKMARK and MARKED is the last one. */
	void (*on_event)(void *ctx, struct channel *channel, enum reflector_event event,
		struct str revision, double retry_after_s);
	/* A piece of the answer has been processed; objects may have changed. */
	void (*on_batch)(void *ctx);
};

struct channel_config {
	struct ev_loop *loop;
	struct api *api;
	struct intake *intake;
	const struct channel_ops *ops;
	void *ctx;
	bool ignores_objects; /* a list of which only the revision matters */
};

/* One page; events PAGE or LISTED with the revision of the list, or what went wrong. */
struct channel *channel_list(const struct channel_config *config, const char *path);
/* A watch that must be answered within answer_s (else CUT) and end within another lives_s (else DEADLINE). */
struct channel *channel_watch(
	const struct channel_config *config, const char *path, double answer_s, double lives_s);
/* NULL does nothing. */
void channel_free(struct channel *channel);
/* What went wrong, in words. */
const char *channel_problem(const struct channel *channel);
/* The token of the next page; "": this was the last. Valid as long as the channel. */
const char *channel_next_page(const struct channel *channel);
