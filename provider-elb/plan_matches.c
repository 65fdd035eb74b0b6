// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/plan_parts.h"

#include "provider-elb/compare.h"

#include <stdlib.h>

/* A rule of ours that AWS has. */
struct candidate {
	struct elb_rule *rule;
	bool is_used;
};

struct candidates {
	struct candidate **items; /* sorted by what is looked for */
	size_t count;
	int (*compare)(const struct elb_rule *a, const struct elb_rule *b);
};

static int identity_cmp(const struct elb_rule *a, const struct elb_rule *b)
{
	return str_cmp(a->identity, b->identity);
}

/* Of equals the one with the better priority first. */
static int by_identity(const void *left, const void *right)
{
	const struct candidate *const *a = left, *const *b = right;
	int order = identity_cmp((*a)->rule, (*b)->rule);
	return order != 0 ? order : (*a > *b) - (*a < *b);
}

static int by_conditions(const void *left, const void *right)
{
	const struct candidate *const *a = left, *const *b = right;
	int order = compare_conditions((*a)->rule, (*b)->rule);
	return order != 0 ? order : (*a > *b) - (*a < *b);
}

static struct elb_rule *take(const struct candidates *candidates, const struct elb_rule *wanted)
{
	size_t low = 0, high = candidates->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (candidates->compare(candidates->items[middle]->rule, wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < candidates->count; low++) {
		struct candidate *candidate = candidates->items[low];
		if (candidates->compare(candidate->rule, wanted) != 0)
			break;
		if (!candidate->is_used) {
			candidate->is_used = true;
			return candidate->rule;
		}
	}
	return NULL;
}

static void match(struct plan_listener *listener, struct candidates *candidates,
	int (*order)(const void *left, const void *right))
{
	if (candidates->count != 0)
		qsort(candidates->items, candidates->count, sizeof(*candidates->items), order);
	for (size_t i = 0; i < listener->rules.count && candidates->count != 0; i++) {
		struct plan_rule *rule = &listener->rules.items[i];
		if (rule->read == NULL)
			rule->read = take(candidates, rule->wanted);
	}
}

void plan_match_rules(struct plan_listener *listener, size_t count, struct arena *arena)
{
	struct elb_listener *read = listener->read;
	struct candidate *all = arena_calloc(arena, read->rules.count, sizeof(*all));
	struct candidates candidates = {.compare = identity_cmp};
	size_t all_count = 0;
	candidates.items = arena_calloc(arena, read->rules.count, sizeof(*candidates.items));
	for (size_t i = 0; i < read->rules.count; i++) {
		if (str_is_empty(read->rules.items[i].identity))
			continue;
		all[all_count].rule = &read->rules.items[i];
		candidates.items[candidates.count++] = &all[all_count++];
	}
	listener->rules.items = arena_calloc(arena, count, sizeof(struct plan_rule));
	listener->rules.count = count;
	for (size_t i = 0; i < count; i++)
		listener->rules.items[i].wanted = &listener->wanted->rules.items[i];
	match(listener, &candidates, by_identity);
	/* The identity of a rule may have been made in another way by an older version: what takes the same requests is the same. */
	candidates.compare = compare_conditions;
	candidates.count = 0;
	for (size_t i = 0; i < all_count; i++) {
		if (!all[i].is_used)
			candidates.items[candidates.count++] = &all[i];
	}
	match(listener, &candidates, by_conditions);
	listener->leaving.items = arena_calloc(arena, all_count, sizeof(struct elb_rule *));
	for (size_t i = 0; i < all_count; i++) {
		if (!all[i].is_used)
			listener->leaving.items[listener->leaving.count++] = all[i].rule;
	}
}
