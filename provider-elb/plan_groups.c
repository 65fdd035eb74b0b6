// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include "provider-elb/compare.h"

#include <stdlib.h>

static bool write(struct plan_work *work, const struct elb_group *wanted,
	struct observed_group *group, enum plan_step step)
{
	work->plan->group = group;
	work->plan->wanted_group = wanted;
	return plan_do(work, step);
}

static bool tag(struct plan_work *work, const struct elb_group *wanted,
	struct observed_group *group, struct str value)
{
	if (plan_is_held(work, group->group.arn))
		return false;
	work->plan->tag_value = value;
	return write(work, wanted, group, PLAN_TAG_GROUP);
}

/* Attributes cannot be read with the rest. A group has its tag from the start, and nothing leads to it before they are set: one that is in use has what the
 * tag says. */
static bool has_attributes(const struct elb_group *wanted, const struct observed_group *group)
{
	return group->balancer_arn != NULL || compare_attributes(wanted, &group->group);
}

/* A group that is there: its settings, which TAG_APPLIED brackets as it does those of a balancer. */
static bool change(
	struct plan_work *work, const struct elb_group *wanted, struct observed_group *group)
{
	const struct elb_group *known = &group->group;
	bool is_told = str_eq(known->applied, wanted->applied);
	bool is_health_check_same =
		compare_health_check(&wanted->health_check, &known->health_check);
	bool is_attributes_same = !is_told || has_attributes(wanted, group);
	if (is_told && is_attributes_same && (!work->input->is_sweep || is_health_check_same))
		return false;
	/* Refused attributes: the tag must not say that it has them once something leads to it. */
	if (plan_is_held(work, wanted->name))
		return !is_attributes_same && tag(work, wanted, group, STR(TAG_CHANGING));
	if (!str_is_empty(known->applied) && !str_eq_c(known->applied, TAG_CHANGING) &&
		is_attributes_same)
		return tag(work, wanted, group, STR(TAG_CHANGING));
	if (!is_health_check_same)
		return write(work, wanted, group, PLAN_MODIFY_GROUP);
	if (!compare_attributes(wanted, known))
		return write(work, wanted, group, PLAN_MODIFY_GROUP_ATTRIBUTES);
	return tag(work, wanted, group, wanted->applied);
}

bool plan_groups_make(struct plan_work *work, const struct wanted_balancer *wanted)
{
	work->plan->wanted = wanted;
	for (size_t i = 0; i < wanted->groups.count; i++) {
		const struct elb_group *group = &wanted->groups.items[i];
		struct observed_group *known =
			observed_find_group_name(work->input->observed, group->name);
		if (known != NULL) {
			if (change(work, group, known))
				return true;
		} else if (!plan_is_held(work, group->name)) {
			work->plan->wanted_group = group;
			return plan_do(work, PLAN_CREATE_GROUP);
		}
	}
	work->plan->wanted = NULL;
	return false;
}

static int name_cmp(const void *left, const void *right)
{
	const struct str *name = left;
	const struct elb_group *group = right;
	return str_cmp(*name, group->name);
}

static bool is_wanted(const struct wanted *wanted, struct str name)
{
	for (size_t i = 0; i < wanted->count; i++) {
		const struct wanted_balancer *balancer = &wanted->balancers[i];
		if (balancer->groups.count != 0 &&
			bsearch(&name, balancer->groups.items, balancer->groups.count,
				sizeof(struct elb_group), name_cmp) != NULL)
			return true;
	}
	return false;
}

bool plan_groups_remove(
	struct plan_work *work, const struct plan_content *contents, size_t content_count)
{
	for (size_t i = 0; i < work->groups.count; i++) {
		struct observed_group *group = work->groups.items[i];
		bool is_used = is_wanted(work->input->wanted, group->group.name);
		for (size_t j = 0; j < content_count && !is_used; j++)
			is_used = plan_content_find_use(&contents[j], group->group.name) != NULL;
		if (is_used || plan_is_held(work, group->group.arn))
			continue;
		work->plan->group = group;
		return plan_do(work, PLAN_DELETE_GROUP);
	}
	return false;
}
