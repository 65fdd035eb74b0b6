// SPDX-License-Identifier: Apache-2.0
#include "translator/pending.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "translator/claim_keys.h"

#include <stdlib.h>

/* Progress of a batch. */
struct progress {
	bool is_active;
	uint16_t number;
	size_t left[OBJECT_KINDS]; /* for each queue, how many waited when the batch began */
	size_t left_going[OBJECT_KINDS];
	uint64_t seen[OBJECT_KINDS]; /* for each queue, up to where new objects were sent ahead */
};

struct pending {
	struct graph *graph;
	const struct provider_peer *provider;
	struct arena *scratch;
	struct queue claims;
	struct queue dirty[OBJECT_KINDS];
	struct queue going[OBJECT_KINDS];
	struct queue to_tell;
	struct queue statuses;
	struct progress batch;
};

struct pending *pending_new(
	struct graph *graph, const struct provider_peer *provider, struct arena *scratch)
{
	struct pending *pending = xcalloc(1, sizeof(*pending));
	pending->graph = graph;
	pending->provider = provider;
	pending->scratch = scratch;
	queue_init(&pending->claims, NODE_CLAIMED);
	for (size_t i = 0; i < OBJECT_KINDS; i++) {
		queue_init(&pending->dirty[i], NODE_DIRTY);
		queue_init(&pending->going[i], NODE_GOING);
	}
	queue_init(&pending->to_tell, NODE_TO_TELL);
	queue_init(&pending->statuses, NODE_STATUS);
	return pending;
}

void pending_free(struct pending *pending)
{
	if (pending == NULL)
		return;
	queue_fini(&pending->claims);
	for (size_t i = 0; i < OBJECT_KINDS; i++) {
		queue_fini(&pending->dirty[i]);
		queue_fini(&pending->going[i]);
	}
	queue_fini(&pending->to_tell);
	queue_fini(&pending->statuses);
	free(pending);
}

/* ---- requests of changes ---- */

void pending_diagnose(struct pending *pending, struct node *node, enum diagnostics_part part)
{
	node->flags |= part == DIAGNOSTICS_CONTENT ? NODE_TELL : NODE_TELL_STATUS;
	queue_push(&pending->to_tell, node);
}

void pending_build(struct pending *pending, struct node *node)
{
	/* The provider's batch updates the diagnostics of everything it sends. */
	bool is_unserved =
		node->kind == NODE_HOST && ((struct host_node *)(void *)node)->is_unserved;
	bool is_up = provider_peer_is_up(pending->provider);
	if (is_up)
		pending_send(pending, node);
	if (!is_up || is_unserved)
		pending_diagnose(pending, node, DIAGNOSTICS_CONTENT);
}

void pending_give_up(struct pending *pending, struct node *node)
{
	node->batch = pending->batch.number;
	if ((node->flags & NODE_SENT) != 0)
		pending_remove(pending, node);
}

void pending_want_again(struct pending *pending, const struct node *node)
{
	enum object_order order = object_order(node);
	if (pending->batch.is_active && (node->flags & (NODE_DIRTY | NODE_SENT)) == NODE_DIRTY)
		pending->batch.seen[order] =
			pending->dirty[order].popped + pending->batch.left[order];
}

void pending_tell_status(struct pending *pending, struct ingress_node *ingress)
{
	queue_push(&pending->statuses, &ingress->record.node);
}

void pending_tell_all_statuses(struct pending *pending)
{
	static const enum node_kind kinds[] = {NODE_INGRESS, NODE_FRONT};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct node *node;
		RB_FOREACH (node, node_tree, &pending->graph->records[kinds[i]])
			queue_push(&pending->statuses, node);
	}
}

void pending_settle(struct pending *pending, struct node *node)
{
	queue_push(&pending->claims, node);
}

void pending_settle_name(struct pending *pending, struct balancer_node *balancer, struct str host)
{
	struct claim_node *claim =
		graph_find_claim(balancer, claim_name_key(pending->scratch, host));
	struct use *use;
	if (claim == NULL)
		return;
	pending_settle(pending, &claim->node);
	RB_FOREACH (use, use_tree, &claim->node.users)
		pending_diagnose(pending, &use->user->record.node, DIAGNOSTICS_CONTENT);
}

/* ---- queues ---- */

/* The queues that callers see as one. */
static struct queue *queues_of(
	const struct pending *pending, enum pending_queue queue, size_t *ret_count)
{
	struct pending *own = (struct pending *)(uintptr_t)pending;
	*ret_count = 1;
	switch (queue) {
	case PENDING_CLAIMS:
		return &own->claims;
	case PENDING_DIAGNOSES:
		return &own->to_tell;
	case PENDING_STATUSES:
		return &own->statuses;
	case PENDING_OBJECTS:
		*ret_count = OBJECT_KINDS;
		return own->dirty;
	case PENDING_REMOVALS:
		*ret_count = OBJECT_KINDS;
		return own->going;
	}
	must(false);
}

size_t pending_count(const struct pending *pending, enum pending_queue queue)
{
	size_t count = 0;
	size_t sum = 0;
	const struct queue *queues = queues_of(pending, queue, &count);
	for (size_t i = 0; i < count; i++)
		sum += queue_len(&queues[i]);
	return sum;
}

struct node *pending_take(struct pending *pending, enum pending_queue queue)
{
	size_t count = 0;
	struct node *node = NULL;
	struct queue *queues = queues_of(pending, queue, &count);
	for (size_t i = 0; i < count && node == NULL; i++)
		node = queue_pop(&queues[i]);
	return node;
}

/* ---- batches ---- */

void pending_begin_batch(struct pending *pending)
{
	struct progress *batch = &pending->batch;
	batch->is_active = true;
	batch->number++;
	for (size_t i = 0; i < OBJECT_KINDS; i++) {
		batch->left[i] = queue_len(&pending->dirty[i]);
		batch->left_going[i] = queue_len(&pending->going[i]);
		batch->seen[i] = pending->dirty[i].popped + batch->left[i];
	}
}

void pending_end_batch(struct pending *pending)
{
	pending->batch.is_active = false;
}

bool pending_is_in_batch(const struct pending *pending)
{
	return pending->batch.is_active;
}

bool pending_was_given_up_now(const struct pending *pending, const struct node *node)
{
	return node->batch == pending->batch.number;
}

size_t pending_left(const struct pending *pending, enum object_order order)
{
	return pending->batch.left[order];
}

struct node *pending_take_object(struct pending *pending, enum object_order order)
{
	if (pending->batch.left[order] == 0)
		return NULL;
	pending->batch.left[order]--;
	return queue_pop(&pending->dirty[order]);
}

struct node *pending_take_removal(struct pending *pending, enum object_order order)
{
	if (pending->batch.left_going[order] == 0)
		return NULL;
	pending->batch.left_going[order]--;
	return queue_pop(&pending->going[order]);
}

struct node *pending_look_ahead(struct pending *pending, enum object_order order)
{
	struct queue *queue = &pending->dirty[order];
	uint64_t *seen = &pending->batch.seen[order];
	return *seen < queue->popped + queue_len(queue) ? queue_at(queue, (*seen)++) : NULL;
}

void pending_send(struct pending *pending, struct node *node)
{
	queue_push(&pending->dirty[object_order(node)], node);
}

void pending_remove(struct pending *pending, struct node *node)
{
	queue_push(&pending->going[object_order(node)], node);
}
