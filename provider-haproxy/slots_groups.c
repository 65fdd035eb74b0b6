// SPDX-License-Identifier: Apache-2.0
/* Classes of slots and the groups in which they come. */
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
	sort->is_sticky = strstr(lines, "dynamic-cookie-key") != NULL;
	sort->is_checked = strstr(server, " check ") != NULL;
	sort->is_common = !sort->is_sticky && !sort->is_checked;
	TAILQ_INIT(&sort->free);
	RB_INSERT(class_tree, &slots->classes, sort);
	return sort;
}

struct group *slots_add_group(struct slots *slots, struct slot_class *sort, uint32_t size)
{
	if (slots->group_count == SLOTS_GROUPS_MAX ||
		(!sort->is_common && slots->rare_count == SLOTS_RARE_GROUPS_MAX))
		return NULL;
	struct group *group = xcalloc(1, sizeof(*group));
	group->number = (uint32_t)slots->group_count;
	group->sort = sort;
	group->is_changed = true;
	if (size == 0 || size > SLOTS_PER_GROUP)
		size = sort->is_common ? SLOTS_PER_GROUP : SLOTS_PER_RARE_GROUP;
	group->size = size;
	slots->rare_count += !sort->is_common;
	for (uint32_t i = 0; i < size; i++) {
		struct slot *slot = &group->slots[i];
		slot->group = group;
		slot->number = group->number * SLOTS_PER_GROUP + i;
		slot->is_free = true;
		snprintf(slot->name, sizeof(slot->name), "s%06u", slot->number % 1000000);
		RB_INIT(&slot->servers);
		TAILQ_INSERT_TAIL(&sort->free, slot, link);
	}
	sort->slot_count += size;
	slots->groups =
		xreallocarray(slots->groups, slots->group_count + 1, sizeof(struct group *));
	slots->groups[slots->group_count++] = group;
	return group;
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

enum slots_growth slots_grow(
	struct slots *slots, struct slot_class *sort, size_t more, uint64_t space)
{
	while (sort->slot_count < sort->used_count + more) {
		struct slot_share *share =
			sort->is_common || space == 0 ? NULL : share_of(slots, space);
		size_t left = SLOTS_RARE_GROUPS_MAX - slots->rare_count;
		if (share != NULL && share->group_count != 0 && share->group_count >= left)
			return SLOTS_SHARE;
		if (slots_add_group(slots, sort, 0) == NULL)
			return SLOTS_FULL;
		if (share != NULL)
			share->group_count++;
	}
	return SLOTS_GROWN;
}

static void free_group(struct group *group)
{
	for (size_t i = 0; i < group->size; i++)
		free(group->slots[i].words);
	free(group);
}

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
	while ((sort = RB_ROOT(&slots->classes)) != NULL) {
		RB_REMOVE(class_tree, &slots->classes, sort);
		free(sort->lines);
		free(sort->server);
		free(sort);
	}
}
