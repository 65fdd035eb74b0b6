// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/slots.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdio.h>

/* Which slot a pool has. */
struct pool_slot {
	RB_ENTRY(pool_slot) node;
	struct name pool;
	struct slot *slot;
};

static int compare_classes(const struct slot_class *a, const struct slot_class *b)
{
	int order = strcmp(a->lines, b->lines);
	return order != 0 ? order : strcmp(a->server, b->server);
}

static int compare_servers(const struct server *a, const struct server *b)
{
	return strcmp(a->name, b->name);
}

static int compare_pools(const struct pool_slot *a, const struct pool_slot *b)
{
	return strcmp(a->pool.text, b->pool.text);
}

static int compare_shares(const struct slot_share *a, const struct slot_share *b)
{
	return (a->space > b->space) - (a->space < b->space);
}

RB_GENERATE_LOCAL(slot_share_tree, slot_share, node, compare_shares)
RB_GENERATE_LOCAL(class_tree, slot_class, node, compare_classes)
RB_GENERATE_LOCAL(server_tree, server, node, compare_servers)
RB_GENERATE_LOCAL(pool_slot_tree, pool_slot, node, compare_pools)

/* ---- classes and groups ---- */

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

struct slot *slots_by_name(const struct slots *slots, struct str name)
{
	int64_t number = 0;
	if (name.len != SLOT_NAME_LEN || name.p[0] != 's')
		return NULL;
	for (size_t i = 1; i < name.len; i++) {
		if (name.p[i] < '0' || name.p[i] > '9')
			return NULL;
		number = number * 10 + (name.p[i] - '0');
	}
	size_t group = (size_t)number / SLOTS_PER_GROUP;
	size_t place = (size_t)number % SLOTS_PER_GROUP;
	if (group >= slots->group_count || place >= slots->groups[group]->size)
		return NULL;
	return &slots->groups[group]->slots[place];
}

/* ---- pools ---- */

static struct pool_slot *find_pool(const struct slots *slots, const struct name *pool)
{
	struct pool_slot wanted = {.pool = *pool};
	return RB_FIND(
		pool_slot_tree, (struct pool_slot_tree *)(uintptr_t)&slots->by_pool, &wanted);
}

struct slot *slots_of_pool(const struct slots *slots, const struct name *pool)
{
	const struct pool_slot *found = find_pool(slots, pool);
	return found != NULL ? found->slot : NULL;
}

static void take_from_free(struct slot *slot)
{
	if (!slot->is_free)
		return;
	TAILQ_REMOVE(&slot->group->sort->free, slot, link);
	slot->group->sort->used_count++;
	slot->is_free = false;
}

static void give_back(struct slots *slots, struct slot *slot)
{
	if (slot->is_free || slot->pool.text[0] != 0 || slot->reserved.text[0] != 0 ||
		!RB_EMPTY(&slot->servers))
		return;
	(void)slots;
	TAILQ_INSERT_TAIL(&slot->group->sort->free, slot, link);
	slot->group->sort->used_count--;
	slot->is_free = true;
}

void slots_reserve(struct slots *slots, struct slot *slot, const struct name *pool)
{
	if (slot->pool.text[0] != 0 || slot->reserved.text[0] != 0 ||
		find_pool(slots, pool) != NULL)
		return;
	take_from_free(slot);
	slot->reserved = *pool;
	struct pool_slot *place = xcalloc(1, sizeof(*place));
	place->pool = *pool;
	place->slot = slot;
	RB_INSERT(pool_slot_tree, &slots->by_pool, place);
}

void slots_end_reserving(struct slots *slots)
{
	struct pool_slot *place;
	struct pool_slot *next;
	RB_FOREACH_SAFE (place, pool_slot_tree, &slots->by_pool, next) {
		struct slot *slot = place->slot;
		if (slot->reserved.text[0] == 0)
			continue;
		slot->reserved.text[0] = 0;
		if (slot->pool.text[0] == 0) {
			RB_REMOVE(pool_slot_tree, &slots->by_pool, place);
			free(place);
			slots_touch(slot);
			slots_settle(slots, slot);
		}
	}
}

