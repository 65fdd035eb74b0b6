// SPDX-License-Identifier: Apache-2.0
/* What steps that concern listeners, certificates and rules have changed in the content of a balancer. */
#include "provider-elb/answers.h"
#include "provider-elb/content.h"

#include <errno.h>
#include <stdlib.h>

/* ---- which groups are in use ---- */

static void attach_groups(const struct plan_input *input, const struct observed_balancer *balancer,
	const struct elb_action *action)
{
	for (size_t i = 0; i < action->groups.count; i++) {
		struct observed_group *group =
			observed_find_group_name(input->observed, action->groups.items[i].group);
		if (group == NULL)
			continue;
		str_set(&group->balancer_arn, str_from(balancer->arn));
		if (group->attached_at <= 0)
			group->attached_at = input->now;
	}
}

static int compare_texts(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

/* Something has gone: whatever nothing leads to any more is not in use. */
static void detach_groups(const struct plan_input *input, const struct observed_balancer *balancer,
	struct arena *arena)
{
	struct str_list used = content_groups(balancer, arena);
	struct observed_group **groups;
	size_t count = observed_groups_of(input->observed, str_from(balancer->lb), arena, &groups);
	for (size_t i = 0; i < count; i++) {
		struct observed_group *group = groups[i];
		if (!str_eq_c(str_from(group->balancer_arn), balancer->arn))
			continue;
		if (used.count != 0 && bsearch(&group->group.name, used.items, used.count,
					       sizeof(struct str), compare_texts) != NULL)
			continue;
		str_set(&group->balancer_arn, STR_NONE);
		group->attached_at = 0;
		group->is_proven = false;
	}
}

/* ---- listeners ---- */

static void take_wanted(
	struct arena *content, struct elb_listener *listener, const struct plan *plan)
{
	const struct elb_listener *wanted = plan->wanted_listener;
	bool is_https = wanted->protocol == ELB_HTTPS;
	listener->port = wanted->port;
	listener->protocol = wanted->protocol;
	listener->ssl_policy = is_https ? content_copy_text(content, wanted->ssl_policy) : STR_NONE;
	listener->default_certificate =
		is_https ? content_copy_text(content, wanted->default_certificate) : STR_NONE;
	content_copy_action(content, &listener->default_action,
		plan->action != NULL ? plan->action : &wanted->default_action);
}

static int listener_made(
	const struct xml *xml, const struct plan_input *input, const struct plan *plan)
{
	struct observed_balancer *balancer = plan->balancer;
	const struct xml *made = answers_members(answers_result(xml), "Listeners");
	struct str arn = answers_arn(made, "ListenerArn");
	if (arn.p == NULL)
		return -EBADMSG;
	struct elb_listener *listener = content_push_listener(balancer);
	if (listener == NULL)
		return -EBADMSG;
	listener->arn = content_copy_text(&balancer->content, arn);
	listener->identity = content_copy_text(&balancer->content, plan->wanted_listener->identity);
	take_wanted(&balancer->content, listener, plan);
	attach_groups(input, balancer, &listener->default_action);
	content_sort_listeners(balancer);
	return 0;
}

/* The content is sorted and moved, so what the plan points to is looked for again. */
static struct elb_listener *listener_of(const struct plan *plan)
{
	return content_find_listener(plan->balancer, plan->listener->arn);
}

static void listener_changed(
	const struct plan_input *input, const struct plan *plan, struct elb_listener *listener)
{
	struct observed_balancer *balancer = plan->balancer;
	if (plan->step == PLAN_DELETE_LISTENER) {
		content_remove_listener(balancer, listener);
	} else if (plan->step == PLAN_ADD_CERTIFICATE) {
		content_add_certificate(balancer, listener, plan->certificate);
	} else if (plan->step == PLAN_REMOVE_CERTIFICATE) {
		content_remove_certificate(listener, plan->certificate);
	} else {
		take_wanted(&balancer->content, listener, plan);
		attach_groups(input, balancer, &listener->default_action);
		content_sort_listeners(balancer);
	}
}

/* ---- rules ---- */

static int rule_made(const struct xml *xml, const struct plan_input *input, const struct plan *plan,
	struct elb_listener *listener)
{
	struct observed_balancer *balancer = plan->balancer;
	struct arena *content = &balancer->content;
	const struct elb_rule *wanted = plan->wanted_rule;
	const struct xml *made = answers_members(answers_result(xml), "Rules");
	struct str arn = answers_arn(made, "RuleArn");
	struct elb_rule *rule = arn.p != NULL ? content_push_rule(balancer, listener) : NULL;
	if (rule == NULL)
		return -EBADMSG;
	rule->arn = content_copy_text(content, arn);
	rule->identity = content_copy_text(content, wanted->identity);
	rule->priority = plan->priority;
	content_copy_conditions(content, rule, wanted);
	content_copy_action(
		content, &rule->action, plan->action != NULL ? plan->action : &wanted->action);
	attach_groups(input, balancer, &rule->action);
	content_sort_rules(listener);
	return 0;
}

static void rule_changed(
	const struct plan_input *input, const struct plan *plan, struct elb_listener *listener)
{
	struct observed_balancer *balancer = plan->balancer;
	size_t hint = 0;
	struct elb_rule *rule = content_find_rule(listener, plan->rule->arn, &hint);
	if (rule == NULL)
		return;
	if (plan->step == PLAN_DELETE_RULE) {
		content_remove_rule(listener, rule);
		return;
	}
	const struct elb_action *action =
		plan->action != NULL ? plan->action : &plan->wanted_rule->action;
	content_copy_conditions(&balancer->content, rule, plan->wanted_rule);
	content_copy_action(&balancer->content, &rule->action, action);
	attach_groups(input, balancer, &rule->action);
}

static int compare_moves(const void *left, const void *right)
{
	return str_cmp(((const struct plan_priority *)left)->rule,
		((const struct plan_priority *)right)->rule);
}

static void priorities_changed(
	const struct plan *plan, struct elb_listener *listener, struct arena *arena)
{
	size_t count = plan->priority_count;
	if (count == 0)
		return;
	struct plan_priority *moves = arena_calloc(arena, count, sizeof(*moves));
	memcpy(moves, plan->priorities, count * sizeof(*moves));
	qsort(moves, count, sizeof(*moves), compare_moves);
	for (size_t i = 0; i < listener->rules.count; i++) {
		struct elb_rule *rule = &listener->rules.items[i];
		struct plan_priority like = {.rule = rule->arn};
		const struct plan_priority *move =
			bsearch(&like, moves, count, sizeof(*moves), compare_moves);
		if (move != NULL)
			rule->priority = move->priority;
	}
	content_sort_rules(listener);
}

/* ---- steps ---- */

static int change_content(const struct xml *xml, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	if (plan->step == PLAN_CREATE_LISTENER)
		return listener_made(xml, input, plan);
	struct elb_listener *listener = listener_of(plan);
	if (listener == NULL)
		return -EBADMSG;
	switch (plan->step) {
	case PLAN_CREATE_RULE:
		return rule_made(xml, input, plan, listener);
	case PLAN_MODIFY_RULE:
	case PLAN_DELETE_RULE:
		rule_changed(input, plan, listener);
		return 0;
	case PLAN_SET_PRIORITIES:
		priorities_changed(plan, listener, arena);
		return 0;
	default:
		listener_changed(input, plan, listener);
		return 0;
	}
}

static bool concerns_content(enum plan_step step)
{
	return step == PLAN_CREATE_LISTENER || step == PLAN_MODIFY_LISTENER ||
	       step == PLAN_DELETE_LISTENER || step == PLAN_ADD_CERTIFICATE ||
	       step == PLAN_REMOVE_CERTIFICATE || step == PLAN_SET_PRIORITIES ||
	       step == PLAN_MODIFY_RULE || step == PLAN_CREATE_RULE || step == PLAN_DELETE_RULE;
}

int answers_content_step(const struct xml *xml, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	struct observed_balancer *balancer = plan->balancer;
	if (!concerns_content(plan->step))
		return 0;
	/* It was dropped while the call was under way, and with it what the plan points to. */
	if (!balancer->has_content)
		return -EBADMSG;
	int err = change_content(xml, input, plan, arena);
	if (err != 0)
		return err;
	detach_groups(input, balancer, arena);
	content_written(balancer);
	return 0;
}
