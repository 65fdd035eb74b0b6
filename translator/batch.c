// SPDX-License-Identifier: Apache-2.0
#include "translator/batch.h"

#include "translator/object_names.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "translator/log_events.h"
#include "translator/metrics.h"

#include <stdlib.h>

enum batch_stage {
	STAGE_SEND,                  /* + enum object_order */
	STAGE_REMOVE = OBJECT_KINDS, /* + the kinds in reverse order */
	STAGE_COMMIT = 2 * OBJECT_KINDS,
};

/* The current batch. */
struct present {
	bool is_snapshot;
	bool wrote; /* something since the last commit */
	bool holds; /* the provider keeps an old object, and with it whatever that may refer to */
	int stage;
};

struct batch {
	struct batch_parts parts;
	size_t sent_counts[LB_KIND_COUNT]; /* objects that the provider has */
	bool snapshot_due;
	uint64_t serial;
	struct present present;
};

struct batch *batch_new(const struct batch_parts *parts)
{
	struct batch *batch = xcalloc(1, sizeof(*batch));
	batch->parts = *parts;
	return batch;
}

void batch_free(struct batch *batch)
{
	free(batch);
}

size_t batch_sent_count(const struct batch *batch, enum lb_kind kind)
{
	return batch->sent_counts[kind];
}

uint64_t batch_serial(const struct batch *batch)
{
	return batch->serial;
}

