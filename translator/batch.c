// SPDX-License-Identifier: Apache-2.0
/*
 * Objects to the provider, in batches:
 *
 *   certificates, pools, load balancers, virtual hosts
 *   gone: virtual hosts, load balancers, pools, certificates
 *   commit
 *
 * A batch takes what is dirty when it begins, and goes on whenever the provider has room; so
 * however slow that is, each object is sent at most once in a batch, in its newest form. At every
 * commit what was sent is consistent:
 *
 *  - What is sent refers only to what was sent. An object that became dirty meanwhile waits for the
 *    next batch; but when one of this batch may refer to it and the provider does not know it at
 *    all, it is sent ahead.
 *  - Nothing is removed that something sent may still refer to. What was given up before the batch
 *    began was let go of by objects that were dirty then, and all of those have been sent anew when
 *    removals begin. What was given up since waits for the next batch; and so does the rest, as
 *    soon as one of those to be removed turns out to be wanted again, for it was not sent anew.
 */
#include "translator/state.h"

#include "translator/object_names.h"
#include "common/must.h"
#include "translator/log_events.h"
#include "translator/metrics.h"

enum batch_stage {
	STAGE_SEND,                  /* + enum object_order */
	STAGE_REMOVE = OBJECT_KINDS, /* + the kinds in opposite order */
	STAGE_COMMIT = 2 * OBJECT_KINDS,
};

bool batch_is_idle(const struct engine *engine)
{
	return !pending_is_in_batch(engine->pending) && !engine->snapshot_due &&
	       pending_count(engine->pending, PENDING_OBJECTS) == 0 &&
	       pending_count(engine->pending, PENDING_REMOVALS) == 0;
}

/* ---- one object ---- */

static void set_flag(struct node *node, uint16_t flag, bool on)
{
	node->flags = (uint16_t)(on ? node->flags | flag : node->flags & ~flag);
}

static unsigned kind_series(const struct node *node)
{
	return (unsigned)object_lb_kind(node) - 1;
}

/* The provider has it now, or has it no more. */
static void set_sent(struct engine *engine, struct node *node, bool on)
{
	size_t *count = &engine->sent_counts[object_lb_kind(node)];
	*count -= (node->flags & NODE_SENT) != 0;
	*count += on;
	set_flag(node, NODE_SENT, on);
}

/* Whether it was told: that must not be forgotten while the watcher has no room. */
static void say(struct engine *engine, struct node *node, struct diag_list *diags)
{
	if (node->kind == NODE_SECRET)
		return;
	if (diags->count == 0 && (node->flags & (NODE_TOLD | NODE_TELL)) == 0)
		return;
	set_flag(node, NODE_TELL, false);
	diagnostics_update(engine->diagnostics, node, DIAGNOSTICS_CONTENT, diags, false);
}

/* Takes back what was appended since `before`; private keys are wiped. */
static void take_back(struct buf *out, size_t before)
{
	size_t len = buf_len(out) - before;
	out->end -= len;
	explicit_bzero(out->data + out->end, len);
}

static void send_object(struct engine *engine, struct node *node, struct buf *out)
{
	struct diag_list diags;
	struct schema_error error = {""};
	uint64_t rev = 0;
	size_t before = buf_len(out);
	diag_list_init(&diags, &engine->scratch);
	const void *object = object_build(engine, node, &diags);
	int err = message_encode_object(object, out, &rev, &error);
	if (err != 0) {
		/* Every limit is kept where objects are built. The provider keeps what it has. */
		metric_add(&translator_metrics[TRANSLATOR_REFUSED], kind_series(node), 1);
		log_event(&EV_OBJECT_REFUSED, LOG_TEXT("id", object_id(node, &engine->scratch)),
			LOG_STR("reason", error.text));
	} else if ((node->flags & NODE_SENT) != 0 && *node_rev(node) == rev) {
		take_back(out, before);
	} else {
		*node_rev(node) = rev;
		set_sent(engine, node, true);
		metric_add(&translator_metrics[TRANSLATOR_SENT], kind_series(node), 1);
		if (node->kind == NODE_BALANCER)
			set_flag(node, NODE_ANSWERED, false);
		engine->batch.wrote = true;
	}
	say(engine, node, &diags);
	arena_reset(&engine->scratch);
}

