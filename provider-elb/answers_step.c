// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/answers.h"
#include "provider-elb/observed_texts.h"

#include <errno.h>
#include <stdlib.h>

/* ---- target groups ---- */

static int group_made(const struct xml *xml, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	const struct xml *made = answers_members(answers_result(xml), "TargetGroups");
	struct observed *observed = input->observed;
	struct str arn = answers_arn(made, "TargetGroupArn");
	if (arn.p == NULL)
		return -EBADMSG;
	bool is_new = observed_find_group(observed, arn) == NULL;
	struct observed_group *group =
		observed_add_group(observed, arn, naming_tag_value(arena, input->lb));
	answers_take_group(made, observed, group);
	observed_set_group_name(observed, group, plan->wanted_group->name);
	observed_set_text(&group->group.identity, plan->wanted_group->identity);
	observed_see_new(observed, &group->seen_in);
	/* A create with the settings of what is there already succeeds and returns that. If the list of the tagging API had not noticed it yet, it
	 * may have targets; what is in use surely has. */
	if (is_new && group->balancer_arn == NULL)
		group->has_targets = true;
	return 0;
}

static void group_changed(const struct plan_input *input, const struct plan *plan)
{
	struct observed_group *group = plan->group;
	if (plan->step == PLAN_MODIFY_GROUP)
		observed_set_health_check(
			&group->group.health_check, &plan->wanted_group->health_check);
	else if (plan->step == PLAN_MODIFY_GROUP_ATTRIBUTES)
		observed_set_attributes(group, plan->wanted_group);
	else if (plan->step == PLAN_TAG_GROUP)
		observed_set_text(&group->group.applied, plan->tag_value);
	else
		observed_forget_group(input->observed, group);
}

static void health_read(
	const struct xml *xml, const struct plan_input *input, struct observed_group *group)
{
	/* After a restart nobody knows since when. */
	if (group->balancer_arn != NULL && group->attached_at <= 0)
		group->attached_at = input->now;
	group->health_read_at = input->now;
	/* The list is that of when it was asked for: what was registered meanwhile is known better. */
	enum requests_health health =
		group->has_targets ? answers_health_only(xml) : answers_health(xml, group);
	if (health == HEALTH_HEALTHY)
		group->is_proven = true;
}

/* ---- security groups ---- */

static int security_group_made(const struct xml *xml, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	struct observed *observed = input->observed;
	struct str id = answers_text(xml, "groupId");
	if (str_is_empty(id))
		return -EBADMSG;
	struct observed_security_group *group =
		observed_add_security_group(observed, id, naming_tag_value(arena, input->lb));
	observed_set_security_group_name(observed, group, plan->wanted->name);
	str_set(&group->identity,
		naming_security_group_identity(arena, input->lb, plan->wanted->type));
	group->has_permissions = true;
	observed_see_new(observed, &group->seen_in);
	return 0;
}

static int security_group_read(
	const struct xml *xml, const struct plan_input *input, const struct plan *plan)
{
	const struct xml *item = xml_child(xml_child(xml, "securityGroupInfo"), "item");
	if (!str_eq_c(answers_text(item, "groupId"), plan->security_group->id))
		return -EBADMSG;
	answers_take_security_group(item, input->observed, plan->security_group);
	return 0;
}

static void permission_changed(const struct plan *plan)
{
	struct observed_security_group *group = plan->security_group;
	const struct observed_permission *permission = &plan->permission;
	struct observed_permission changed = *permission;
	/* The plan may have it from the very list that changes. */
	changed.source = str_dup(str_from(permission->source));
	observed_remove_permission(group, &changed);
	if (plan->step == PLAN_AUTHORIZE)
		observed_add_permission(group, changed.from, changed.to, str_from(changed.source));
	free(changed.source);
}

/* ---- balancers ---- */

