// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

struct observed_balancer *plan_balancer_find(
	const struct plan_work *work, const struct wanted_balancer *wanted)
{
	for (size_t i = 0; i < work->balancers.count; i++) {
		if (str_eq(str_from(work->balancers.items[i]->name), wanted->name))
			return work->balancers.items[i];
	}
	return NULL;
}

static bool create(struct plan_work *work, const struct wanted_balancer *wanted)
{
	struct plan *plan = work->plan;
	/* Nothing serves in the place of what it would replace. */
	if (plan_is_held(work, wanted->name)) {
		plan_wait(work, "AWS to accept the load balancer", 0);
		return false;
	}
	if (work->input->network->subnets.count == 0) {
		plan_wait(work, "subnets for the load balancer", 0);
		return false;
	}
	if (!plan_security_groups(work, wanted, &plan->security_groups)) {
		plan_wait(work, "its security group", 0);
		return false;
	}
	plan->wanted = wanted;
	return plan_do(work, PLAN_CREATE_BALANCER);
}

bool plan_balancer_make(
	struct plan_work *work, const struct wanted_balancer *wanted, bool *ret_is_usable)
{
	struct observed_balancer *balancer = plan_balancer_find(work, wanted);
	*ret_is_usable = false;
	if (balancer == NULL)
		return create(work, wanted);
	if (balancer->is_leaving) {
		plan_wait(work, "the load balancer to disappear", PLAN_DISAPPEAR_WAIT_S);
		return false;
	}
	if (balancer->state == ELB_FAILED) {
		double since = work->input->failed_since;
		double waited = since > 0 ? work->input->now - since : 0;
		if (waited < PLAN_FAILED_WAIT_S) {
			plan_wait_for_help(work, "the failed load balancer to be made anew",
				PLAN_FAILED_WAIT_S - waited);
			return false;
		}
		plan_wait(work, "the failed load balancer to be deleted", 0);
		return plan_may_delete(work) && plan_delete_balancer(work, balancer);
	}
	*ret_is_usable = true;
	return false;
}

bool plan_balancer_set_security(struct plan_work *work, const struct wanted_balancer *wanted,
	struct observed_balancer *balancer)
{
	struct str_list ids;
	if ((balancer->type == ELB_NETWORK && balancer->security_groups.count == 0) ||
		!plan_security_groups(work, wanted, &ids) ||
		str_list_eq(&ids, &balancer->security_groups) ||
		plan_is_held(work, wanted->identity))
		return false;
	work->plan->wanted = wanted;
	work->plan->balancer = balancer;
	work->plan->security_groups = ids;
	return plan_do(work, PLAN_SET_SECURITY_GROUPS);
}

/* By name. */
static bool is_wanted(const struct plan_work *work, const struct observed_balancer *balancer)
{
	const struct wanted *wanted = work->input->wanted;
	for (size_t i = 0; i < wanted->count; i++) {
		if (str_eq(str_from(balancer->name), wanted->balancers[i].name))
			return true;
	}
	return false;
}

bool plan_balancers_are_wanted(const struct plan_work *work)
{
	for (size_t i = 0; i < work->balancers.count; i++) {
		if (!is_wanted(work, work->balancers.items[i]))
			return false;
	}
	return true;
}

/* False: it is to stay for now. */
static bool may_go(struct plan_work *work, const struct observed_balancer *balancer)
{
	const struct wanted *wanted = work->input->wanted;
	const struct wanted_balancer *successor = NULL;
	for (size_t i = 0; i < wanted->count; i++) {
		if (wanted->balancers[i].type == balancer->type)
			successor = &wanted->balancers[i];
	}
	if (is_wanted(work, balancer))
		return false;
	if (balancer->is_leaving) {
		plan_look_again(work, PLAN_DISAPPEAR_WAIT_S);
		return false;
	}
	if (successor == NULL)
		return true;
	if (successor->listeners.count == 0)
		return false; /* it is all that serves */
	double since = balancer->replaced_at > 0 ? balancer->replaced_at : work->input->now;
	double left = since + work->input->replace_delay_s - work->input->now;
	if (balancer->replaced_at > 0 && left <= 0)
		return true;
	plan_look_again(work, left > 0 ? left : 1);
	return false;
}

bool plan_balancers_remove(struct plan_work *work)
{
	/* What is refused to the successor may be what the old one still does. */
	if (work->is_held)
		return false;
	for (size_t i = 0; i < work->balancers.count; i++) {
		struct observed_balancer *balancer = work->balancers.items[i];
		if (may_go(work, balancer) && plan_delete_balancer(work, balancer))
			return true;
	}
	return false;
}
