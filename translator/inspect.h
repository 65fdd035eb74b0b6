// SPDX-License-Identifier: Apache-2.0
/*
 * What the engine has, one thing after the other, for people who look: records as the watcher sent them, and objects as the provider is sent them, as frames of
 * the protocol. Private keys are left out. A list may be read while everything changes: what is there from beginning to end is told once.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "translator/engine.h"

enum inspect_what {
	INSPECT_RECORDS,  /* of a record kind */
	INSPECT_OBJECTS,  /* of an object kind */
	INSPECT_STATUSES, /* what the provider says of load balancers: lb-status messages */
};

struct inspect_list {
	enum inspect_what what;
	enum record_kind record_kind;
	enum lb_kind lb_kind;
	struct buf outer; /* key of the record, load balancer or Service where it stands */
	struct buf inner; /* of the virtual host or pool */
	bool has_begun;
};

/* By the name that ADMIN.md gives it; false: there is no such list. */
bool inspect_init(struct inspect_list *list, struct str type);
void inspect_fini(struct inspect_list *list);
/* Appends the next frame. False: that was all. */
bool inspect_next(struct inspect_list *list, struct engine *engine, struct buf *out);
/* Appends the record or object with this key or id, if it is there. */
bool inspect_find(
	const struct inspect_list *list, struct engine *engine, struct str key, struct buf *out);

/* How much the provider, and the watcher, is still to be told. */
size_t inspect_waiting_down(const struct engine *engine);
size_t inspect_waiting_up(const struct engine *engine);
/* What the first load balancer that failed complains of, in the arena; absent: none did. */
struct str inspect_trouble(struct engine *engine, struct arena *arena);
