// SPDX-License-Identifier: Apache-2.0
/*
 * One call after the other, each in its turn: joins the queue, asks its owner what to send when the turn has come, sends it, and hands over the
 * answer. The owner decides late, so what changed while it waited is sent once.
 */
#pragma once

#include "provider-elb/call_queue.h"
#include "provider-elb/client.h"
#include "provider-elb/request.h"

struct call_context {
	struct ev_loop *loop;
	struct client *client;
	struct call_queue *queue;
};

struct call {
	struct call_entry entry;
	const struct call_context *context;
	struct client_call *running;
	const char *action; /* of the one that runs */
	/* Fills *ret_request, in the arena. False: there is nothing to send any more, and it has called call_cancel(), or freed it. */
	bool (*on_turn)(void *ctx, struct arena *arena, struct request *ret_request);
	/* The call is over: another one may be joined. */
	void (*on_answer)(void *ctx, const struct client_answer *answer);
	void *ctx;
};

void call_init(struct call *call, const struct call_context *context,
	bool (*on_turn)(void *ctx, struct arena *arena, struct request *ret_request),
	void (*on_answer)(void *ctx, const struct client_answer *answer), void *ctx);
/* `like` says which turn it needs: its service, action and is_write. A turn that does not fit the request is given back: no write is sent on that of a
 * read, which does not wait at the gate. Does nothing while it is active, but for a better rank or another turn. */
void call_join(struct call *call, const struct request *like, enum call_rank rank);
/* Whether it waits or is under way. */
bool call_is_active(const struct call *call);
bool call_is_running(const struct call *call);
void call_cancel(struct call *call);
