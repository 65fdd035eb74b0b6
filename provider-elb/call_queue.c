// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/call_queue.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-elb/call_bucket.h"

#include <math.h>
#include <string.h>

static const double OUTAGE_FIRST_S = 0.25;
static const double OUTAGE_CAP_S = 7.5; /* with the jitter up to 15 s */
static const double RETRY_AFTER_MAX_S = 60;
enum { FAILURES_MAX = 4 };

TAILQ_HEAD(call_list, call_entry);

/* What waits of one class. */
struct lane {
	struct call_bucket bucket;
	struct call_list reads[RANK_COUNT];
	struct call_list writes[RANK_COUNT];
};

struct call_queue {
	struct call_queue_config config;
	bool (*is_open)(void *ctx);
	void *gate_ctx;
	struct lane lanes[CALL_CLASS_COUNT];
	size_t first; /* the class that is asked first for the next turn */
	size_t waiting;
	size_t held;
	uint64_t joined;
	ev_prepare granter; /* grants turns before the loop sleeps */
	ev_timer refill;    /* until the first bucket whose class waits has a token */
	ev_timer pause;
	struct backoff backoff;
	char *reason;                         /* of the outage; NULL: no outage */
	size_t failures;                      /* in a row, of different entries */
	const struct call_entry *failed_last; /* only compared, never dereferenced */
};

/* ---- whose turn it is ---- */

/* How many entries may hold a turn now. */
static size_t limit(struct call_queue *queue)
{
	if (queue->reason == NULL)
		return queue->config.parallel_max;
	return ev_is_active(&queue->pause) ? 0 : 1;
}

/* The first entry of a class, whether the bucket has a token or not; NULL: none. */
static struct call_entry *first_of(const struct lane *lane, bool is_open)
{
	for (size_t rank = 0; rank < RANK_COUNT; rank++) {
		struct call_entry *read = TAILQ_FIRST(&lane->reads[rank]);
		struct call_entry *write = is_open ? TAILQ_FIRST(&lane->writes[rank]) : NULL;
		if (read != NULL && (write == NULL || read->order < write->order))
			return read;
		if (write != NULL)
			return write;
	}
	return NULL;
}

/* The next entry to get a turn. NULL: none now; *ret_wait_s is then when a token comes, or 0 when that is not what is waited for. */
static struct call_entry *next_entry(struct call_queue *queue, double now, double *ret_wait_s)
{
	double soonest_s = INFINITY;
	*ret_wait_s = 0;
	if (queue->waiting == 0 || queue->held >= limit(queue))
		return NULL;
	bool is_open = queue->is_open == NULL || queue->is_open(queue->gate_ctx);
	for (size_t i = 0; i < CALL_CLASS_COUNT; i++) {
		struct lane *lane = &queue->lanes[(queue->first + i) % CALL_CLASS_COUNT];
		struct call_entry *entry = first_of(lane, is_open);
		if (entry == NULL)
			continue;
		double wait_s = call_bucket_wait_s(&lane->bucket, now);
		if (wait_s <= 0)
			return entry;
		soonest_s = fmin(soonest_s, wait_s);
	}
	if (soonest_s < INFINITY)
		*ret_wait_s = soonest_s;
	return NULL;
}

static void unlink_entry(struct call_queue *queue, struct call_entry *entry)
{
	TAILQ_REMOVE(entry->list, entry, link);
	entry->list = NULL;
	entry->is_waiting = false;
	queue->waiting--;
}

static void grant(struct call_queue *queue, struct call_entry *entry, double now)
{
	unlink_entry(queue, entry);
	entry->is_held = true;
	queue->held++;
	queue->first = (entry->waits_in + 1) % CALL_CLASS_COUNT;
	call_bucket_take(&queue->lanes[entry->waits_in].bucket, now);
	entry->on_turn(entry);
}

void call_queue_wake(struct call_queue *queue)
{
	if (queue->waiting != 0)
		ev_prepare_start(queue->config.loop, &queue->granter);
}

static void on_prepare(struct ev_loop *loop, ev_prepare *watcher, int events)
{
	struct call_queue *queue = watcher->data;
	double wait_s = 0;
	double now = clock_monotonic_s();
	struct call_entry *entry;
	ev_prepare_stop(loop, watcher);
	ev_timer_stop(loop, &queue->refill);
	while ((entry = next_entry(queue, now, &wait_s)) != NULL)
		grant(queue, entry, now);
	if (wait_s <= 0)
		return;
	/* The loop's own time may be from before a long callback. */
	ev_now_update(loop);
	ev_timer_set(&queue->refill, wait_s, 0.);
	ev_timer_start(loop, &queue->refill);
}

static void on_refill(struct ev_loop *loop, ev_timer *timer, int events)
{
	call_queue_wake(timer->data);
}

static void on_pause_over(struct ev_loop *loop, ev_timer *timer, int events)
{
	ev_timer_stop(loop, timer);
	call_queue_wake(timer->data);
}

/* ---- how calls end ---- */

static void note_success(struct call_queue *queue)
{
	queue->failures = 0;
	queue->failed_last = NULL;
	if (queue->reason == NULL)
		return;
	free(queue->reason);
	queue->reason = NULL;
	backoff_succeeded(&queue->backoff);
	ev_timer_stop(queue->config.loop, &queue->pause);
	queue->config.on_outage(queue->config.ctx, NULL);
}