static void send_remove(struct engine *engine, struct node *node, struct buf *out)
{
	struct schema_error error = {""};
	struct lb_remove remove = {
		.kind = object_lb_kind(node), .id = object_id(node, &engine->scratch)};
	must(message_encode(MESSAGE_REMOVE, &remove, out, &error) == 0);
	set_sent(engine, node, false);
	metric_add(&translator_metrics[TRANSLATOR_REMOVED], kind_series(node), 1);
	engine->batch.wrote = true;
	arena_reset(&engine->scratch);
}

/* ---- stages ---- */

/* Finds one that the provider does not know, among those that wait for the next batch and come
 * before `order`. */
static struct node *find_new(struct engine *engine, int order)
{
	for (int kind = 0; kind < order; kind++) {
		struct node *node = NULL;
		while ((node = pending_look_ahead(engine->pending, (enum object_order)kind)) !=
			NULL) {
			if ((node->flags & NODE_SENT) == 0 &&
				object_is_wanted(engine->secrets, node))
				return node;
		}
	}
	return NULL;
}

/* Returns false when the stage is through. */
static bool step_send(struct engine *engine, int order, struct buf *out)
{
	if (pending_left(engine->pending, (enum object_order)order) == 0)
		return false;
	struct node *ahead = find_new(engine, order);
	if (ahead != NULL) {
		send_object(engine, ahead, out);
		return true;
	}
	struct node *node = pending_take_object(engine->pending, (enum object_order)order);
	if (object_is_wanted(engine->secrets, node))
		send_object(engine, node, out);
	else if ((node->flags & NODE_SENT) != 0 && pending_was_given_up_now(engine->pending, node))
		engine->batch.holds =
			true; /* its old form stays for this batch, with all it refers to */
	graph_settle(&engine->graph, node);
	return true;
}

static bool step_remove(struct engine *engine, int order, struct buf *out)
{
	struct batch *batch = &engine->batch;
	struct node *node = pending_take_removal(engine->pending, (enum object_order)order);
	if (node == NULL)
		return false;
	if ((node->flags & NODE_SENT) == 0) {
		graph_settle(&engine->graph, node);
	} else if (object_is_wanted(engine->secrets, node)) {
		batch->holds = true;
	} else if (batch->holds || pending_was_given_up_now(engine->pending, node)) {
		batch->holds = true;
		pending_remove(engine->pending, node);
	} else {
		send_remove(engine, node, out);
		graph_settle(&engine->graph, node);
	}
	return true;
}

static void commit(struct engine *engine, struct buf *out)
{
	struct schema_error error = {""};
	struct lb_commit message = {.serial = engine->serial + 1};
	pending_end_batch(engine->pending);
	fronts_release_again(engine->fronts);
	if (!engine->batch.wrote && !engine->batch.is_snapshot)
		return;
	must(message_encode(MESSAGE_COMMIT, &message, out, &error) == 0);
	engine->serial++;
	metric_add(&translator_metrics[TRANSLATOR_COMMITS], 0, 1);
	if (engine->batch.is_snapshot)
		log_event(&EV_SNAPSHOT_SENT, LOG_INT("serial", engine->serial));
}

static void step(struct engine *engine, struct buf *out)
{
	struct batch *batch = &engine->batch;
	bool more = false;
	if (batch->stage < STAGE_REMOVE)
		more = step_send(engine, batch->stage - STAGE_SEND, out);
	else if (batch->stage < STAGE_COMMIT)
		more = step_remove(engine, STAGE_COMMIT - 1 - batch->stage, out);
	else
		commit(engine, out);
	if (!more)
		batch->stage++;
}

static void begin(struct engine *engine)
{
	engine->batch = (struct batch){0};
	pending_begin_batch(engine->pending);
}

/* ---- snapshots ---- */

