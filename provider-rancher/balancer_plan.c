// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/balancer_plan.h"

#include "common/clock.h"
#include "common/must.h"
#include "provider-rancher/balancer_wanted.h"
#include "provider-rancher/registry.h"

static unsigned missing(const struct balancer *balancer)
{
	unsigned needs = inventory_lacks(balancer->context->inventory);
	if (balancer->waits_for_services)
		needs |= PLAN_NEED_SERVICES;
	if (balancer->waits_for_certificates)
		needs |= PLAN_NEED_CERTIFICATES;
	return needs;
}

static void note_settled(struct balancer *balancer)
{
	balancer->was_settled = true;
	balancer->is_drift = balancer->drift_is_read = false;
	balancer->work->waiting_since = 0;
	balancer_recover(balancer);
}

static struct plan plan_for(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	struct work *work = balancer->work;
	double now = clock_monotonic_s();
	if (balancer->object != NULL && !balancer->has_wanted)
		balancer_work_out_wanted(balancer);
	bool is_leaving = false;
	if (balancer->object != NULL && balancer->is_absent && balancer->row == NULL)
		is_leaving = registry_find_leftover(context->registry, balancer);
	if (balancer->row == NULL && work->waiting_since <= 0)
		work->waiting_since = now;
	struct plan_input in = {
		.wanted = balancer_is_described(balancer) ? balancer_wanted(balancer) : NULL,
		.row = balancer->row,
		.missing = missing(balancer),
		.now = now,
		.waiting_since = work->waiting_since,
		.is_fresh = work->fresh != NULL,
		.is_repeat = balancer->is_repeat,
		.must_read = balancer->must_read,
		.is_drift = balancer->is_drift,
		.drift_since = work->drift_since,
		.drift_is_read = balancer->drift_is_read,
		.is_absent = balancer->object != NULL && balancer->is_absent,
		.is_leaving = is_leaving,
		.is_kept = balancer->object != NULL && balancer->is_kept,
		.is_empty = balancer->is_empty,
	};
	return plan_next(&in);
}

enum lb_fsm_event balancer_plan(struct balancer *balancer)
{
	const struct balancer_context *context = balancer->context;
	struct lb_name name;
	struct plan plan = plan_for(balancer);
	/* A later list may have the row that an earlier one missed. */
	if (plan.step == PLAN_CREATE && registry_claim_row(context->registry, balancer))
		plan = plan_for(balancer);
	if (plan.step == PLAN_CREATE && !registry_find_name(context->registry, balancer, &name))
		plan = (struct plan){.step = PLAN_LATER, .delay_s = 1};
	balancer->work->plan = plan;
	balancer->is_settled = plan.is_settled;
	if (plan.needs != 0)
		inventory_need(context->inventory, plan.needs);
	if (plan.is_settled)
		note_settled(balancer);
	balancer_tell(balancer);
	switch (plan.step) {
	case PLAN_NOTHING:
		return LB_EVENT_REST;
	case PLAN_LATER:
		return LB_EVENT_LATER;
	case PLAN_FORGET:
		return LB_EVENT_END;
	case PLAN_CREATE:
	case PLAN_READ:
	case PLAN_UPDATE:
	case PLAN_ACTIVATE:
	case PLAN_REMOVE:
		return LB_EVENT_STEP;
	}
	must(false);
}