static void note_outage(struct call_queue *queue, const char *reason, double at_least_s)
{
	bool is_news = queue->reason == NULL || strcmp(queue->reason, reason) != 0;
	/* Calls in flight when the outage began fail for the same reason: they must not lengthen the pause. */
	if (!ev_is_active(&queue->pause)) {
		double least_s = fmin(at_least_s, RETRY_AFTER_MAX_S);
		queue->pause.repeat = fmax(backoff_next(&queue->backoff), least_s);
		ev_timer_again(queue->config.loop, &queue->pause);
	}
	if (!is_news)
		return;
	free(queue->reason);
	queue->reason = xstrdup(reason);
	queue->config.on_outage(queue->config.ctx, queue->reason);
}

/* Either AWS or the call itself may be the cause. */
static void note_failure(struct call_queue *queue, const struct call_entry *entry,
	const char *reason, double at_least_s)
{
	if (queue->failed_last == entry && queue->reason == NULL)
		return;
	queue->failed_last = entry;
	queue->failures++;
	if (queue->failures >= FAILURES_MAX || queue->reason != NULL)
		note_outage(queue, reason, at_least_s);
}

/* What it says about an outage. */
static void note_outcome(struct call_queue *queue, const struct call_entry *entry,
	enum aws_outcome outcome, const char *reason, double retry_after_s)
{
	if (outcome == AWS_OUTAGE)
		note_outage(queue, reason, retry_after_s);
	else if (outcome == AWS_FAILED)
		note_failure(queue, entry, reason, retry_after_s);
	else
		note_success(queue);
}

void call_queue_done(struct call_queue *queue, struct call_entry *entry, enum aws_outcome outcome,
	const char *reason, double retry_after_s)
{
	struct call_bucket *bucket = &queue->lanes[entry->waits_in].bucket;
	double now = clock_monotonic_s();
	must(entry->is_held);
	entry->is_held = false;
	queue->held--;
	if (outcome == AWS_THROTTLED)
		call_bucket_throttled(bucket, retry_after_s, now);
	else if (outcome != AWS_OUTAGE && outcome != AWS_FAILED)
		call_bucket_succeeded(bucket, now);
	if (entry->waits_in != CALL_DNS)
		note_outcome(queue, entry, outcome, reason, retry_after_s);
	call_queue_wake(queue);
}

void call_queue_retry_now(struct call_queue *queue)
{
	ev_timer_stop(queue->config.loop, &queue->pause);
	call_queue_wake(queue);
}

/* ---- joining and leaving ---- */

void call_queue_join(struct call_queue *queue, struct call_entry *entry)
{
	struct lane *lane = &queue->lanes[entry->bucket];
	if (entry->is_held || (entry->is_waiting && entry->rank >= entry->waits_as))
		return;
	if (entry->is_waiting)
		unlink_entry(queue, entry);
	entry->order = queue->joined++;
	entry->waits_in = entry->bucket;
	entry->waits_as = entry->rank;
	entry->list = entry->is_write ? &lane->writes[entry->rank] : &lane->reads[entry->rank];
	entry->is_waiting = true;
	queue->waiting++;
	TAILQ_INSERT_TAIL(entry->list, entry, link);
	call_queue_wake(queue);
}

void call_queue_leave(struct call_queue *queue, struct call_entry *entry)
{
	if (entry->is_waiting)
		unlink_entry(queue, entry);
	if (entry->is_held) {
		entry->is_held = false;
		queue->held--;
		call_bucket_return(&queue->lanes[entry->waits_in].bucket);
	}
	call_queue_wake(queue);
}

/* ---- the queue ---- */

struct call_queue *call_queue_new(const struct call_queue_config *config)
{
	struct call_queue *queue = xcalloc(1, sizeof(*queue));
	double now = clock_monotonic_s();
	queue->config = *config;
	for (size_t i = 0; i < CALL_CLASS_COUNT; i++) {
		struct lane *lane = &queue->lanes[i];
		call_bucket_init(
			&lane->bucket, config->rates[i].per_s, config->rates[i].burst, now);
		for (size_t rank = 0; rank < RANK_COUNT; rank++) {
			TAILQ_INIT(&lane->reads[rank]);
			TAILQ_INIT(&lane->writes[rank]);
		}
	}
	ev_prepare_init(&queue->granter, on_prepare);
	queue->granter.data = queue;
	ev_init(&queue->refill, on_refill);
	queue->refill.data = queue;
	ev_init(&queue->pause, on_pause_over);
	queue->pause.data = queue;
	backoff_init(&queue->backoff, OUTAGE_FIRST_S, OUTAGE_CAP_S);
	return queue;
}

void call_queue_free(struct call_queue *queue)
{
	if (queue == NULL)
		return;
	must(queue->waiting == 0 && queue->held == 0);
	ev_prepare_stop(queue->config.loop, &queue->granter);
	ev_timer_stop(queue->config.loop, &queue->refill);
	ev_timer_stop(queue->config.loop, &queue->pause);
	free(queue->reason);
	free(queue);
}

void call_queue_set_gate(struct call_queue *queue, bool (*is_open)(void *ctx), void *ctx)
{
	queue->is_open = is_open;
	queue->gate_ctx = ctx;
}

size_t call_queue_waiting(const struct call_queue *queue)
{
	return queue->waiting;
}

const char *call_queue_outage_reason(const struct call_queue *queue)
{
	return queue->reason;
}

double call_queue_rate(struct call_queue *queue, enum call_class bucket)
{
	return call_bucket_rate(&queue->lanes[bucket].bucket, clock_monotonic_s());
}
