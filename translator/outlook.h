// SPDX-License-Identifier: Apache-2.0
/*
 * What the engine has, one thing after the other, for people who look: records as the watcher sent them, and objects as the provider is sent them, as frames of
 * the protocol. Private keys are left out. A list may be read while everything changes: what is there from beginning to end is told once.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "translator/engine.h"

enum outlook_what {
	OUTLOOK_RECORDS,  /* of a record kind */
	OUTLOOK_OBJECTS,  /* of an object kind */
	OUTLOOK_STATUSES, /* what the provider says of load balancers: lb-status messages */
};

struct outlook {
	enum outlook_what what;
	enum record_kind record_kind;
	enum lb_kind lb_kind;
	struct buf outer; /* key of the record, load balancer or Service where it stands */
	struct buf inner; /* of the virtual host or pool */
	bool has_begun;
};

/* By the name that WINDOW.md gives it; false: there is no such list. */
bool outlook_init(struct outlook *outlook, struct str type);
void outlook_fini(struct outlook *outlook);
/* Appends the next frame. False: that was all. */
bool outlook_next(struct outlook *outlook, struct engine *engine, struct buf *out);
/* Appends the record or object with this key or id, if it is there. */
bool outlook_find(
	const struct outlook *outlook, struct engine *engine, struct str key, struct buf *out);

/* How much the provider, and the watcher, is still to be told. */
size_t outlook_waiting_down(const struct engine *engine);
size_t outlook_waiting_up(const struct engine *engine);
/* What the first load balancer that failed complains of, in the arena; absent: none did. */
struct str outlook_trouble(struct engine *engine, struct arena *arena);
