// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/call.h"

#include "provider-elb/metrics.h"

#include <stdlib.h>

static enum call_class class_of(const struct request *request)
{
	if (request->service == AWS_ROUTE53)
		return CALL_DNS;
	if (request->service != AWS_ELB)
		return CALL_OTHER;
	if (!request->is_write)
		return CALL_READ;
	if (strcmp(request->action, "RegisterTargets") == 0 ||
		strcmp(request->action, "DeregisterTargets") == 0)
		return CALL_TARGETS;
	return CALL_WRITE;
}

/* Of another kind it has another turn: another class, or, as a write, one that the gate lets through. */
static bool is_like(const struct call_entry *entry, const struct request *request)
{
	return entry->bucket == class_of(request) && entry->is_write == request->is_write;
}

static void on_done(void *ctx, const struct client_answer *answer)
{
	struct call *call = ctx;
	char *reason = str_dup(answer->message);
	call->running = NULL;
	metrics_count_call(call->action, call->entry.bucket, answer->outcome);
	call_queue_done(
		call->context->queue, &call->entry, answer->outcome, reason, answer->retry_after_s);
	free(reason);
	call->on_answer(call->ctx, answer);
}

static void send(struct call *call, const struct request *request)
{
	struct client_request client_request = {
		.service = request->service,
		.action = request->action,
		.path = request->path,
		.body = request->body,
		.is_write = request->is_write,
		.on_done = on_done,
		.ctx = call,
	};
	call->action = request->action;
	call->running = client_start(call->context->client, &client_request);
}

static void on_turn(struct call_entry *entry)
{
	struct call *call = (struct call *)(void *)((char *)entry - offsetof(struct call, entry));
	struct request request = {.service = AWS_ELB};
	struct arena arena;
	arena_init(&arena);
	if (!call->on_turn(call->ctx, &arena, &request)) {
		/* The owner may have joined it again, or freed it with itself. */
		arena_fini(&arena);
		return;
	}
	if (is_like(entry, &request)) {
		send(call, &request);
	} else {
		call_queue_leave(call->context->queue, entry);
		call_join(call, &request, entry->rank);
	}
	arena_fini(&arena);
}

void call_init(struct call *call, const struct call_context *context,
	bool (*turn)(void *ctx, struct arena *arena, struct request *ret_request),
	void (*on_answer)(void *ctx, const struct client_answer *answer), void *ctx)
{
	*call = (struct call){
		.entry = {.on_turn = on_turn},
		.context = context,
		.on_turn = turn,
		.on_answer = on_answer,
		.ctx = ctx,
	};
}

bool call_is_running(const struct call *call)
{
	return call->running != NULL;
}

bool call_is_active(const struct call *call)
{
	return call->running != NULL || call->entry.is_waiting;
}

void call_join(struct call *call, const struct request *like, enum call_rank rank)
{
	if (call->running != NULL)
		return;
	if (call->entry.is_waiting && call->entry.rank <= rank && is_like(&call->entry, like))
		return;
	call_queue_leave(call->context->queue, &call->entry);
	call->entry.bucket = class_of(like);
	call->entry.rank = rank;
	call->entry.is_write = like->is_write;
	call_queue_join(call->context->queue, &call->entry);
}

void call_cancel(struct call *call)
{
	if (call->context == NULL)
		return;
	if (call->running != NULL)
		client_cancel(call->running);
	call->running = NULL;
	call_queue_leave(call->context->queue, &call->entry);
}