static void push_balancers(struct engine *engine)
{
	struct balancer_node *balancer;
	struct host_node *host;
	SET_FOREACH (balancer, &engine->graph.balancers, node_by_key) {
		pending_send(engine->pending, &balancer->node);
		SET_FOREACH (host, &balancer->hosts, node_by_key)
			pending_send(engine->pending, &host->node);
	}
}

static void push_pools(struct engine *engine)
{
	struct record *record;
	struct pool_node *pool;
	SET_FOREACH (record, &engine->graph.records[NODE_SERVICE], node_by_key) {
		struct service_node *service = (struct service_node *)(void *)record;
		SET_FOREACH (pool, &service->pools, node_by_key)
			pending_send(engine->pending, &pool->node);
	}
}

static void begin_snapshot(struct engine *engine, struct buf *out)
{
	struct record *record;
	struct schema_error error = {""};
	struct sync_mark mark = {0};
	must(message_encode(MESSAGE_SYNC_BEGIN, &mark, out, &error) == 0);
	SET_FOREACH (record, &engine->graph.records[NODE_SECRET], node_by_key) {
		if (node_has_users(&record->node))
			pending_send(engine->pending, &record->node);
	}
	push_pools(engine);
	push_balancers(engine);
	begin(engine);
	engine->batch.is_snapshot = true;
	engine->snapshot_due = false;
}

void batch_provider_up(struct engine *engine)
{
	engine->batch = (struct batch){0};
	pending_end_batch(engine->pending);
	engine->snapshot_due = true;
	engine->serial = 0;
}

/* The next provider is sent everything. What waited still has something to say. */
static void empty_queue(struct engine *engine, enum pending_queue queue)
{
	struct node *node = NULL;
	while ((node = pending_take(engine->pending, queue)) != NULL) {
		set_flag(node, NODE_SENT, false);
		if (queue == PENDING_OBJECTS && node->kind != NODE_SECRET)
			pending_diagnose(engine->pending, node, DIAGNOSTICS_CONTENT);
		graph_settle(&engine->graph, node);
	}
}

static void forget_sent(struct engine *engine)
{
	struct balancer_node *balancer;
	struct host_node *host;
	struct pool_node *pool;
	struct record *record;
	SET_FOREACH (record, &engine->graph.records[NODE_SECRET], node_by_key)
		set_flag(&record->node, NODE_SENT, false);
	SET_FOREACH (record, &engine->graph.records[NODE_SERVICE], node_by_key) {
		SET_FOREACH (pool, &((struct service_node *)(void *)record)->pools, node_by_key)
			set_flag(&pool->node, NODE_SENT, false);
	}
	SET_FOREACH (balancer, &engine->graph.balancers, node_by_key) {
		set_flag(&balancer->node, NODE_SENT | NODE_ANSWERED, false);
		SET_FOREACH (host, &balancer->hosts, node_by_key)
			set_flag(&host->node, NODE_SENT, false);
	}
	memset(engine->sent_counts, 0, sizeof(engine->sent_counts));
}

void batch_provider_down(struct engine *engine)
{
	pending_end_batch(engine->pending);
	/* Whatever is unwanted and was sent waits in one of the queues, so it is settled there. */
	empty_queue(engine, PENDING_OBJECTS);
	empty_queue(engine, PENDING_REMOVALS);
	forget_sent(engine);
}

bool batch_work(struct engine *engine)
{
	struct buf *out = NULL;
	int steps = 0;
	if (!provider_peer_is_up(engine->provider) || !source_peer_is_whole(engine->source))
		return false;
	while (steps < WORK_STEPS_MAX && !batch_is_idle(engine) &&
		(out = provider_peer_out(engine->provider)) != NULL) {
		if (pending_is_in_batch(engine->pending))
			step(engine, out);
		else if (pending_count(engine->pending, PENDING_CLAIMS) != 0)
			break; /* they are settled first */
		else if (engine->snapshot_due)
			begin_snapshot(engine, out);
		else
			begin(engine);
		steps++;
	}
	if (steps != 0)
		provider_peer_flush(engine->provider);
	return steps == WORK_STEPS_MAX ||
	       (!pending_is_in_batch(engine->pending) &&
		       pending_count(engine->pending, PENDING_CLAIMS) != 0);
}
