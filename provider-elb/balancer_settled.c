// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/balancer_settled.h"

#include "common/clock.h"

/* A sweep reads what was seen to be as wanted: it is told as that until a difference is found. */
static bool is_inspecting(const struct balancer *balancer)
{
	enum plan_step step = balancer->plan.step;
	return balancer->is_sweep &&
	       (step == PLAN_READ_LISTENERS || step == PLAN_READ_SECURITY_GROUP);
}

void balancer_note_settled(struct balancer *balancer)
{
	const struct failure *failure = &balancer->failure;
	if (is_inspecting(balancer))
		return;
	if (balancer->plan.is_settled)
		balancer->is_sweep = false;
	bool is_settled = balancer->plan.is_settled && balancer->has_wanted &&
			  (failure->outcome == AWS_OK || failure->is_cleanup);
	for (size_t i = 0; is_settled && i < balancer->sync_count; i++)
		is_settled = target_sync_is_settled(balancer->syncs[i]);
	if (!balancer->plan.is_settled)
		balancer->settled_since = 0;
	else if (balancer->settled_since == 0)
		balancer->settled_since = clock_monotonic_s();
	balancer->is_settled = is_settled;
}

static bool has_name(const struct balancer *balancer, const struct observed_balancer *observed)
{
	for (size_t i = 0; i < balancer->wanted.count; i++) {
		if (str_eq_c(balancer->wanted.balancers[i].name, observed->name))
			return true;
	}
	return false;
}

void balancer_note_replaced(struct balancer *balancer)
{
	struct observed_balancer **all = NULL;
	size_t count = observed_balancers_of(
		balancer->context->observed, str_from(balancer->lb), &balancer->step_arena, &all);
	for (size_t i = 0; i < count; i++) {
		if (has_name(balancer, all[i]) || balancer->wanted.count == 0)
			all[i]->replaced_at = 0;
		else if (balancer->is_settled && all[i]->replaced_at == 0)
			all[i]->replaced_at = clock_monotonic_s();
	}
}
