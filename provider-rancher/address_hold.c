// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/address_hold.h"

#include "common/clock.h"
#include "common/xalloc.h"

TAILQ_HEAD(shown_list, shown);

struct address_hold {
	struct ev_loop *loop;
	double hold_s;
	void (*on_over)(void *ctx, struct shown *shown, bool warn);
	void *ctx;
	struct shown_list held; /* in the order in which they expire */
	ev_timer timer;
};

static void set_timer(struct address_hold *hold)
{
	const struct shown *next = TAILQ_FIRST(&hold->held);
	ev_timer_stop(hold->loop, &hold->timer);
	if (next == NULL)
		return;
	double left_s = next->none_since + hold->hold_s - clock_monotonic_s();
	ev_timer_set(&hold->timer, left_s > 0 ? left_s : 0, 0.);
	ev_timer_start(hold->loop, &hold->timer);
}

void address_hold_begin(struct address_hold *hold, struct shown *shown)
{
	if (shown->is_held)
		return;
	shown->is_held = true;
	TAILQ_INSERT_TAIL(&hold->held, shown, held);
	set_timer(hold);
}

void address_hold_end(struct address_hold *hold, struct shown *shown)
{
	if (!shown->is_held)
		return;
	shown->is_held = false;
	TAILQ_REMOVE(&hold->held, shown, held);
	set_timer(hold);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct address_hold *hold = timer->data;
	struct shown *shown;
	while ((shown = TAILQ_FIRST(&hold->held)) != NULL) {
		bool warn = false;
		/* The timer may fire early by a rounding error. */
		double now = clock_monotonic_s() + 0.001;
		if (now - shown->none_since < hold->hold_s)
			break;
		address_hold_end(hold, shown);
		if (shown_expire(shown, now, hold->hold_s, &warn))
			hold->on_over(hold->ctx, shown, warn);
	}
	set_timer(hold);
}

/* ---- lifecycle ---- */

struct address_hold *address_hold_new(struct ev_loop *loop, double hold_s,
	void (*on_over)(void *ctx, struct shown *shown, bool warn), void *ctx)
{
	struct address_hold *hold = xcalloc(1, sizeof(*hold));
	hold->loop = loop;
	hold->hold_s = hold_s;
	hold->on_over = on_over;
	hold->ctx = ctx;
	TAILQ_INIT(&hold->held);
	ev_init(&hold->timer, on_timer);
	hold->timer.data = hold;
	return hold;
}

void address_hold_free(struct address_hold *hold)
{
	if (hold == NULL)
		return;
	ev_timer_stop(hold->loop, &hold->timer);
	free(hold);
}
