// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/request_queue.h"

#include "common/backoff.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <string.h>

static const double OUTAGE_FIRST_S = 0.25;
static const double OUTAGE_CAP_S = 7.5; /* with the jitter up to 15 s */
enum { FAILURES_MAX = 4 };

TAILQ_HEAD(entry_list, queue_entry);

struct request_queue {
	struct ev_loop *loop;
	void (*on_outage)(void *ctx, const char *reason);
	void *ctx;
	bool (*is_open)(void *ctx);
	void *gate_ctx;
	size_t max;
	size_t held;
	struct entry_list reads;
	struct entry_list writes;
	ev_prepare granter; /* grants turns before the loop sleeps */
	ev_timer pause;
	struct backoff backoff;
	char *reason;                          /* of the outage; NULL: no outage */
	size_t failures;                       /* in a row, of different entries */
	const struct queue_entry *failed_last; /* only compared, never dereferenced */
};

/* How many entries may hold a turn now. */
static size_t limit(struct request_queue *queue)
{
	if (queue->reason == NULL)
		return queue->max;
	return ev_is_active(&queue->pause) ? 0 : 1;
}

/* The next entry to get a turn; NULL: none. */
static struct queue_entry *next_entry(struct request_queue *queue)
{
	if (queue->held >= limit(queue))
		return NULL;
	struct queue_entry *entry = TAILQ_FIRST(&queue->reads);
	if (entry == NULL && (queue->is_open == NULL || queue->is_open(queue->gate_ctx)))
		entry = TAILQ_FIRST(&queue->writes);
	return entry;
}

static struct entry_list *list_of(struct request_queue *queue, const struct queue_entry *entry)
{
	return entry->is_read ? &queue->reads : &queue->writes;
}

void request_queue_wake(struct request_queue *queue)
{
	if (next_entry(queue) != NULL)
		ev_prepare_start(queue->loop, &queue->granter);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct request_queue *queue = watcher->data;
	struct queue_entry *entry;
	ev_prepare_stop(loop, watcher);
	while ((entry = next_entry(queue)) != NULL) {
		TAILQ_REMOVE(list_of(queue, entry), entry, link);
		entry->is_waiting = false;
		entry->is_held = true;
		queue->held++;
		entry->on_turn(entry);
	}
}

static void on_pause_over(struct ev_loop *loop, ev_timer *timer, int events)
{
	ev_timer_stop(loop, timer);
	request_queue_wake(timer->data);
}

struct request_queue *request_queue_new(struct ev_loop *loop, size_t max,
	void (*on_outage)(void *ctx, const char *reason), void *ctx)
{
	struct request_queue *queue = xcalloc(1, sizeof(*queue));
	queue->loop = loop;
	queue->max = max;
	queue->on_outage = on_outage;
	queue->ctx = ctx;
	TAILQ_INIT(&queue->reads);
	TAILQ_INIT(&queue->writes);
	ev_prepare_init(&queue->granter, on_prepare);
	queue->granter.data = queue;
	ev_init(&queue->pause, on_pause_over);
	queue->pause.data = queue;
	backoff_init(&queue->backoff, OUTAGE_FIRST_S, OUTAGE_CAP_S);
	return queue;
}

void request_queue_set_gate(struct request_queue *queue, bool (*is_open)(void *ctx), void *ctx)
{
	queue->is_open = is_open;
	queue->gate_ctx = ctx;
}

void request_queue_free(struct request_queue *queue)
{
	if (queue == NULL)
		return;
	must(TAILQ_EMPTY(&queue->reads) && TAILQ_EMPTY(&queue->writes) && queue->held == 0);
	ev_prepare_stop(queue->loop, &queue->granter);
	ev_timer_stop(queue->loop, &queue->pause);
	free(queue->reason);
	free(queue);
}

void request_queue_join(struct request_queue *queue, struct queue_entry *entry, bool first)
{
	must(!entry->is_waiting && !entry->is_held);
	entry->is_waiting = true;
	if (first)
		TAILQ_INSERT_HEAD(list_of(queue, entry), entry, link);
	else
		TAILQ_INSERT_TAIL(list_of(queue, entry), entry, link);
	request_queue_wake(queue);
}

void request_queue_leave(struct request_queue *queue, struct queue_entry *entry)
{
	if (entry->is_waiting)
		TAILQ_REMOVE(list_of(queue, entry), entry, link);
	if (entry->is_held)
		queue->held--;
	entry->is_waiting = entry->is_held = false;
	request_queue_wake(queue);
}

void request_queue_on_success(struct request_queue *queue)
{
	queue->failures = 0;
	queue->failed_last = NULL;
	if (queue->reason == NULL)
		return;
	free(queue->reason);
	queue->reason = NULL;
	backoff_succeeded(&queue->backoff);
	ev_timer_stop(queue->loop, &queue->pause);
	request_queue_wake(queue);
	queue->on_outage(queue->ctx, NULL);
}

void request_queue_on_outage(struct request_queue *queue, const char *reason, double at_least_s)
{
	bool is_news = queue->reason == NULL || strcmp(queue->reason, reason) != 0;
	/* Requests in flight when the outage began fail for the same reason: they must not lengthen the pause. */
	if (!ev_is_active(&queue->pause)) {
		double delay_s = backoff_next(&queue->backoff);
		queue->pause.repeat = delay_s > at_least_s ? delay_s : at_least_s;
		ev_timer_again(queue->loop, &queue->pause);
	}
	if (!is_news)
		return;
	free(queue->reason);
	queue->reason = xstrdup(reason);
	queue->on_outage(queue->ctx, queue->reason);
}

void request_queue_on_failure(
	struct request_queue *queue, const struct queue_entry *entry, const char *reason)
{
	if (queue->failed_last == entry)
		return;
	queue->failed_last = entry;
	queue->failures++;
	if (queue->failures >= FAILURES_MAX || queue->reason != NULL)
		request_queue_on_outage(queue, reason, 0);
}

void request_queue_retry_now(struct request_queue *queue)
{
	ev_timer_stop(queue->loop, &queue->pause);
	request_queue_wake(queue);
}

size_t request_queue_waiting(const struct request_queue *queue)
{
	size_t count = 0;
	const struct queue_entry *entry;
	TAILQ_FOREACH (entry, &queue->reads, link)
		count++;
	TAILQ_FOREACH (entry, &queue->writes, link)
		count++;
	return count;
}

const char *request_queue_outage_reason(const struct request_queue *queue)
{
	return queue->reason;
}
