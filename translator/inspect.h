// SPDX-License-Identifier: Apache-2.0
/*
 * Lists what the engine has, item by item, for people: records as the watcher sent them, and objects as they are sent to the provider, as frames of
 * the protocol. Private keys are left out. The state may change while a list is read: whatever exists from beginning to end is listed exactly once.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "translator/engine.h"

enum inspect_what {
	INSPECT_RECORDS,  /* of a record kind */
	INSPECT_OBJECTS,  /* of an object kind */
	INSPECT_STATUSES, /* what the provider reports of load balancers: lb-status messages */
};

struct inspect_list {
	enum inspect_what what;
	enum record_kind record_kind;
	enum lb_kind lb_kind;
	struct buf outer; /* key of the record, load balancer or Service last listed */
	struct buf inner; /* of the virtual host or pool */
	bool has_begun;
};

/* `type`: the name in ADMIN.md. False: there is no such list. */
bool inspect_init(struct inspect_list *list, struct str type);
void inspect_fini(struct inspect_list *list);
/* Appends the next frame. False: that was all. */
bool inspect_next(struct inspect_list *list, struct engine *engine, struct buf *out);
/* Appends the record or object with this key or id, if it is there. */
bool inspect_find(
	const struct inspect_list *list, struct engine *engine, struct str key, struct buf *out);

/* How many updates are still to be sent to the provider, and to the watcher. */
size_t inspect_waiting_down(const struct engine *engine);
size_t inspect_waiting_up(const struct engine *engine);
/* The error message of the first failed load balancer, in the arena; absent: none failed. */
struct str inspect_trouble(struct engine *engine, struct arena *arena);
