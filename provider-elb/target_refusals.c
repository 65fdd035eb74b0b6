// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/target_refusals.h"

#include <stdlib.h>

static const double REFUSED_S = 300;

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct target_refusals *refusals = timer->data;
	target_refusals_forget(refusals);
	refusals->on_over(refusals->ctx);
}

void target_refusals_init(struct target_refusals *refusals, struct ev_loop *loop,
	void (*on_over)(void *ctx), void *ctx)
{
	*refusals = (struct target_refusals){.loop = loop, .on_over = on_over, .ctx = ctx};
	ev_init(&refusals->over, on_timer);
	refusals->over.data = refusals;
}

void target_refusals_forget(struct target_refusals *refusals)
{
	ev_timer_stop(refusals->loop, &refusals->over);
	targets_fini(&refusals->list);
	str_set(&refusals->reason, STR_NONE);
}

void target_refusals_add(
	struct target_refusals *refusals, const struct elb_target_list *targets, struct str reason)
{
	targets_add(&refusals->list, targets);
	str_set(&refusals->reason, reason);
	if (ev_is_active(&refusals->over))
		return;
	ev_timer_set(&refusals->over, REFUSED_S, 0.);
	ev_timer_start(refusals->loop, &refusals->over);
}

void target_refusals_keep(struct target_refusals *refusals, const struct elb_target_list *wanted)
{
	targets_keep(&refusals->list, wanted);
	if (refusals->list.count == 0)
		target_refusals_forget(refusals);
}
