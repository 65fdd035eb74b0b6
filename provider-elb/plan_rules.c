// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include "provider-elb/compare.h"

#include <stdlib.h>

/* ---- priorities ---- */

struct numbers {
	uint64_t *items; /* sorted */
	size_t count;
};

/* Of rules that are not ours, and of those that go, if they stay where they are. */
static struct numbers find_taken(
	const struct plan_listener *listener, bool with_leaving, struct arena *arena)
{
	const struct elb_listener *read = listener->read;
	struct numbers taken = {arena_calloc(arena, read->rules.count, sizeof(uint64_t)), 0};
	size_t leaving = 0;
	for (size_t i = 0; i < read->rules.count; i++) {
		const struct elb_rule *rule = &read->rules.items[i];
		bool is_leaving = leaving < listener->leaving.count &&
				  listener->leaving.items[leaving] == rule;
		if (is_leaving)
			leaving++;
		if (str_is_empty(rule->identity) || (is_leaving && with_leaving))
			taken.items[taken.count++] = rule->priority;
	}
	return taken;
}

static void move(struct plan_listener *listener, const struct elb_rule *rule, uint64_t priority)
{
	listener->moves[listener->move_count++] =
		(struct plan_priority){.rule = rule->arn, .priority = priority};
}

static int number_cmp(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return (*a > *b) - (*a < *b);
}

/* Those that go stand in the way: they get the last numbers that nobody has, from the end, in their order. False: there are too few. */
static bool push_leaving(
	struct plan_listener *listener, const struct numbers *taken, struct arena *arena)
{
	struct numbers used = {NULL, taken->count + listener->rules.count};
	used.items = arena_calloc(arena, used.count, sizeof(uint64_t));
	for (size_t i = 0; i < taken->count; i++)
		used.items[i] = taken->items[i];
	for (size_t i = 0; i < listener->rules.count; i++)
		used.items[taken->count + i] = listener->rules.items[i].priority;
	if (used.count != 0)
		qsort(used.items, used.count, sizeof(uint64_t), number_cmp);
	uint64_t number = PRIORITY_MAX;
	size_t left = used.count;
	for (size_t i = listener->leaving.count; i > 0; i--, number--) {
		for (; left > 0 && used.items[left - 1] >= number; left--)
			number -= used.items[left - 1] == number;
		if (number == 0)
			return false;
		if (listener->leaving.items[i - 1]->priority != number)
			move(listener, listener->leaving.items[i - 1], number);
	}
	return true;
}

static bool assign(struct plan_listener *listener, const struct numbers *taken, struct arena *arena)
{
	size_t count = listener->rules.count;
	struct priority_rule *rules = arena_calloc(arena, count, sizeof(*rules));
	for (size_t i = 0; i < count; i++) {
		const struct plan_rule *rule = &listener->rules.items[i];
		rules[i].band = rule->wanted->band;
		rules[i].current = rule->read != NULL ? rule->read->priority : 0;
	}
	if (!priorities_assign(rules, count, taken->items, taken->count))
		return false;
	for (size_t i = 0; i < count; i++)
		listener->rules.items[i].priority = rules[i].wanted;
	return true;
}

/* Decides the priorities, and which rules have to move for that. */
static void find_moves(struct plan_content *content, struct plan_listener *listener)
{
	struct arena *arena = content->work->arena;
	struct numbers taken = find_taken(listener, true, arena);
	bool fits = assign(listener, &taken, arena);
	listener->moves =
		arena_calloc(arena, listener->read->rules.count, sizeof(struct plan_priority));
	if (!fits) {
		taken = find_taken(listener, false, arena);
		fits = assign(listener, &taken, arena) && push_leaving(listener, &taken, arena);
	}
	for (size_t i = 0; i < listener->rules.count; i++) {
		struct plan_rule *rule = &listener->rules.items[i];
		if (!fits)
			rule->priority = 0;
		else if (rule->read != NULL && rule->read->priority != rule->priority)
			move(listener, rule->read, rule->priority);
	}
	if (!fits) {
		listener->move_count = 0;
		plan_block(content, listener);
		plan_wait_for_help(content->work, "free priorities among the rules of others",
			PLAN_PRIORITIES_WAIT_S);
	}
}

static bool set_priorities(struct plan_content *content)
{
	struct plan *plan = content->work->plan;
	for (size_t i = 0; i < content->listeners.count; i++) {
		const struct plan_listener *listener = &content->listeners.items[i];
		if (listener->move_count == 0)
			continue;
		plan->wanted_listener = listener->wanted;
		plan->listener = listener->read;
		plan->priorities = listener->moves;
		plan->priority_count = listener->move_count;
		return plan_change(content, PLAN_SET_PRIORITIES);
	}
	return false;
}

/* ---- writes ---- */

