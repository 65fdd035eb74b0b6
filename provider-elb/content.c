// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/content.h"

#include <stdlib.h>

/* Writes that leave something behind before the content is built anew; also at least as many as there are rules, so that building costs each write no more than a little. */
enum { WRITES_MAX = 256 };

/* ---- copies ---- */

struct str content_copy_text(struct arena *arena, struct str text)
{
	return text.p != NULL ? arena_str(arena, text) : STR_NONE;
}

void content_copy_list(struct arena *arena, struct str_list *list, const struct str_list *from)
{
	struct str_list copy = {0};
	for (size_t i = 0; i < from->count; i++)
		*(struct str *)arena_push(arena, (void **)&copy.items, &copy.count,
			sizeof(struct str)) = content_copy_text(arena, from->items[i]);
	*list = copy;
}

void content_copy_action(
	struct arena *arena, struct elb_action *action, const struct elb_action *from)
{
	struct elb_action copy = *from;
	copy.body = content_copy_text(arena, from->body);
	copy.groups.items = arena_calloc(arena, from->groups.count, sizeof(struct elb_forward));
	for (size_t i = 0; i < from->groups.count; i++)
		copy.groups.items[i] = (struct elb_forward){
			.group = content_copy_text(arena, from->groups.items[i].group),
			.weight = from->groups.items[i].weight};
	*action = copy;
}

void content_copy_conditions(
	struct arena *arena, struct elb_rule *rule, const struct elb_rule *from)
{
	size_t count = from->conditions.count;
	struct elb_condition *items = arena_calloc(arena, count, sizeof(*items));
	for (size_t i = 0; i < count; i++) {
		items[i] = from->conditions.items[i];
		content_copy_list(arena, &items[i].values, &from->conditions.items[i].values);
	}
	rule->conditions.items = items;
	rule->conditions.count = count;
}

static void copy_rule(struct arena *arena, struct elb_rule *rule, const struct elb_rule *from)
{
	*rule = (struct elb_rule){.identity = content_copy_text(arena, from->identity),
		.arn = content_copy_text(arena, from->arn),
		.priority = from->priority};
	content_copy_conditions(arena, rule, from);
	content_copy_action(arena, &rule->action, &from->action);
}

static void copy_listener(
	struct arena *arena, struct elb_listener *listener, const struct elb_listener *from)
{
	*listener = (struct elb_listener){.identity = content_copy_text(arena, from->identity),
		.arn = content_copy_text(arena, from->arn),
		.port = from->port,
		.protocol = from->protocol,
		.ssl_policy = content_copy_text(arena, from->ssl_policy),
		.default_certificate = content_copy_text(arena, from->default_certificate)};
	content_copy_list(arena, &listener->certificates, &from->certificates);
	content_copy_action(arena, &listener->default_action, &from->default_action);
	for (size_t i = 0; i < from->rules.count; i++)
		copy_rule(arena,
			arena_push(arena, (void **)&listener->rules.items, &listener->rules.count,
				sizeof(struct elb_rule)),
			&from->rules.items[i]);
}

/* ---- listeners ---- */

struct elb_listener *content_find_listener(const struct observed_balancer *balancer, struct str arn)
{
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		if (str_eq(balancer->listeners.items[i].arn, arn))
			return &balancer->listeners.items[i];
	}
	return NULL;
}

struct elb_listener *content_push_listener(struct observed_balancer *balancer)
{
	if (balancer->listeners.count >= CONTENT_LISTENERS_MAX)
		return NULL;
	struct elb_listener *listener =
		arena_push(&balancer->content, (void **)&balancer->listeners.items,
			&balancer->listeners.count, sizeof(struct elb_listener));
	*listener = (struct elb_listener){0};
	return listener;
}

void content_sort_listeners(struct observed_balancer *balancer)
{
	struct elb_listener *items = balancer->listeners.items;
	size_t kept = 0;
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		struct elb_listener listener = items[i];
		size_t at = kept;
		while (at > 0 && items[at - 1].port > listener.port)
			at--;
		bool is_known = at > 0 && items[at - 1].port == listener.port;
		if (is_known) {
			items[at - 1] = listener;
			continue;
		}
		memmove(&items[at + 1], &items[at], (kept - at) * sizeof(*items));
		items[at] = listener;
		kept++;
	}
	balancer->listeners.count = kept;
}

void content_remove_listener(struct observed_balancer *balancer, struct elb_listener *listener)
{
	struct elb_listener *items = balancer->listeners.items;
	size_t at = (size_t)(listener - items);
	balancer->listeners.count--;
	memmove(listener, listener + 1, (balancer->listeners.count - at) * sizeof(*items));
}

/* ---- rules ---- */

