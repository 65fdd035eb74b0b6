// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

static bool remove_balancers(struct plan_work *work)
{
	for (size_t i = 0; i < work->balancers.count; i++) {
		struct observed_balancer *balancer = work->balancers.items[i];
		if (!balancer->is_leaving && plan_delete_balancer(work, balancer))
			return true;
	}
	for (size_t i = 0; i < work->balancers.count; i++) {
		const struct observed_balancer *balancer = work->balancers.items[i];
		if (balancer->is_leaving)
			plan_wait(work, "the load balancer to disappear", PLAN_DISAPPEAR_WAIT_S);
		else if (balancer->is_protected)
			plan_wait_for_help(work, "its deletion protection to be switched off",
				PLAN_PROTECTED_WAIT_S);
	}
	return false;
}

static bool remove_groups(struct plan_work *work)
{
	for (size_t i = 0; i < work->groups.count; i++) {
		if (plan_is_held(work, work->groups.items[i]->group.arn))
			continue;
		work->plan->group = work->groups.items[i];
		return plan_do(work, PLAN_DELETE_GROUP);
	}
	return false;
}

static bool remove_security_groups(struct plan_work *work)
{
	for (size_t i = 0; i < work->security_groups.count; i++) {
		if (plan_is_held(work, str_from(work->security_groups.items[i]->id)))
			continue;
		work->plan->security_group = work->security_groups.items[i];
		return plan_do(work, PLAN_DELETE_SECURITY_GROUP);
	}
	return false;
}

bool plan_removal(struct plan_work *work)
{
	if (work->balancers.count + work->groups.count + work->security_groups.count == 0) {
		/* An object that says `absent` stays known: it has to be told that it is gone. */
		work->plan->is_settled = true;
		return work->input->object == NULL && plan_do(work, PLAN_FORGET);
	}
	if (!plan_may_delete(work))
		return false;
	if (remove_balancers(work))
		return true;
	/* A group cannot go while a balancer uses it, nor a security group. */
	if (work->balancers.count == 0 && (remove_groups(work) || remove_security_groups(work)))
		return true;
	plan_wait(work, "AWS to let go of what is left", 0);
	return false;
}
