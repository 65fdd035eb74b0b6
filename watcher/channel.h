// SPDX-License-Identifier: Apache-2.0
/*
 * One request of a reflector that runs: a page of a list, or a watch. What comes back goes as objects into the intake and as events to
 * the owner, in the words of the reflector's machine; nothing is decided here.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/intake.h"
#include "watcher/reflector_fsm.h"

enum { CHANNEL_PROBLEM_LEN = 448 };

struct channel;

struct channel_ops {
	/* May free the channel. After an event other than OPENED, CHANGE, BOOKMARK and MARKED nothing more comes. */
	void (*on_event)(void *ctx, struct channel *channel, enum reflector_event event,
		struct str revision, double retry_after_s);
	/* A piece of the answer has been worked on, objects may have changed. */
	void (*on_batch)(void *ctx);
};

struct channel_config {
	struct ev_loop *loop;
	struct api *api;
	struct intake *intake;
	const struct channel_ops *ops;
	void *ctx;
	bool ignores_objects; /* of a list, of which only the revision matters */
};

/* One page; events PAGE or LISTED with the revision of the list, or what went wrong. */
struct channel *channel_list(const struct channel_config *config, const char *path);
/* A watch that must be answered within answer_s (else CUT) and end within lives_s after that (else DEADLINE). */
struct channel *channel_watch(
	const struct channel_config *config, const char *path, double answer_s, double lives_s);
/* NULL does nothing. */
void channel_free(struct channel *channel);
/* What went wrong, in words. */
const char *channel_problem(const struct channel *channel);
/* The token of the page that comes after this one; "": it was the last. Good as long as the channel. */
const char *channel_next_page(const struct channel *channel);
