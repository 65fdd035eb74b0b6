// SPDX-License-Identifier: Apache-2.0
/* Classes of slots, and the groups that they are made in. */
#include "provider-haproxy/slots.h"

#include "common/xalloc.h"

#include <stdio.h>

static int compare_classes(const struct slot_class *a, const struct slot_class *b)
{
	int order = strcmp(a->lines, b->lines);
	return order != 0 ? order : strcmp(a->server, b->server);
}

static int compare_shares(const struct slot_share *a, const struct slot_share *b)
{
	return (a->space > b->space) - (a->space < b->space);
}

RB_GENERATE_LOCAL(slot_share_tree, slot_share, node, compare_shares)
RB_GENERATE_LOCAL(class_tree, slot_class, node, compare_classes)

/* Whether a line begins with the keyword. Values, which tenants choose, are quoted: they begin no line. */
static bool has_keyword(const char *lines, const char *keyword)
{
	const char *line = lines;
	while (line != NULL && strncmp(line, keyword, strlen(keyword)) != 0) {
		const char *end = strchr(line, '\n');
		line = end != NULL ? end + 1 : NULL;
	}
	return line != NULL;
}

struct slot_class *slots_find_class(struct slots *slots, const char *lines, const char *server)
{
	struct slot_class wanted = {
		.lines = (char *)(uintptr_t)lines, .server = (char *)(uintptr_t)server};
	struct slot_class *sort = RB_FIND(class_tree, &slots->classes, &wanted);
	if (sort != NULL)
		return sort;
	sort = xcalloc(1, sizeof(*sort));
	sort->lines = xstrdup(lines);
	sort->server = xstrdup(server);
	sort->is_sticky = has_keyword(lines, "\tdynamic-cookie-key ");
	/* Here is nothing that a tenant chose, but numbers. */
	sort->is_checked = strstr(server, " check ") != NULL;
	bool is_keyed = has_keyword(lines, "\tbalance hash ");
	sort->is_common = !sort->is_sticky && !sort->is_checked && !is_keyed;
	const struct str texts[] = {str_from(lines), str_from(server)};
	sort->digest = name_digest(texts, 2);
	TAILQ_INIT(&sort->free);
	RB_INSERT(class_tree, &slots->classes, sort);
	return sort;
}

size_t slots_spare(const struct slot_class *sort)
{
	size_t eighth = sort->used_count / 8;
	size_t some = SLOTS_SPARE_SOME + sort->used_count / 32;
	return sort->is_common ? SLOTS_PER_GROUP + (eighth < some ? eighth : some) : 0;
}

/* How many slots the class should have, including used ones. */
static size_t needed_count(const struct slot_class *sort)
{
	size_t needed = sort->used_count + slots_spare(sort);
	return needed > sort->least ? needed : sort->least;
}

static void init_slot(struct group *group, uint32_t place)
{
	struct slot *slot = &group->slots[place];
	slot->group = group;
	slot->number = group->number * SLOTS_PER_GROUP + place;
	slot->is_free = true;
	snprintf(slot->name, sizeof(slot->name), "s%06u", slot->number % 1000000);
	RB_INIT(&slot->servers);
	TAILQ_INSERT_TAIL(&group->sort->free, slot, link);
}

static struct group *make_group(
	struct slots *slots, uint32_t number, struct slot_class *sort, uint32_t size)
{
	struct group *group = xcalloc(1, sizeof(*group) + size * sizeof(struct slot));
	group->number = number;
	group->sort = sort;
	group->is_changed = group->is_due = true;
	group->size = size;
	slots->layout_changes++;
	if (sort == NULL) {
		slots->vacant_count++;
		return group;
	}
	for (uint32_t i = 0; i < size; i++)
		init_slot(group, i);
	sort->slot_count += size;
	slots->rare_count += !sort->is_common;
	slots->rare_idle_count += !sort->is_common;
	return group;
}

static struct group *append_group(struct slots *slots, struct slot_class *sort, uint32_t size)
{
	if (slots->group_count == SLOTS_GROUPS_MAX)
		return NULL;
	struct group *group = make_group(slots, (uint32_t)slots->group_count, sort, size);
	slots->groups =
		xreallocarray(slots->groups, slots->group_count + 1, sizeof(struct group *));
	slots->groups[slots->group_count++] = group;
	return group;
}

