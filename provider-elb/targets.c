// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/targets.h"

#include "common/xalloc.h"

int target_cmp(const struct elb_target *a, const struct elb_target *b)
{
	int order = str_cmp(a->ip, b->ip);
	if (order != 0)
		return order;
	return (a->port > b->port) - (a->port < b->port);
}

struct elb_target_list targets_minus(const struct elb_target_list *a,
	const struct elb_target_list *b, size_t max, struct arena *arena)
{
	size_t room = a->count < max ? a->count : max;
	struct elb_target_list rest = {arena_calloc(arena, room + 1, sizeof(struct elb_target)), 0};
	for (size_t i = 0, k = 0; i < a->count && rest.count < room; i++) {
		while (k < b->count && target_cmp(&b->items[k], &a->items[i]) < 0)
			k++;
		if (k == b->count || target_cmp(&b->items[k], &a->items[i]) != 0)
			rest.items[rest.count++] = a->items[i];
	}
	return rest;
}

struct elb_target_list targets_union(
	const struct elb_target_list *a, const struct elb_target_list *b, struct arena *arena)
{
	struct elb_target_list all = {
		arena_calloc(arena, a->count + b->count + 1, sizeof(struct elb_target)), 0};
	size_t i = 0;
	size_t k = 0;
	while (i < a->count || k < b->count) {
		int order = i == a->count   ? 1
			    : k == b->count ? -1
					    : target_cmp(&a->items[i], &b->items[k]);
		all.items[all.count++] = order <= 0 ? a->items[i] : b->items[k];
		i += order <= 0;
		k += order >= 0;
	}
	return all;
}

bool targets_have_all(const struct elb_target_list *list, const struct elb_target_list *of)
{
	size_t k = 0;
	for (size_t i = 0; i < of->count; i++) {
		while (k < list->count && target_cmp(&list->items[k], &of->items[i]) < 0)
			k++;
		if (k == list->count || target_cmp(&list->items[k], &of->items[i]) != 0)
			return false;
	}
	return true;
}

bool targets_equal(const struct elb_target_list *a, const struct elb_target_list *b)
{
	return a->count == b->count && targets_have_all(a, b);
}

bool targets_share_one(const struct elb_target_list *a, const struct elb_target_list *b)
{
	for (size_t i = 0, k = 0; i < a->count && k < b->count;) {
		int order = target_cmp(&a->items[i], &b->items[k]);
		if (order == 0)
			return true;
		i += order < 0;
		k += order > 0;
	}
	return false;
}

void targets_replace(struct elb_target_list *list, const struct elb_target_list *with)
{
	struct elb_target_list kept;
	targets_copy(&kept, with);
	targets_fini(list);
	*list = kept;
}

void targets_copy(struct elb_target_list *to, const struct elb_target_list *from)
{
	to->items = xcalloc(from->count + 1, sizeof(struct elb_target));
	to->count = from->count;
	for (size_t i = 0; i < from->count; i++) {
		to->items[i] = from->items[i];
		to->items[i].ip = (struct str){str_dup(from->items[i].ip), from->items[i].ip.len};
	}
}

void targets_add(struct elb_target_list *list, const struct elb_target_list *more)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list all = targets_union(list, more, &arena);
	targets_replace(list, &all);
	arena_fini(&arena);
}

void targets_drop(struct elb_target_list *list, const struct elb_target_list *less)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list rest = targets_minus(list, less, list->count, &arena);
	targets_replace(list, &rest);
	arena_fini(&arena);
}

void targets_keep(struct elb_target_list *list, const struct elb_target_list *only)
{
	struct arena arena;
	arena_init(&arena);
	struct elb_target_list gone = targets_minus(list, only, list->count, &arena);
	targets_drop(list, &gone);
	arena_fini(&arena);
}

void targets_fini(struct elb_target_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free((char *)(uintptr_t)list->items[i].ip.p);
	free(list->items);
	*list = (struct elb_target_list){NULL, 0};
}