bool batch_is_idle(const struct batch *batch)
{
	return !pending_is_in_batch(batch->parts.pending) && !batch->snapshot_due &&
	       pending_count(batch->parts.pending, PENDING_OBJECTS) == 0 &&
	       pending_count(batch->parts.pending, PENDING_REMOVALS) == 0;
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

/* Notes whether the provider has the object. */
static void set_sent(struct batch *batch, struct node *node, bool on)
{
	size_t *count = &batch->sent_counts[object_lb_kind(node)];
	*count -= (node->flags & NODE_SENT) != 0;
	*count += on;
	set_flag(node, NODE_SENT, on);
}

/* Sends diagnostics. Keeps a record that they were sent, also while the watcher has no room. */
static void update_diagnostics(struct batch *batch, struct node *node, struct diag_list *diags)
{
	if (node->kind == NODE_SECRET)
		return;
	if (diags->count == 0 && (node->flags & (NODE_TOLD | NODE_TELL)) == 0)
		return;
	set_flag(node, NODE_TELL, false);
	diagnostics_update(batch->parts.diagnostics, node, DIAGNOSTICS_CONTENT, diags, false);
}

/* Removes what was appended since `before`; private keys are wiped. */
static void wipe_since(struct buf *out, size_t before)
{
	size_t len = buf_len(out) - before;
	out->end -= len;
	explicit_bzero(out->data + out->end, len);
}

static void send_object(struct batch *batch, struct node *node, struct buf *out)
{
	struct diag_list diags;
	struct schema_error error = {""};
	uint64_t rev = 0;
	size_t before = buf_len(out);
	diag_list_init(&diags, batch->parts.scratch);
	const void *object = object_build(batch->parts.objects, node, &diags);
	int err = message_encode_object(object, out, &rev, &error);
	if (err != 0) {
		/* Limits are checked where objects are built: this is a bug. The provider keeps what it
		 * has. */
		metric_add(&translator_metrics[TRANSLATOR_REFUSED], kind_series(node), 1);
		log_event(&EV_OBJECT_REFUSED, LOG_TEXT("id", object_id(node, batch->parts.scratch)),
			LOG_STR("reason", error.text));
	} else if ((node->flags & NODE_SENT) != 0 && *node_rev(node) == rev) {
		wipe_since(out, before);
	} else {
		*node_rev(node) = rev;
		set_sent(batch, node, true);
		metric_add(&translator_metrics[TRANSLATOR_SENT], kind_series(node), 1);
		if (node->kind == NODE_BALANCER)
			set_flag(node, NODE_ANSWERED, false);
		batch->present.wrote = true;
	}
	update_diagnostics(batch, node, &diags);
	arena_reset(batch->parts.scratch);
}

static void send_remove(struct batch *batch, struct node *node, struct buf *out)
{
	struct schema_error error = {""};
	struct lb_remove remove = {
		.kind = object_lb_kind(node), .id = object_id(node, batch->parts.scratch)};
	must(message_encode(MESSAGE_REMOVE, &remove, out, &error) == 0);
	set_sent(batch, node, false);
	metric_add(&translator_metrics[TRANSLATOR_REMOVED], kind_series(node), 1);
	batch->present.wrote = true;
	arena_reset(batch->parts.scratch);
}

/* ---- stages ---- */

/* Finds a waiting object that the provider does not know, of a kind that comes before `order`. */
static struct node *find_new(struct batch *batch, enum object_order order)
{
	for (enum object_order kind = 0; kind < order; kind++) {
		struct node *node = NULL;
		while ((node = pending_look_ahead(batch->parts.pending, kind)) != NULL) {
			if ((node->flags & NODE_SENT) == 0 &&
				object_is_wanted(batch->parts.secrets, node))
				return node;
		}
	}
	return NULL;
}

/* Returns false when the stage is finished. */
static bool step_send(struct batch *batch, enum object_order order, struct buf *out)
{
	if (pending_left(batch->parts.pending, order) == 0)
		return false;
	struct node *ahead = find_new(batch, order);
	if (ahead != NULL) {
		send_object(batch, ahead, out);
		return true;
	}
	struct node *node = pending_take_object(batch->parts.pending, order);
	if (object_is_wanted(batch->parts.secrets, node))
		send_object(batch, node, out);
	else if ((node->flags & NODE_SENT) != 0)
		/* The old object stays for this batch, with all it refers to. */
		batch->present.holds |= pending_was_given_up_now(batch->parts.pending, node);
	graph_settle(batch->parts.graph, node);
	return true;
}

static bool step_remove(struct batch *batch, enum object_order order, struct buf *out)
{
	struct node *node = pending_take_removal(batch->parts.pending, order);
	if (node == NULL)
		return false;
	if ((node->flags & NODE_SENT) == 0) {
		graph_settle(batch->parts.graph, node);
	} else if (object_is_wanted(batch->parts.secrets, node)) {
		batch->present.holds = true;
	} else if (batch->present.holds || pending_was_given_up_now(batch->parts.pending, node)) {
		batch->present.holds = true;
		pending_remove(batch->parts.pending, node);
	} else {
		send_remove(batch, node, out);
		graph_settle(batch->parts.graph, node);
	}
	return true;
}

static void commit(struct batch *batch, struct buf *out)
{
	struct schema_error error = {""};
	struct lb_commit message = {.serial = batch->serial + 1};
	pending_end_batch(batch->parts.pending);
	fronts_release_again(batch->parts.fronts);
	if (!batch->present.wrote && !batch->present.is_snapshot) {
		served_end(batch->parts.served, batch->serial);
		return;
	}
	must(message_encode(MESSAGE_COMMIT, &message, out, &error) == 0);
	batch->serial++;
	served_end(batch->parts.served, batch->serial);
	metric_add(&translator_metrics[TRANSLATOR_COMMITS], 0, 1);
	if (batch->present.is_snapshot)
		log_event(&EV_SNAPSHOT_SENT, LOG_INT("serial", batch->serial));
}

static void step(struct batch *batch, struct buf *out)
{
	bool more = false;
	if (batch->present.stage < STAGE_REMOVE)
		more = step_send(
			batch, (enum object_order)(batch->present.stage - STAGE_SEND), out);
	else if (batch->present.stage < STAGE_COMMIT)
		more = step_remove(
			batch, (enum object_order)(STAGE_COMMIT - 1 - batch->present.stage), out);
	else
		commit(batch, out);
	if (!more)
		batch->present.stage++;
}

static void begin(struct batch *batch)
{
	batch->present = (struct present){0};
	pending_begin_batch(batch->parts.pending);
	served_begin(batch->parts.served);
}

/* ---- snapshots ---- */

static void push_balancers(struct batch *batch)
{
	struct node *node;
	struct node *host;
	RB_FOREACH (node, node_tree, &batch->parts.graph->balancers) {
		pending_send(batch->parts.pending, node);
		RB_FOREACH (host, node_tree, &((struct balancer_node *)(void *)node)->hosts)
			pending_send(batch->parts.pending, host);
	}
}

static void push_pools(struct batch *batch)
{
	struct node *node;
	struct node *pool;
	RB_FOREACH (node, node_tree, &batch->parts.graph->records[NODE_SERVICE]) {
		RB_FOREACH (pool, node_tree, &((struct service_node *)(void *)node)->pools)
			pending_send(batch->parts.pending, pool);
	}
}

static void push_all(struct batch *batch, struct node_tree *tree)
{
	struct node *node;
	RB_FOREACH (node, node_tree, tree)
		pending_send(batch->parts.pending, node);
}

static void begin_snapshot(struct batch *batch, struct buf *out)
{
	struct node *node;
	struct schema_error error = {""};
	struct sync_mark mark = {0};
	must(message_encode(MESSAGE_SYNC_BEGIN, &mark, out, &error) == 0);
	RB_FOREACH (node, node_tree, &batch->parts.graph->records[NODE_SECRET]) {
		if (node_has_users(node))
			pending_send(batch->parts.pending, node);
	}
	push_all(batch, &batch->parts.graph->users);
	push_all(batch, &batch->parts.graph->policies);
	push_pools(batch);
	push_balancers(batch);
	begin(batch);
	batch->present.is_snapshot = true;
	batch->snapshot_due = false;
}

void batch_provider_up(struct batch *batch)
{
	batch->present = (struct present){0};
	pending_end_batch(batch->parts.pending);
	batch->snapshot_due = true;
	batch->serial = 0;
	served_provider_changed(batch->parts.served);
}

/* The next provider is sent everything. Diagnostics of waiting objects are still due. */
static void empty_queue(struct batch *batch, enum pending_queue queue)
{
	struct node *node = NULL;
	while ((node = pending_take(batch->parts.pending, queue)) != NULL) {
		set_flag(node, NODE_SENT, false);
		if (queue == PENDING_OBJECTS && node->kind != NODE_SECRET)
			pending_diagnose(batch->parts.pending, node, DIAGNOSTICS_CONTENT);
		graph_settle(batch->parts.graph, node);
	}
}

static void forget_sent(struct batch *batch)
{
	struct node *node;
	struct node *part;
	RB_FOREACH (node, node_tree, &batch->parts.graph->records[NODE_SECRET])
		set_flag(node, NODE_SENT, false);
	RB_FOREACH (node, node_tree, &batch->parts.graph->records[NODE_SERVICE]) {
		RB_FOREACH (part, node_tree, &((struct service_node *)(void *)node)->pools)
			set_flag(part, NODE_SENT, false);
	}
	RB_FOREACH (node, node_tree, &batch->parts.graph->balancers) {
		set_flag(node, NODE_SENT | NODE_ANSWERED, false);
		RB_FOREACH (part, node_tree, &((struct balancer_node *)(void *)node)->hosts)
			set_flag(part, NODE_SENT, false);
	}
	RB_FOREACH (node, node_tree, &batch->parts.graph->policies)
		set_flag(node, NODE_SENT, false);
	RB_FOREACH (node, node_tree, &batch->parts.graph->users)
		set_flag(node, NODE_SENT, false);
	memset(batch->sent_counts, 0, sizeof(batch->sent_counts));
}

void batch_provider_down(struct batch *batch)
{
	pending_end_batch(batch->parts.pending);
	/* Any unwanted object that was sent is in one of these queues, and is settled there. */
	empty_queue(batch, PENDING_OBJECTS);
	empty_queue(batch, PENDING_REMOVALS);
	forget_sent(batch);
	served_provider_changed(batch->parts.served);
}

bool batch_work(struct batch *batch)
{
	struct buf *out = NULL;
	int steps = 0;
	if (!provider_peer_is_up(batch->parts.provider) ||
		!source_peer_is_whole(batch->parts.source))
		return false;
	while (steps < PENDING_STEPS_MAX && !batch_is_idle(batch) &&
		(out = provider_peer_out(batch->parts.provider)) != NULL) {
		if (pending_is_in_batch(batch->parts.pending))
			step(batch, out);
		else if (pending_count(batch->parts.pending, PENDING_CLAIMS) != 0)
			break; /* settled first */
		else if (batch->snapshot_due)
			begin_snapshot(batch, out);
		else
			begin(batch);
		steps++;
	}
	if (steps != 0)
		provider_peer_flush(batch->parts.provider);
	return steps == PENDING_STEPS_MAX ||
	       (!pending_is_in_batch(batch->parts.pending) &&
		       pending_count(batch->parts.pending, PENDING_CLAIMS) != 0);
}