static uint32_t usual_size(const struct slot_class *sort)
{
	return sort->is_common ? SLOTS_PER_GROUP : SLOTS_PER_RARE_GROUP;
}

struct group *slots_add_group(struct slots *slots, struct slot_class *sort, uint32_t size)
{
	if (sort == NULL)
		return append_group(slots, NULL, 0);
	if (!sort->is_common && slots->rare_count == SLOTS_RARE_GROUPS_MAX)
		return NULL;
	return append_group(
		slots, sort, size == 0 || size > SLOTS_PER_GROUP ? usual_size(sort) : size);
}

uint64_t slots_space(struct str namespace)
{
	return name_digest(&namespace, 1) | 1;
}

static struct slot_share *share_of(struct slots *slots, uint64_t space)
{
	struct slot_share wanted = {.space = space};
	struct slot_share *share = RB_FIND(slot_share_tree, &slots->shares, &wanted);
	if (share != NULL)
		return share;
	share = xcalloc(1, sizeof(*share));
	share->space = space;
	RB_INSERT(slot_share_tree, &slots->shares, share);
	return share;
}

static void free_group(struct group *group)
{
	for (size_t i = 0; i < group->size; i++)
		free(group->slots[i].words);
	free(group);
}

/* None of its slots may be in use. */
static void release(struct slots *slots, struct group *group)
{
	struct slot_class *sort = group->sort;
	for (size_t i = 0; i < group->size; i++)
		TAILQ_REMOVE(&sort->free, &group->slots[i], link);
	sort->slot_count -= group->size;
	slots->rare_count -= !sort->is_common;
	slots->rare_idle_count -= !sort->is_common;
	if (group->space != 0)
		share_of(slots, group->space)->group_count--;
	struct group *vacant = make_group(slots, group->number, NULL, 0);
	vacant->is_unverified = true;
	slots->groups[group->number] = vacant;
	free_group(group);
}

static bool is_idle_rare(const struct group *group)
{
	return group->sort != NULL && !group->sort->is_common && group->used_count == 0;
}

/* Releases a group of a class that is not common: preferably one of the namespace's own, and of these the one that has been idle longest.
 * Returns the namespace to whose share it counted; false: there is none. */
static bool release_rare(struct slots *slots, uint64_t space, uint64_t *ret_space)
{
	struct group *best = NULL;
	for (size_t i = 0; i < slots->group_count && slots->rare_idle_count != 0; i++) {
		struct group *group = slots->groups[i];
		if (!is_idle_rare(group))
			continue;
		bool is_own = group->space == space;
		if (best == NULL || is_own > (best->space == space) ||
			(is_own == (best->space == space) && group->idle_looks > best->idle_looks))
			best = group;
	}
	if (best == NULL)
		return false;
	*ret_space = best->space;
	release(slots, best);
	return true;
}

/* In place of a group that HAProxy knows was released, or after the last one. */
static struct group *put_group(struct slots *slots, struct slot_class *sort)
{
	struct group *group = NULL;
	for (size_t i = 0; i < slots->group_count && slots->vacant_count != 0; i++) {
		struct group *vacant = slots->groups[i];
		if (vacant->sort != NULL || vacant->is_unverified)
			continue;
		group = make_group(slots, vacant->number, sort, usual_size(sort));
		slots->groups[i] = group;
		slots->vacant_count--;
		free(vacant);
		break;
	}
	if (group == NULL)
		group = append_group(slots, sort, usual_size(sort));
	if (group != NULL)
		group->is_unverified = true;
	return group;
}

