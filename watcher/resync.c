// SPDX-License-Identifier: Apache-2.0
#include "watcher/resync.h"

#include "common/backoff.h"

static const double JITTER = 0.25;

static void schedule(struct resync *resync)
{
	double jitter = 1.0 + JITTER * (2.0 * backoff_random() - 1.0);
	double after_s = resync->is_unsure ? RESYNC_SECOND_LIST_S : resync->period_s * jitter;
	ev_timer_stop(resync->loop, &resync->timer);
	if (after_s <= 0)
		return;
	ev_timer_set(&resync->timer, after_s, 0.);
	ev_timer_start(resync->loop, &resync->timer);
}

/* Repeats the request until a list has come: in some states none can be started. */
static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct resync *resync = timer->data;
	schedule(resync);
	resync->on_due(resync->ctx);
}

void resync_start(struct resync *resync, struct ev_loop *loop, double period_s,
	void (*on_due)(void *ctx), void *ctx)
{
	*resync = (struct resync){.loop = loop, .period_s = period_s, .on_due = on_due, .ctx = ctx};
	ev_init(&resync->timer, on_timer);
	resync->timer.data = resync;
	schedule(resync);
}

void resync_stop(struct resync *resync)
{
	ev_timer_stop(resync->loop, &resync->timer);
}

void resync_listed(struct resync *resync, size_t missed)
{
	if (missed == 0 && !resync->is_unsure)
		return;
	resync->is_unsure = missed != 0;
	schedule(resync);
}