struct elb_rule *content_find_rule(
	const struct elb_listener *listener, struct str arn, size_t *hint)
{
	size_t count = listener->rules.count;
	for (size_t i = 0; i < count; i++) {
		size_t at = (*hint + i) % count;
		if (str_eq(listener->rules.items[at].arn, arn)) {
			*hint = at;
			return &listener->rules.items[at];
		}
	}
	return NULL;
}

struct elb_rule *content_push_rule(
	struct observed_balancer *balancer, struct elb_listener *listener)
{
	if (listener->rules.count >= CONTENT_RULES_MAX)
		return NULL;
	struct elb_rule *rule = arena_push(&balancer->content, (void **)&listener->rules.items,
		&listener->rules.count, sizeof(struct elb_rule));
	/* The number is its place among those with the same ARN until they are in order. */
	*rule = (struct elb_rule){.band = listener->rules.count};
	return rule;
}

/* By ARN, the one that was pushed last first. */
static int compare_arns(const void *left, const void *right)
{
	const struct elb_rule *a = left;
	const struct elb_rule *b = right;
	int order = str_cmp(a->arn, b->arn);
	return order != 0 ? order : (a->band < b->band) - (a->band > b->band);
}

static int compare_priorities(const void *left, const void *right)
{
	const struct elb_rule *a = left;
	const struct elb_rule *b = right;
	int order = (a->priority > b->priority) - (a->priority < b->priority);
	return order != 0 ? order : str_cmp(a->arn, b->arn);
}

void content_sort_rules(struct elb_listener *listener)
{
	struct elb_rule *items = listener->rules.items;
	size_t count = listener->rules.count;
	size_t kept = 0;
	if (count == 0)
		return;
	qsort(items, count, sizeof(*items), compare_arns);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || !str_eq(items[kept - 1].arn, items[i].arn))
			items[kept++] = items[i];
	}
	listener->rules.count = kept;
	qsort(items, kept, sizeof(*items), compare_priorities);
	for (size_t i = 0; i < kept; i++)
		items[i].band = 0;
}

void content_remove_rule(struct elb_listener *listener, struct elb_rule *rule)
{
	size_t at = (size_t)(rule - listener->rules.items);
	listener->rules.count--;
	memmove(rule, rule + 1, (listener->rules.count - at) * sizeof(*rule));
}

/* ---- certificates ---- */

void content_add_certificate(
	struct observed_balancer *balancer, struct elb_listener *listener, struct str arn)
{
	struct str_list *list = &listener->certificates;
	size_t at = list->count;
	while (at > 0 && str_cmp(list->items[at - 1], arn) > 0)
		at--;
	if (list->count >= CONTENT_CERTIFICATES_MAX || (at > 0 && str_eq(list->items[at - 1], arn)))
		return;
	struct str copy = content_copy_text(&balancer->content, arn);
	arena_push(&balancer->content, (void **)&list->items, &list->count, sizeof(struct str));
	memmove(&list->items[at + 1], &list->items[at],
		(list->count - 1 - at) * sizeof(struct str));
	list->items[at] = copy;
}

void content_remove_certificate(struct elb_listener *listener, struct str arn)
{
	struct str_list *list = &listener->certificates;
	size_t kept = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (!str_eq(list->items[i], arn))
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

/* ---- as a whole ---- */

static void push_groups(
	const struct elb_action *action, struct str_list *groups, struct arena *arena)
{
	for (size_t i = 0; i < action->groups.count; i++)
		*(struct str *)arena_push(arena, (void **)&groups->items, &groups->count,
			sizeof(struct str)) = action->groups.items[i].group;
}

static int compare_texts(const void *left, const void *right)
{
	return str_cmp(*(const struct str *)left, *(const struct str *)right);
}

struct str_list content_groups(const struct observed_balancer *balancer, struct arena *arena)
{
	struct str_list groups = {0};
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct elb_listener *listener = &balancer->listeners.items[i];
		push_groups(&listener->default_action, &groups, arena);
		for (size_t k = 0; k < listener->rules.count; k++)
			push_groups(&listener->rules.items[k].action, &groups, arena);
	}
	if (groups.count != 0)
		qsort(groups.items, groups.count, sizeof(struct str), compare_texts);
	return groups;
}

void content_written(struct observed_balancer *balancer)
{
	size_t rules = 0;
	for (size_t i = 0; i < balancer->listeners.count; i++)
		rules += balancer->listeners.items[i].rules.count;
	if (++balancer->content_writes < WRITES_MAX || balancer->content_writes < rules)
		return;
	struct arena content = balancer->content;
	const struct elb_listener *from = balancer->listeners.items;
	size_t count = balancer->listeners.count;
	arena_init(&balancer->content);
	balancer->content_writes = 0;
	balancer->listeners.items = NULL;
	balancer->listeners.count = 0;
	for (size_t i = 0; i < count; i++)
		copy_listener(&balancer->content, content_push_listener(balancer), &from[i]);
	arena_fini(&content);
}
