// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/wanted.h"

#include "provider-elb/networks.h"

#include <stdlib.h>

struct candidate {
	struct elb_target target; /* first, for comparing it */
	struct str zone;
	size_t turn; /* how many of its zone come before it */
	bool is_registered;
};

static int compare_targets(const struct elb_target *a, const struct elb_target *b)
{
	int order = str_cmp(a->ip, b->ip);
	return order != 0 ? order : (a->port > b->port) - (a->port < b->port);
}

static int compare_places(const void *left, const void *right)
{
	return compare_targets(left, right);
}

static int compare_zones(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;
	int order = str_cmp(a->zone, b->zone);
	return order != 0 ? order : compare_targets(&a->target, &b->target);
}

/* Those that are registered first, then from each zone in turn. */
static int compare_turns(const void *left, const void *right)
{
	const struct candidate *a = left;
	const struct candidate *b = right;
	if (a->is_registered != b->is_registered)
		return a->is_registered ? -1 : 1;
	if (a->turn != b->turn)
		return a->turn < b->turn ? -1 : 1;
	return compare_zones(left, right);
}

static bool has(const struct elb_target_list *list, const struct elb_target *target)
{
	return list != NULL && list->count != 0 &&
	       bsearch(target, list->items, list->count, sizeof(*list->items), compare_places) !=
		       NULL;
}

/* The active ones, or the others. */
static size_t gather(const struct pool *pool, bool is_active, const struct elb_group *group,
	const struct settings *settings, const struct elb_target_list *registered,
	struct candidate *candidates)
{
	size_t count = 0;
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		const struct pool_endpoint *endpoint = &pool->endpoints.items[i];
		struct elb_target target = {.ip = endpoint->ip, .port = endpoint->port};
		enum network_place place = networks_place(settings->networks, endpoint->ip);
		if (endpoint->active != is_active || place == NETWORK_REFUSED ||
			endpoint->port == 0 ||
			(str_find(endpoint->ip, ':') != NULL) != group->is_ipv6)
			continue;
		target.is_elsewhere = place == NETWORK_ELSEWHERE;
		candidates[count++] = (struct candidate){
			.target = target,
			.zone = endpoint->zone,
			.is_registered = has(registered, &target),
		};
	}
	return count;
}

/* The same address and port from two endpoints is one target. */
static size_t drop_copies(struct candidate *candidates, size_t count)
{
	size_t kept = 0;
	qsort(candidates, count, sizeof(*candidates), compare_places);
	for (size_t i = 0; i < count; i++) {
		if (kept == 0 || compare_places(&candidates[kept - 1], &candidates[i]) != 0)
			candidates[kept++] = candidates[i];
	}
	return kept;
}

static void choose(struct candidate *candidates, size_t count)
{
	qsort(candidates, count, sizeof(*candidates), compare_zones);
	for (size_t i = 1; i < count; i++) {
		if (str_eq(candidates[i].zone, candidates[i - 1].zone))
			candidates[i].turn = candidates[i - 1].turn + 1;
	}
	qsort(candidates, count, sizeof(*candidates), compare_turns);
}

static void take(const struct candidate *candidates, size_t count, struct arena *arena,
	struct elb_target_list *ret_targets)
{
	ret_targets->items = arena_calloc(arena, count + 1, sizeof(struct elb_target));
	ret_targets->count = count;
	for (size_t i = 0; i < count; i++) {
		ret_targets->items[i] = candidates[i].target;
		ret_targets->items[i].ip = arena_str(arena, candidates[i].target.ip);
	}
	qsort(ret_targets->items, count, sizeof(struct elb_target), compare_places);
}

void wanted_targets(const struct pool *pool, const struct elb_group *group,
	const struct settings *settings, const struct elb_target_list *registered, size_t max,
	struct arena *arena, struct elb_target_list *ret_targets, size_t *ret_left_out)
{
	struct candidate *candidates =
		arena_calloc(arena, pool->endpoints.count + 1, sizeof(*candidates));
	size_t count = gather(pool, true, group, settings, registered, candidates);
	*ret_targets = (struct elb_target_list){.count = 0};
	*ret_left_out = 0;
	if (count == 0)
		return;
	count = drop_copies(candidates, count);
	if (count > max) {
		choose(candidates, count);
		*ret_left_out = count - max;
		count = max;
	}
	take(candidates, count, arena, ret_targets);
}

void wanted_serving(const struct pool *pool, const struct elb_group *group,
	const struct settings *settings, struct arena *arena, struct elb_target_list *ret_targets)
{
	struct candidate *candidates =
		arena_calloc(arena, pool->endpoints.count + 1, sizeof(*candidates));
	size_t count = gather(pool, false, group, settings, NULL, candidates);
	take(candidates, drop_copies(candidates, count), arena, ret_targets);
}
