// SPDX-License-Identifier: Apache-2.0
/*
 * The source link: the outlet's frames go down to the translator, wanted statuses and Events come up (proto/PROTOCOL.md, section 4).
 */
#pragma once

#include "proto/link.h"
#include "watcher/outlet.h"

struct source;

struct source_ops {
	void (*on_status)(void *ctx, const struct status_update *update);
	void (*on_event)(void *ctx, const struct event_note *note);
	/* A whole snapshot has been handed to the link. */
	void (*on_snapshot)(void *ctx);
};

struct source_config {
	struct ev_loop *loop;
	const char *path; /* of the socket */
	struct store *store;
	const struct source_ops *ops;
	void *ctx;
};

/* Connects, and reconnects for ever. Observes the store. */
struct source *source_new(const struct source_config *config);
void source_free(struct source *source, const char *reason);
struct outlet *source_outlet(struct source *source);
/* Who acts (PROTOCOL.md, "lead"): sent at once, and first on each connection. Not called where there is no election. */
void source_set_lead(struct source *source, uint64_t until_ms);
/* Says bye and reconnects, to send a snapshot with other settings. */
void source_restart(struct source *source, const char *reason);