static bool write_rule(struct plan_content *content, const struct plan_listener *listener,
	const struct plan_rule *rule, const struct elb_action *action)
{
	struct plan *plan = content->work->plan;
	plan->wanted_listener = listener->wanted;
	plan->listener = listener->read;
	plan->wanted_rule = rule->wanted;
	plan->rule = rule->read;
	plan->action = action;
	plan->priority = rule->priority;
	return plan_change(content, rule->read != NULL ? PLAN_MODIFY_RULE : PLAN_CREATE_RULE);
}

static bool change_rule(
	struct plan_content *content, struct plan_listener *listener, const struct plan_rule *rule)
{
	const struct elb_rule *wanted = rule->wanted, *read = rule->read;
	const struct elb_action *action = NULL;
	enum plan_action_state state =
		plan_action(content, &wanted->action, &read->action, &action);
	if (state == ACTION_BLOCKED)
		plan_block(content, listener);
	if (state != ACTION_SEND) {
		action = &read->action;
		if (compare_conditions(wanted, read) == 0 || action->type == ELB_ACTION_OTHER)
			return false;
	}
	return !plan_is_held(content->work, wanted->identity) &&
	       write_rule(content, listener, rule, action);
}

static bool change_rules(struct plan_content *content, struct plan_listener *listener)
{
	for (size_t i = 0; i < listener->rules.count; i++) {
		const struct plan_rule *rule = &listener->rules.items[i];
		if (rule->read != NULL && change_rule(content, listener, rule))
			return true;
	}
	return false;
}

static bool delete_rule(struct plan_content *content, const struct elb_listener *listener,
	const struct elb_rule *rule)
{
	struct plan *plan = content->work->plan;
	plan->listener = listener;
	plan->rule = rule;
	return plan_change(content, PLAN_DELETE_RULE);
}

/* AWS has no room for another rule: the last one that is not wanted any more goes before its time. */
static bool make_room(struct plan_content *content)
{
	struct plan_work *work = content->work;
	if (!work->input->may_delete || content->rule_count < content->rules_max)
		return false;
	for (size_t i = 0; i < content->listeners.count; i++) {
		const struct plan_listener *listener = &content->listeners.items[i];
		for (size_t j = listener->leaving.count; j > 0; j--) {
			const struct elb_rule *rule = listener->leaving.items[j - 1];
			if (!plan_is_held(work, rule->arn))
				return delete_rule(content, listener->read, rule);
		}
	}
	for (size_t i = 0; i < content->leaving.count; i++) {
		const struct elb_listener *listener = content->leaving.items[i];
		for (size_t j = listener->rules.count; j > 0; j--) {
			const struct elb_rule *rule = &listener->rules.items[j - 1];
			if (!str_is_empty(rule->identity) && !plan_is_held(work, rule->arn))
				return delete_rule(content, listener, rule);
		}
	}
	return false;
}

static bool create_rules(struct plan_content *content, struct plan_listener *listener)
{
	for (size_t i = 0; i < listener->rules.count; i++) {
		const struct plan_rule *rule = &listener->rules.items[i];
		const struct elb_action *action = NULL;
		if (rule->read != NULL || rule->priority == 0 ||
			plan_is_held(content->work, rule->wanted->identity))
			continue;
		switch (plan_action(content, &rule->wanted->action, NULL, &action)) {
		case ACTION_SEND:
			return make_room(content) || write_rule(content, listener, rule, action);
		case ACTION_BLOCKED:
			plan_block(content, listener);
			break;
		case ACTION_AS_WANTED:
		case ACTION_HELD:
			break;
		}
	}
	return false;
}

static bool delete_rules(struct plan_content *content, struct plan_listener *listener)
{
	struct plan_work *work = content->work;
	for (size_t i = 0; i < listener->leaving.count && !listener->is_blocked; i++) {
		const struct elb_rule *rule = listener->leaving.items[i];
		if (!plan_is_held(work, rule->arn) && plan_may_delete(work))
			return delete_rule(content, listener->read, rule);
	}
	return false;
}

bool plan_rules_change(struct plan_content *content)
{
	static bool (*const phases[])(struct plan_content * content,
		struct plan_listener * listener) = {change_rules, create_rules, delete_rules};
	for (size_t i = 0; i < content->listeners.count; i++) {
		if (content->listeners.items[i].read != NULL)
			find_moves(content, &content->listeners.items[i]);
	}
	if (set_priorities(content))
		return true;
	for (size_t i = 0; i < sizeof(phases) / sizeof(*phases); i++) {
		for (size_t j = 0; j < content->listeners.count; j++) {
			struct plan_listener *listener = &content->listeners.items[j];
			if (listener->read != NULL && phases[i](content, listener))
				return true;
		}
	}
	return false;
}
