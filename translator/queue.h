// SPDX-License-Identifier: Apache-2.0
/*
 * A queue of nodes, each in it at most once: a flag of the node says that it is queued. So a queue
 * is never longer than the state, however fast changes come.
 */
#pragma once

#include "translator/graph.h"

struct queue {
	uint16_t flag; /* NODE_DIRTY or another of NODE_QUEUED */
	struct node **items;
	size_t first;
	size_t end;
	size_t cap;
	uint64_t popped; /* in total; popped + queue_len() is the place of the next one pushed */
};

void queue_init(struct queue *queue, uint16_t flag);
void queue_fini(struct queue *queue);
/* Does nothing if it is queued already. */
void queue_push(struct queue *queue, struct node *node);
/* NULL if empty. The node's flag is cleared: it may be freed now, see graph_settle(). */
struct node *queue_pop(struct queue *queue);

static inline size_t queue_len(const struct queue *queue)
{
	return queue->end - queue->first;
}

/* The node at a place, counted like `popped`. */
static inline struct node *queue_at(const struct queue *queue, uint64_t place)
{
	return queue->items[queue->first + (size_t)(place - queue->popped)];
}