struct slot *slots_take(struct slots *slots, struct slot_class *sort, const struct name *pool)
{
	struct pool_slot *place = find_pool(slots, pool);
	struct slot *slot = place != NULL ? place->slot : NULL;
	if (slot == NULL || slot->group->sort != sort) {
		struct slot *old = slot;
		slot = TAILQ_FIRST(&sort->free);
		if (slot == NULL)
			return NULL;
		take_from_free(slot);
		if (old != NULL)
			old->reserved.text[0] = 0;
	}
	if (place == NULL) {
		place = xcalloc(1, sizeof(*place));
		place->pool = *pool;
		RB_INSERT(pool_slot_tree, &slots->by_pool, place);
	}
	place->slot = slot;
	slot->pool = *pool;
	slot->reserved.text[0] = 0;
	return slot;
}

void slots_leave(struct slots *slots, struct slot *slot)
{
	struct pool_slot *place = find_pool(slots, &slot->pool);
	if (place != NULL && place->slot == slot) {
		RB_REMOVE(pool_slot_tree, &slots->by_pool, place);
		free(place);
	}
	slot->pool.text[0] = 0;
	slots_begin_servers(slot);
	slots_touch(slot);
	slots_settle(slots, slot);
}

/* ---- servers ---- */

static void name_server(
	char out[SERVER_NAME_LEN_MAX], const struct check_ip *ip, uint16_t port, struct str trust)
{
	snprintf(out, SERVER_NAME_LEN_MAX, "%s_%u%s%.*s", ip->text, port, trust.len != 0 ? "_" : "",
		STR_FMT(trust));
	/* A colon is what HAProxy takes for a port in some places. */
	for (char *c = out; *c != 0; c++)
		*c = *c == ':' ? '-' : *c;
}

struct server *slots_find_server(struct slot *slot, struct str name)
{
	struct server wanted;
	if (name.len == 0 || name.len >= sizeof(wanted.name))
		return NULL;
	str_put(wanted.name, name);
	wanted.name[name.len] = 0;
	return RB_FIND(server_tree, &slot->servers, &wanted);
}

static struct server *find_or_add(
	struct slot *slot, const char *name, const struct check_ip *ip, uint16_t port)
{
	struct server *server = slots_find_server(slot, str_from(name));
	if (server != NULL)
		return server;
	server = xcalloc(1, sizeof(*server));
	server->ip = *ip;
	server->port = port;
	snprintf(server->name, sizeof(server->name), "%s", name);
	RB_INSERT(server_tree, &slot->servers, server);
	return server;
}

void slots_set_words(struct slot *slot, const char *words, const struct trust *trust)
{
	free(slot->words);
	slot->words = words != NULL ? xstrdup(words) : NULL;
	slot->trust = words != NULL ? *trust : (struct trust){0};
}

void slots_begin_servers(struct slot *slot)
{
	struct server *server;
	RB_FOREACH (server, server_tree, &slot->servers)
		server->is_wanted = false;
}

void slots_want_server(struct slots *slots, struct slot *slot, const struct check_ip *ip,
	uint16_t port, bool is_active)
{
	char name[SERVER_NAME_LEN_MAX];
	(void)slots;
	name_server(name, ip, port, str_from(slot->trust.whole.text));
	struct server *server = find_or_add(slot, name, ip, port);
	server->is_wanted = true;
	server->is_busy = false;
	server->weight = is_active ? SERVER_WEIGHT : 0;
}

void slots_end_servers(struct slots *slots, struct slot *slot)
{
	slots_touch(slot);
	slots_settle(slots, slot);
}

struct server *slots_found_server(struct slots *slots, struct slot *slot, struct str name,
	const struct check_ip *ip, uint16_t port)
{
	char expected[SERVER_NAME_LEN_MAX];
	(void)slots;
	struct str trust = STR("");
	if (name.len > NAME_LEN)
		trust = str_skip(name, name.len - NAME_LEN);
	name_server(expected, ip, port, name_is_one(NAME_TRUST, trust) ? trust : STR(""));
	if (!str_eq_c(name, expected))
		return NULL;
	take_from_free(slot);
	return find_or_add(slot, expected, ip, port);
}