static int balancer_made(const struct xml *xml, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	const struct xml *made = answers_members(answers_result(xml), "LoadBalancers");
	struct observed *observed = input->observed;
	struct str arn = answers_arn(made, "LoadBalancerArn");
	if (arn.p == NULL || str_is_empty(answers_text(made, "DNSName")))
		return -EBADMSG;
	bool is_new = observed_find_balancer(observed, arn) == NULL;
	struct observed_balancer *balancer =
		observed_add_balancer(observed, arn, naming_tag_value(arena, input->lb));
	answers_take_balancer(made, observed, balancer, arena);
	balancer->type = plan->wanted->type;
	observed_set_balancer_name(observed, balancer, plan->wanted->name);
	str_set(&balancer->identity, plan->wanted->identity);
	observed_see_new(observed, &balancer->seen_in);
	/* A new one has no listeners. One that is there already is returned, too, when its settings are the same: it has been on its way for longer. */
	if (is_new && balancer->state == ELB_PROVISIONING)
		balancer->has_content = true;
	return 0;
}

static void detach_groups(
	struct observed *observed, const struct observed_balancer *balancer, struct arena *arena)
{
	struct observed_group **groups;
	size_t count = observed_groups_of(observed, str_from(balancer->lb), arena, &groups);
	for (size_t i = 0; i < count; i++) {
		struct str user = str_from(groups[i]->balancer_arn);
		if (!str_eq_c(user, balancer->arn))
			continue;
		str_set(&groups[i]->balancer_arn, STR_NONE);
		groups[i]->attached_at = 0;
		groups[i]->is_proven = false;
	}
}

static void balancer_changed(
	const struct plan_input *input, const struct plan *plan, struct arena *arena)
{
	struct observed_balancer *balancer = plan->balancer;
	if (plan->step == PLAN_TAG_BALANCER) {
		str_set(&balancer->applied, plan->tag_value);
	} else if (plan->step == PLAN_SET_SECURITY_GROUPS) {
		struct str_list groups = {0};
		for (size_t i = 0; i < plan->security_groups.count; i++)
			*(struct str *)arena_push(arena, (void **)&groups.items, &groups.count,
				sizeof(struct str)) = plan->security_groups.items[i];
		answers_sort(&groups);
		observed_set_list(&balancer->security_groups, &groups);
	} else {
		/* It is there until a page lacks it, and what it uses cannot go before. */
		detach_groups(input->observed, balancer, arena);
		balancer->is_leaving = true;
	}
}

int answers_step(const struct xml *xml, const struct plan_input *input, const struct plan *plan,
	struct arena *arena)
{
	switch (plan->step) {
	case PLAN_READ_SECURITY_GROUP:
		return security_group_read(xml, input, plan);
	case PLAN_READ_GROUP_HEALTH:
		health_read(xml, input, plan->group);
		return 0;
	case PLAN_CREATE_GROUP:
		return group_made(xml, input, plan, arena);
	case PLAN_MODIFY_GROUP:
	case PLAN_MODIFY_GROUP_ATTRIBUTES:
	case PLAN_TAG_GROUP:
	case PLAN_DELETE_GROUP:
		group_changed(input, plan);
		return 0;
	case PLAN_CREATE_SECURITY_GROUP:
		return security_group_made(xml, input, plan, arena);
	case PLAN_AUTHORIZE:
	case PLAN_REVOKE:
		permission_changed(plan);
		return 0;
	case PLAN_DELETE_SECURITY_GROUP:
		observed_forget_security_group(input->observed, plan->security_group);
		return 0;
	case PLAN_CREATE_BALANCER:
		return balancer_made(xml, input, plan, arena);
	case PLAN_SET_SECURITY_GROUPS:
	case PLAN_TAG_BALANCER:
	case PLAN_DELETE_BALANCER:
		balancer_changed(input, plan, arena);
		return 0;
	default:
		return answers_content_step(xml, input, plan, arena);
	}
}
