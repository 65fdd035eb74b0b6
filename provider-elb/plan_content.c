// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include <stdlib.h>

/* ---- what leads where ---- */

static void note_uses(struct plan_content *content, const struct elb_action *action)
{
	for (size_t i = 0; i < action->groups.count; i++) {
		struct plan_use *use = arena_push(content->work->arena,
			(void **)&content->uses.items, &content->uses.count, sizeof(*use));
		*use = (struct plan_use){.group = action->groups.items[i].group,
			.is_alone = action->groups.count == 1};
	}
}

static int use_cmp(const void *left, const void *right)
{
	const struct plan_use *a = left, *b = right;
	return str_cmp(a->group, b->group);
}

static void find_uses(struct plan_content *content)
{
	const struct observed_balancer *balancer = content->balancer;
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct elb_listener *listener = &balancer->listeners.items[i];
		note_uses(content, &listener->default_action);
		for (size_t j = 0; j < listener->rules.count; j++)
			note_uses(content, &listener->rules.items[j].action);
	}
	struct plan_use *uses = content->uses.items;
	size_t kept = 0;
	if (content->uses.count == 0)
		return;
	qsort(uses, content->uses.count, sizeof(*uses), use_cmp);
	for (size_t i = 1; i < content->uses.count; i++) {
		if (str_eq(uses[i].group, uses[kept].group))
			uses[kept].is_alone |= uses[i].is_alone;
		else
			uses[++kept] = uses[i];
	}
	content->uses.count = kept + 1;
}

const struct plan_use *plan_content_find_use(const struct plan_content *content, struct str group)
{
	struct plan_use key = {.group = group};
	if (content->uses.count == 0)
		return NULL;
	return bsearch(&key, content->uses.items, content->uses.count, sizeof(key), use_cmp);
}

/* ---- what is wanted of each listener ---- */

size_t *plan_kept_rules(const struct wanted_balancer *wanted, size_t given_up, struct arena *arena)
{
	size_t *kept = arena_calloc(arena, wanted->listeners.count, sizeof(*kept));
	for (size_t i = 0; i < wanted->listeners.count; i++)
		kept[i] = wanted->listeners.items[i].rules.count;
	for (size_t left = given_up; left > 0; left--) {
		size_t most = 0;
		for (size_t i = 1; i < wanted->listeners.count; i++) {
			if (kept[i] >= kept[most])
				most = i;
		}
		if (wanted->listeners.count == 0 || kept[most] == 0)
			break;
		kept[most]--;
	}
	return kept;
}

static struct plan_listener *add_listener(
	struct plan_content *content, const struct elb_listener *wanted)
{
	struct plan_listener *listener = &content->listeners.items[content->listeners.count++];
	listener->wanted = wanted;
	return listener;
}

static void note_leaving(struct plan_content *content, struct elb_listener *read)
{
	/* Without an identity somebody else has made it: it is left alone. */
	if (str_is_empty(read->identity))
		return;
	*(struct elb_listener **)arena_push(content->work->arena, (void **)&content->leaving.items,
		&content->leaving.count, sizeof(struct elb_listener *)) = read;
}

static void match_listeners(struct plan_content *content)
{
	const struct wanted_balancer *wanted = content->wanted;
	struct observed_balancer *balancer = content->balancer;
	size_t at = 0;
	content->listeners.items = arena_calloc(
		content->work->arena, wanted->listeners.count, sizeof(struct plan_listener));
	for (size_t i = 0; i < wanted->listeners.count; i++) {
		struct plan_listener *listener = add_listener(content, &wanted->listeners.items[i]);
		uint64_t port = listener->wanted->port;
		for (; at < balancer->listeners.count && balancer->listeners.items[at].port < port;
			at++)
			note_leaving(content, &balancer->listeners.items[at]);
		if (at < balancer->listeners.count && balancer->listeners.items[at].port == port)
			listener->read = &balancer->listeners.items[at++];
	}
	for (; at < balancer->listeners.count; at++)
		note_leaving(content, &balancer->listeners.items[at]);
}

/* How many rules there are, and may be. Where AWS has refused one that was within the quota, those that are left are what it takes. */
static void count_rules(struct plan_content *content, const size_t *kept)
{
	const struct plan_input *input = content->work->input;
	const struct observed_balancer *balancer = content->balancer;
	size_t foreign = 0, wanted = 0;
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct elb_listener *listener = &balancer->listeners.items[i];
		content->rule_count += listener->rules.count;
		for (size_t j = 0; j < listener->rules.count; j++)
			foreign += str_is_empty(listener->rules.items[j].identity);
	}
	for (size_t i = 0; i < content->listeners.count; i++)
		wanted += kept[i];
	content->rules_max = input->settings->rules_max;
	if (input->rules_given_up != 0 && wanted + foreign < content->rules_max)
		content->rules_max = wanted + foreign;
}

void plan_content_init(struct plan_content *content, struct plan_work *work,
	const struct wanted_balancer *wanted, struct observed_balancer *balancer)
{
	*content = (struct plan_content){.work = work, .wanted = wanted, .balancer = balancer};
	find_uses(content);
	match_listeners(content);
	const size_t *kept = plan_kept_rules(wanted, work->input->rules_given_up, work->arena);
	count_rules(content, kept);
	for (size_t i = 0; i < content->listeners.count; i++) {
		if (content->listeners.items[i].read != NULL)
			plan_match_rules(&content->listeners.items[i], kept[i], work->arena);
	}
}
