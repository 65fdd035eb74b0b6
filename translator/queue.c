// SPDX-License-Identifier: Apache-2.0
#include "translator/queue.h"

#include "common/xalloc.h"

#include <string.h>

enum { QUEUE_FIRST_CAP = 64 };

void queue_init(struct queue *queue, uint16_t flag)
{
	*queue = (struct queue){.flag = flag};
}

void queue_fini(struct queue *queue)
{
	free(queue->items);
	*queue = (struct queue){.flag = queue->flag};
}

static void make_room(struct queue *queue)
{
	size_t len = queue_len(queue);
	if (queue->first >= queue->cap / 2 && queue->cap != 0) {
		memmove(queue->items, queue->items + queue->first, len * sizeof(*queue->items));
	} else {
		queue->cap = queue->cap != 0 ? queue->cap * 2 : QUEUE_FIRST_CAP;
		struct node **items = xcalloc(queue->cap, sizeof(*items));
		if (len != 0)
			memcpy(items, queue->items + queue->first, len * sizeof(*items));
		free(queue->items);
		queue->items = items;
	}
	queue->first = 0;
	queue->end = len;
}

void queue_push(struct queue *queue, struct node *node)
{
	if ((node->flags & queue->flag) != 0)
		return;
	if (queue->end == queue->cap)
		make_room(queue);
	node->flags |= queue->flag;
	queue->items[queue->end++] = node;
}

struct node *queue_pop(struct queue *queue)
{
	if (queue_len(queue) == 0)
		return NULL;
	struct node *node = queue->items[queue->first++];
	node->flags &= (uint16_t)~queue->flag;
	queue->popped++;
	if (queue_len(queue) == 0) {
		queue->first = queue->end = 0;
		/* Memory that a burst needed is freed. */
		if (queue->cap > QUEUE_FIRST_CAP) {
			free(queue->items);
			queue->items = NULL;
			queue->cap = 0;
		}
	}
	return node;
}