static bool differs(const struct server *server)
{
	if (server->is_deleting)
		return false;
	if (!server->is_wanted)
		return server->has != SERVER_ABSENT && !server->is_busy;
	if (server->is_refused)
		return false;
	return server->has != SERVER_READY || server->has_weight != server->weight;
}

void slots_settle(struct slots *slots, struct slot *slot)
{
	bool is_dirty = false;
	struct server *server;
	struct server *next;
	RB_FOREACH_SAFE (server, server_tree, &slot->servers, next) {
		if (!server->is_wanted && server->has == SERVER_ABSENT) {
			RB_REMOVE(server_tree, &slot->servers, server);
			free(server);
			continue;
		}
		is_dirty = is_dirty || differs(server);
	}
	if (is_dirty && !slot->is_dirty)
		TAILQ_INSERT_TAIL(&slots->dirty, slot, dirty);
	else if (!is_dirty && slot->is_dirty)
		TAILQ_REMOVE(&slots->dirty, slot, dirty);
	slot->is_dirty = is_dirty;
	give_back(slots, slot);
}

void slots_touch(struct slot *slot)
{
	slot->group->is_changed = true;
}

void slots_forget_has(struct slots *slots)
{
	for (size_t i = 0; i < slots->group_count; i++) {
		for (size_t j = 0; j < slots->groups[i]->size; j++) {
			struct slot *slot = &slots->groups[i]->slots[j];
			struct server *server;
			RB_FOREACH (server, server_tree, &slot->servers) {
				server->has = SERVER_ABSENT;
				server->is_refused = server->is_deleting = server->is_busy = false;
			}
			if (!slot->is_free)
				slots_settle(slots, slot);
		}
	}
}

void slots_end_doubts(struct slots *slots)
{
	for (size_t i = 0; i < slots->group_count; i++)
		slots->groups[i]->is_doubted =
			slots->groups[i]->is_doubted && !slots->groups[i]->is_written;
}

void slots_retry_busy(struct slots *slots)
{
	for (size_t i = 0; i < slots->group_count; i++) {
		for (size_t j = 0; j < slots->groups[i]->size; j++) {
			struct slot *slot = &slots->groups[i]->slots[j];
			struct server *server;
			bool any = false;
			RB_FOREACH (server, server_tree, &slot->servers) {
				any = any || server->is_busy;
				server->is_busy = false;
			}
			if (any)
				slots_settle(slots, slot);
		}
	}
}

struct server *slot_first_server(struct slot *slot)
{
	return RB_MIN(server_tree, &slot->servers);
}

struct server *slot_next_server(struct server *server)
{
	return server_tree_RB_NEXT(server);
}

/* ---- */

void slots_init(struct slots *slots)
{
	*slots = (struct slots){0};
	RB_INIT(&slots->classes);
	RB_INIT(&slots->by_pool);
	TAILQ_INIT(&slots->dirty);
}

static void free_group(struct group *group)
{
	for (size_t i = 0; i < group->size; i++) {
		struct server *server;
		while ((server = RB_ROOT(&group->slots[i].servers)) != NULL) {
			RB_REMOVE(server_tree, &group->slots[i].servers, server);
			free(server);
		}
		free(group->slots[i].words);
	}
	free(group);
}

void slots_fini(struct slots *slots)
{
	struct pool_slot *place;
	struct slot_class *sort;
	struct slot_share *share;
	while ((share = RB_ROOT(&slots->shares)) != NULL) {
		RB_REMOVE(slot_share_tree, &slots->shares, share);
		free(share);
	}
	for (size_t i = 0; i < slots->group_count; i++)
		free_group(slots->groups[i]);
	free(slots->groups);
	while ((place = RB_ROOT(&slots->by_pool)) != NULL) {
		RB_REMOVE(pool_slot_tree, &slots->by_pool, place);
		free(place);
	}
	while ((sort = RB_ROOT(&slots->classes)) != NULL) {
		RB_REMOVE(class_tree, &slots->classes, sort);
		free(sort->lines);
		free(sort->server);
		free(sort);
	}
}
