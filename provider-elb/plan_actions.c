// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include "provider-elb/compare.h"

#include <stdlib.h>

enum { FORWARDS_MAX = 5 }; /* groups of one action */

/* It can take over at once: it has shown a healthy target, or never will. */
static bool is_proven(const struct plan_content *content, const struct observed_group *group)
{
	const struct plan_use *use = plan_content_find_use(content, group->group.name);
	double now = content->work->input->now;
	if (group->is_proven || (use != NULL && use->is_alone))
		return true;
	if (group->has_targets && group->targets.count == 0)
		return true;
	return group->attached_at > 0 && now - group->attached_at >= PLAN_PROOF_MAX_S;
}

static bool can_serve(const struct plan_content *content, struct str name)
{
	const struct observed_group *group =
		observed_find_group_name(content->work->input->observed, name);
	return group != NULL && (!group->has_targets || group->targets.count != 0);
}

static int forward_cmp(const void *left, const void *right)
{
	const struct elb_forward *a = left, *b = right;
	return str_cmp(a->group, b->group);
}

/* What serves now, with the new group beside it, which gets no requests yet; NULL: nothing serves. */
static const struct elb_action *beside(
	struct plan_content *content, const struct elb_action *read, struct str group)
{
	struct elb_action *action = arena_alloc(content->work->arena, sizeof(*action));
	action->type = ELB_FORWARD;
	action->groups.items =
		arena_calloc(content->work->arena, FORWARDS_MAX, sizeof(struct elb_forward));
	for (size_t i = 0; i < read->groups.count; i++) {
		struct elb_forward forward = read->groups.items[i];
		if (read->groups.count == 1)
			forward.weight = 1;
		if (forward.weight == 0 || str_eq(forward.group, group) ||
			!can_serve(content, forward.group))
			continue;
		if (action->groups.count + 1 < FORWARDS_MAX)
			action->groups.items[action->groups.count++] = forward;
	}
	if (action->groups.count == 0)
		return NULL;
	action->groups.items[action->groups.count++] = (struct elb_forward){.group = group};
	qsort(action->groups.items, action->groups.count, sizeof(struct elb_forward), forward_cmp);
	return action;
}

/* Whether rules may lead to all groups. */
static enum plan_action_state check_groups(
	struct plan_content *content, const struct elb_action *wanted)
{
	struct plan_work *work = content->work;
	for (size_t i = 0; i < wanted->groups.count; i++) {
		struct str name = wanted->groups.items[i].group;
		const struct observed_group *group =
			observed_find_group_name(work->input->observed, name);
		if (group == NULL && plan_is_held(work, name))
			return ACTION_HELD;
		if (group == NULL || !group->is_supplied) {
			content->is_awaiting |= group == NULL || !group->is_refused;
			plan_wait(work, "the endpoints to be registered", PLAN_SUPPLY_WAIT_S);
			return ACTION_BLOCKED;
		}
	}
	return ACTION_SEND;
}

/* Only application load balancers know weights for sure. Nothing has to be proven where no group serves now. */
static bool is_move(const struct plan_content *content, const struct elb_action *wanted,
	const struct elb_action *read)
{
	return read != NULL && read->type == ELB_FORWARD && wanted->groups.count == 1 &&
	       content->wanted->type == ELB_APPLICATION;
}

enum plan_action_state plan_action(struct plan_content *content, const struct elb_action *wanted,
	const struct elb_action *read, const struct elb_action **ret_action)
{
	if (read != NULL && compare_action(wanted, read))
		return ACTION_AS_WANTED;
	*ret_action = wanted;
	if (wanted->type != ELB_FORWARD)
		return ACTION_SEND;
	enum plan_action_state state = check_groups(content, wanted);
	if (state != ACTION_SEND || !is_move(content, wanted, read))
		return state;
	struct observed_group *group = observed_find_group_name(
		content->work->input->observed, wanted->groups.items[0].group);
	if (is_proven(content, group))
		return ACTION_SEND;
	const struct elb_action *step = beside(content, read, group->group.name);
	if (step == NULL)
		return ACTION_SEND;
	if (compare_action(step, read)) {
		if (content->unproven == NULL ||
			group->health_read_at < content->unproven->health_read_at)
			content->unproven = group;
		plan_wait(content->work, "a healthy target of the new group", 0);
		return ACTION_BLOCKED;
	}
	*ret_action = step;
	return ACTION_SEND;
}