/* Whether the class may have another group. `share` may be NULL. */
static enum slots_growth make_room(
	struct slots *slots, const struct slot_class *sort, const struct slot_share *share)
{
	while (!sort->is_common) {
		size_t left = SLOTS_RARE_GROUPS_MAX - slots->rare_count;
		bool has_share =
			share != NULL && share->group_count != 0 && share->group_count >= left;
		if (left != 0 && !has_share)
			break;
		uint64_t former = 0;
		if (!release_rare(slots, share != NULL ? share->space : 0, &former))
			return has_share ? SLOTS_SHARE : SLOTS_FULL;
		/* Replacing a group of its own does not increase its share. */
		if (share != NULL && former == share->space)
			break;
	}
	return SLOTS_GROWN;
}

enum slots_growth slots_grow(
	struct slots *slots, struct slot_class *sort, size_t more, uint64_t space)
{
	while (sort->slot_count < sort->used_count + more) {
		struct slot_share *share =
			sort->is_common || space == 0 ? NULL : share_of(slots, space);
		enum slots_growth growth = make_room(slots, sort, share);
		if (growth != SLOTS_GROWN)
			return growth;
		struct group *group = put_group(slots, sort);
		if (group == NULL)
			return SLOTS_FULL;
		group->space = share != NULL ? space : 0;
		if (share != NULL)
			share->group_count++;
	}
	return SLOTS_GROWN;
}

uint64_t slots_layout(const struct slots *slots)
{
	uint64_t layout = slots->group_count;
	for (size_t i = 0; i < slots->group_count; i++) {
		const struct group *group = slots->groups[i];
		uint64_t parts[] = {
			layout, group->sort != NULL ? group->sort->digest : 0, group->size};
		struct str text = {(const char *)parts, sizeof(parts)};
		layout = name_digest(&text, 1);
	}
	return layout;
}

/* ---- unused groups ---- */

static void drop_class(struct slots *slots, struct slot_class *sort)
{
	RB_REMOVE(class_tree, &slots->classes, sort);
	free(sort->lines);
	free(sort->server);
	free(sort);
}

void slots_look(struct slots *slots)
{
	struct slot_class *sort;
	struct slot_class *next_sort;
	struct slot_share *share;
	struct slot_share *next_share;
	for (size_t i = 0; i < slots->group_count; i++) {
		struct group *group = slots->groups[i];
		if (group->used_count != 0)
			group->idle_looks = 0;
		else if (group->idle_looks < SLOTS_IDLE_LOOKS)
			group->idle_looks++;
	}
	RB_FOREACH_SAFE (sort, class_tree, &slots->classes, next_sort) {
		if (sort->slot_count == 0)
			drop_class(slots, sort);
	}
	RB_FOREACH_SAFE (share, slot_share_tree, &slots->shares, next_share) {
		if (share->group_count != 0)
			continue;
		RB_REMOVE(slot_share_tree, &slots->shares, share);
		free(share);
	}
}

/* From the end: a class keeps the numbers that it had at the start. */
static size_t pick_idle(struct slots *slots, bool is_release)
{
	struct slot_class *sort;
	size_t count = 0;
	RB_FOREACH (sort, class_tree, &slots->classes) {
		size_t needed = needed_count(sort);
		sort->surplus = sort->slot_count > needed ? sort->slot_count - needed : 0;
	}
	for (size_t i = slots->group_count; i-- != 0;) {
		struct group *group = slots->groups[i];
		if (group->sort == NULL || group->used_count != 0 ||
			group->idle_looks < SLOTS_IDLE_LOOKS || group->sort->surplus < group->size)
			continue;
		group->sort->surplus -= group->size;
		count++;
		if (is_release)
			release(slots, group);
	}
	return count;
}

size_t slots_count_idle(struct slots *slots)
{
	return pick_idle(slots, false);
}

size_t slots_release_idle(struct slots *slots)
{
	return pick_idle(slots, true);
}

/* ---- lifecycle ---- */

void slots_fini_groups(struct slots *slots)
{
	struct slot_class *sort;
	struct slot_share *share;
	while ((share = RB_ROOT(&slots->shares)) != NULL) {
		RB_REMOVE(slot_share_tree, &slots->shares, share);
		free(share);
	}
	for (size_t i = 0; i < slots->group_count; i++)
		free_group(slots->groups[i]);
	free(slots->groups);
	while ((sort = RB_ROOT(&slots->classes)) != NULL)
		drop_class(slots, sort);
}
