// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan.h"

#include "provider-elb/plan_parts.h"

static void take_stock(struct plan_work *work)
{
	const struct observed *observed = work->input->observed;
	struct str lb = naming_tag_value(work->arena, work->input->lb);
	work->balancers.count =
		observed_balancers_of(observed, lb, work->arena, &work->balancers.items);
	work->groups.count = observed_groups_of(observed, lb, work->arena, &work->groups.items);
	work->security_groups.count = observed_security_groups_of(
		observed, lb, work->arena, &work->security_groups.items);
}

/* ---- what is wanted ---- */

/* TAG_APPLIED says that it is as wanted, and nobody doubts it. */
static bool is_trusted(const struct plan_work *work, const struct wanted_balancer *wanted,
	const struct observed_balancer *balancer)
{
	return balancer != NULL && !balancer->has_content && !work->input->is_sweep &&
	       str_eq(str_from(balancer->applied), wanted->digest);
}

static bool plan_content(struct plan_content *content)
{
	return plan_listeners_make(content) || plan_rules_change(content) ||
	       plan_listeners_remove(content);
}

/* *ret_content is empty where none is known. */
static bool plan_present(struct plan_work *work, const struct wanted_balancer *wanted,
	struct plan_content *ret_content)
{
	struct observed_balancer *balancer = plan_balancer_find(work, wanted);
	bool trusted = is_trusted(work, wanted, balancer), is_usable = false;
	if (plan_groups_make(work, wanted))
		return true;
	if (!trusted && plan_security_make(work, wanted))
		return true;
	if (plan_balancer_make(work, wanted, &is_usable))
		return true;
	if (!is_usable)
		return false;
	if (plan_balancer_set_security(work, wanted, balancer))
		return true;
	if (balancer->state == ELB_PROVISIONING)
		plan_wait(work, "the load balancer to become active", 0);
	if (trusted)
		return false;
	if (!balancer->has_content) {
		work->plan->wanted = wanted;
		work->plan->balancer = balancer;
		return plan_do(work, PLAN_READ_LISTENERS);
	}
	plan_content_init(ret_content, work, wanted, balancer);
	return plan_content(ret_content);
}

/* A group that nobody uses yet beside one that serves: whether it can take over. */
static bool plan_proof(struct plan_work *work, const struct plan_content *contents, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct observed_group *group = contents[i].unproven;
		if (group == NULL)
			continue;
		double waited = work->input->now - group->health_read_at;
		if (group->health_read_at <= 0 || waited >= PLAN_HEALTH_EVERY_S) {
			work->plan->wanted = contents[i].wanted;
			work->plan->balancer = contents[i].balancer;
			work->plan->group = group;
			return plan_do(work, PLAN_READ_GROUP_HEALTH);
		}
		plan_look_again(work, PLAN_HEALTH_EVERY_S - waited);
	}
	return false;
}

/* Nobody waits for these, and nothing that is wanted has to be made any more. */
static bool plan_leftovers(
	struct plan_work *work, const struct plan_content *contents, size_t content_count)
{
	const struct wanted *wanted = work->input->wanted;
	bool is_whole = true;
	if (!work->input->may_delete)
		return false;
	for (size_t i = 0; i < wanted->count; i++) {
		if (wanted->balancers[i].listeners.count == 0)
			is_whole = false;
		else if (plan_security_revoke(work, &wanted->balancers[i]))
			return true;
	}
	if (plan_balancers_remove(work))
		return true;
	/* A balancer that is to go may use any of them. */
	if (!is_whole || !plan_balancers_are_wanted(work))
		return false;
	return plan_groups_remove(work, contents, content_count) || plan_security_remove(work);
}

