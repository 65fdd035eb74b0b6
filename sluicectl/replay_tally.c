// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/replay_tally.h"

#include <stdlib.h>

enum { VALUE_LEN_MAX = 200 };

void replay_tally_init(struct replay_tally *tally)
{
	*tally = (struct replay_tally){.groups = NULL};
	arena_init(&tally->arena);
}

void replay_tally_free(struct replay_tally *tally)
{
	arena_fini(&tally->arena);
}

static struct str cut(struct str text)
{
	if (text.len > VALUE_LEN_MAX)
		text.len = VALUE_LEN_MAX;
	return text;
}

static bool is_like(const struct replay_difference *a, const struct replay_difference *b)
{
	return a->kind == b->kind && str_eq(a->name, b->name) && str_eq(a->old, cut(b->old)) &&
	       str_eq(a->new, cut(b->new)) && (a->old.p == NULL) == (b->old.p == NULL) &&
	       (a->new.p == NULL) == (b->new.p == NULL);
}

static struct str keep(struct arena *arena, struct str text)
{
	return text.p != NULL ? arena_str(arena, cut(text)) : text;
}

/* NULL: there are too many. */
static struct replay_group *group_of(
	struct replay_tally *tally, const struct replay_difference *difference)
{
	for (size_t i = 0; i < tally->group_count; i++) {
		if (is_like(&tally->groups[i].what, difference))
			return &tally->groups[i];
	}
	if (tally->group_count >= REPLAY_GROUPS_MAX)
		return NULL;
	void *items = tally->groups;
	struct replay_group *group =
		arena_push(&tally->arena, &items, &tally->group_count, sizeof(*group));
	tally->groups = items;
	*group = (struct replay_group){
		.what = {difference->kind, keep(&tally->arena, difference->name),
			keep(&tally->arena, difference->old),
			keep(&tally->arena, difference->new)}};
	return group;
}

void replay_tally_add(struct replay_tally *tally, const struct replay_request *request,
	const struct replay_differences *differences)
{
	bool is_grave = false;
	bool has_failed = false;
	for (size_t i = 0; i < differences->count; i++) {
		struct replay_group *group = group_of(tally, &differences->items[i]);
		has_failed |= differences->items[i].kind == REPLAY_FAILURE;
		is_grave |= replay_kind_is_grave(differences->items[i].kind);
		if (group == NULL) {
			tally->ungrouped++;
			continue;
		}
		if (group->count < REPLAY_EXAMPLES_MAX)
			group->examples[group->count] = request;
		group->count++;
	}
	tally->asked++;
	tally->same += differences->count == 0;
	tally->grave += is_grave;
	tally->unanswered += has_failed;
	tally->light += differences->count != 0 && !is_grave;
}

static int compare_groups(const void *left, const void *right)
{
	const struct replay_group *a = left;
	const struct replay_group *b = right;
	int order =
		(int)replay_kind_is_grave(b->what.kind) - (int)replay_kind_is_grave(a->what.kind);
	if (order == 0)
		order = (a->count < b->count) - (a->count > b->count);
	if (order == 0)
		order = (int)a->what.kind - (int)b->what.kind;
	if (order == 0)
		order = str_cmp(a->what.name, b->what.name);
	if (order == 0)
		order = str_cmp(a->what.old, b->what.old);
	return order != 0 ? order : str_cmp(a->what.new, b->what.new);
}

void replay_tally_sort(struct replay_tally *tally)
{
	if (tally->group_count != 0)
		qsort(tally->groups, tally->group_count, sizeof(*tally->groups), compare_groups);
}