static bool plan_tag(struct plan_work *work)
{
	const struct plan_input *input = work->input;
	/* The next life looks again whether AWS takes what it has refused now. */
	if (work->is_held || input->rules_given_up != 0)
		return false;
	for (size_t i = 0; i < input->wanted->count; i++) {
		const struct wanted_balancer *wanted = &input->wanted->balancers[i];
		struct observed_balancer *balancer = plan_balancer_find(work, wanted);
		if (balancer == NULL || wanted->listeners.count == 0 ||
			str_eq(str_from(balancer->applied), wanted->digest))
			continue;
		double waited = input->settled_since > 0 ? input->now - input->settled_since : 0;
		if (waited < work->input->tag_delay_s) {
			plan_look_again(work, work->input->tag_delay_s - waited);
			continue;
		}
		work->plan->wanted = wanted;
		work->plan->balancer = balancer;
		work->plan->tag_value = wanted->digest;
		return plan_do(work, PLAN_TAG_BALANCER);
	}
	return false;
}

static bool plan_wanted(struct plan_work *work)
{
	const struct wanted *wanted = work->input->wanted;
	struct plan_content *contents = arena_calloc(work->arena, wanted->count, sizeof(*contents));
	size_t content_count = 0;
	for (size_t i = 0; i < wanted->count; i++) {
		struct plan_content *content = &contents[content_count];
		/* What could serve nothing is not made; one that is there stays. */
		if (wanted->balancers[i].listeners.count != 0 &&
			plan_present(work, &wanted->balancers[i], content))
			return true;
		if (wanted->balancers[i].waits_for_certificates)
			plan_wait(work, "the certificates to be imported", 0);
		content_count += content->balancer != NULL;
	}
	if (plan_proof(work, contents, content_count))
		return true;
	if (work->is_waiting)
		return false;
	work->plan->is_settled = true;
	if (wanted->count == 0)
		return false;
	return plan_leftovers(work, contents, content_count) || plan_tag(work);
}

/* ---- all of it ---- */

void plan_next(const struct plan_input *input, struct arena *arena, struct plan *ret_plan)
{
	struct plan plan = {0};
	struct plan_work work = {.input = input, .arena = arena, .plan = &plan};
	bool is_found = false;
	if (input->is_kept) {
		plan.is_settled = true;
	} else {
		take_stock(&work);
		is_found = input->wanted != NULL ? plan_wanted(&work) : plan_removal(&work);
	}
	plan.waits_for = work.waits_for;
	plan.needs_help = work.needs_help;
	if (!is_found && work.delay_s > 0) {
		plan.step = PLAN_LATER;
		plan.delay_s = work.delay_s;
	}
	*ret_plan = plan;
}

struct str plan_subject(const struct plan *plan)
{
	switch (plan->step) {
	case PLAN_CREATE_GROUP:
	case PLAN_MODIFY_GROUP:
	case PLAN_MODIFY_GROUP_ATTRIBUTES:
	case PLAN_TAG_GROUP:
		return plan->wanted_group->name;
	case PLAN_CREATE_BALANCER:
		return plan->wanted->name;
	case PLAN_CREATE_SECURITY_GROUP:
	case PLAN_SET_SECURITY_GROUPS:
		return plan->wanted->identity;
	case PLAN_AUTHORIZE:
	case PLAN_REVOKE:
		return str_from(plan->permission.source);
	case PLAN_CREATE_LISTENER:
	case PLAN_MODIFY_LISTENER:
		return plan->wanted_listener->identity;
	case PLAN_DELETE_LISTENER:
		return plan->listener->arn;
	case PLAN_ADD_CERTIFICATE:
	case PLAN_REMOVE_CERTIFICATE:
		return plan->certificate;
	case PLAN_MODIFY_RULE:
	case PLAN_CREATE_RULE:
		return plan->wanted_rule->identity;
	case PLAN_DELETE_RULE:
		return plan->rule->arn;
	case PLAN_DELETE_BALANCER:
		return str_from(plan->balancer->arn);
	case PLAN_DELETE_GROUP:
		return plan->group->group.arn;
	case PLAN_DELETE_SECURITY_GROUP:
		return str_from(plan->security_group->id);
	case PLAN_NOTHING:
	case PLAN_LATER:
	case PLAN_READ_LISTENERS:
	case PLAN_READ_SECURITY_GROUP:
	case PLAN_READ_GROUP_HEALTH:
	case PLAN_TAG_BALANCER:
	case PLAN_SET_PRIORITIES:
	case PLAN_FORGET:
	case PLAN_STEP_COUNT:
		break;
	}
	return STR_NONE;
}
