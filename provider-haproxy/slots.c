// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/slots.h"

#include "common/xalloc.h"

struct pool_slot {
	RB_ENTRY(pool_slot) node;
	struct name pool;
	struct slot *slot;
};

static int compare_servers(const struct server *a, const struct server *b)
{
	return strcmp(a->name, b->name);
}

static int compare_pools(const struct pool_slot *a, const struct pool_slot *b)
{
	return strcmp(a->pool.text, b->pool.text);
}

RB_GENERATE_LOCAL(server_tree, server, node, compare_servers)
RB_GENERATE_LOCAL(pool_slot_tree, pool_slot, node, compare_pools)

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

static void take_from_free(struct slots *slots, struct slot *slot)
{
	if (!slot->is_free)
		return;
	struct group *group = slot->group;
	TAILQ_REMOVE(&group->sort->free, slot, link);
	group->sort->used_count++;
	if (group->used_count++ == 0 && !group->sort->is_common)
		slots->rare_idle_count--;
	slot->is_free = false;
}

static void give_back(struct slots *slots, struct slot *slot)
{
	if (slot->is_free || slot->pool.text[0] != 0 || slot->reserved.text[0] != 0 ||
		!RB_EMPTY(&slot->servers))
		return;
	struct group *group = slot->group;
	TAILQ_INSERT_TAIL(&group->sort->free, slot, link);
	group->sort->used_count--;
	if (--group->used_count == 0) {
		group->idle_looks = 0;
		slots->rare_idle_count += !group->sort->is_common;
	}
	slot->is_free = true;
}

void slots_reserve(struct slots *slots, struct slot *slot, const struct name *pool)
{
	if (slot->pool.text[0] != 0 || slot->reserved.text[0] != 0 ||
		find_pool(slots, pool) != NULL)
		return;
	take_from_free(slots, slot);
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
		take_from_free(slots, slot);
		if (old != NULL)
			old->reserved.text[0] = 0;
	}
	if (place == NULL) {
		place = xcalloc(1, sizeof(*place));
		place->pool = *pool;
		RB_INSERT(pool_slot_tree, &slots->by_pool, place);
	}
	place->slot = slot;
	if (slot->pool.text[0] == 0)
		slots_touch(slot);
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
	slot->is_left = true;
	slots_touch(slot);
	slots_settle(slots, slot);
}

/* ---- servers ---- */

static void name_server(
	char out[SERVER_NAME_LEN_MAX], const struct check_ip *ip, uint16_t port, struct str trust)
{
	char digits[STR_UINT_LEN];
	(void)str_join(out, SERVER_NAME_LEN_MAX,
		STR_PARTS(str_from(ip->text), STR("_"), str_from_uint(port, digits),
			trust.len != 0 ? STR("_") : STR(""), trust));
	/* HAProxy takes a colon for the start of a port in some places. */
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
	(void)str_join(server->name, sizeof(server->name), STR_PARTS(str_from(name)));
	RB_INSERT(server_tree, &slot->servers, server);
	return server;
}

void slots_set_words(struct slot *slot, const char *words, const struct trust *trust)
{
	/* CAs and client certificates that no file names any more are removed. */
	if ((words != NULL) != (slot->words != NULL) ||
		(words != NULL && strcmp(words, slot->words) != 0))
		slots_touch(slot);
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
	name_server(name, ip, port, str_from(slot->trust.whole.text));
	struct server *server = find_or_add(slot, name, ip, port);
	server->is_wanted = true;
	server->is_busy = false;
	server->retries = 0;
	server->weight = is_active ? SERVER_WEIGHT : 0;
}

void slots_end_servers(struct slots *slots, struct slot *slot)
{
	slot->group->is_changed = true;
	slots_settle(slots, slot);
}

struct server *slots_found_server(struct slots *slots, struct slot *slot, struct str name,
	const struct check_ip *ip, uint16_t port)
{
	char expected[SERVER_NAME_LEN_MAX];
	struct str trust = STR("");
	if (name.len > NAME_LEN)
		trust = str_skip(name, name.len - NAME_LEN);
	name_server(expected, ip, port, name_is_one(NAME_TRUST, trust) ? trust : STR(""));
	if (!str_eq_c(name, expected))
		return NULL;
	take_from_free(slots, slot);
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
	bool is_busy = false;
	struct server *server;
	struct server *next;
	RB_FOREACH_SAFE (server, server_tree, &slot->servers, next) {
		if (!server->is_wanted && server->has == SERVER_ABSENT) {
			RB_REMOVE(server_tree, &slot->servers, server);
			free(server);
			continue;
		}
		is_dirty = is_dirty || differs(server);
		is_busy = is_busy || server->is_busy;
	}
	if (is_dirty && !slot->is_dirty)
		TAILQ_INSERT_TAIL(&slots->dirty, slot, dirty);
	else if (!is_dirty && slot->is_dirty)
		TAILQ_REMOVE(&slots->dirty, slot, dirty);
	slot->is_dirty = is_dirty;
	if (is_busy && !slot->is_busy)
		TAILQ_INSERT_TAIL(&slots->busy, slot, busy);
	else if (!is_busy && slot->is_busy)
		TAILQ_REMOVE(&slots->busy, slot, busy);
	slot->is_busy = is_busy;
	give_back(slots, slot);
}

void slots_touch(struct slot *slot)
{
	slot->group->is_changed = true;
	slot->group->is_due = true;
}

bool slots_all_are_due(struct slots *slots)
{
	bool any = false;
	for (size_t i = 0; i < slots->group_count; i++) {
		struct group *group = slots->groups[i];
		group->is_due = group->is_changed;
		any = any || group->is_changed;
	}
	return any;
}

void slots_group_written(struct group *group)
{
	group->is_changed = group->is_due = false;
	for (size_t i = 0; i < group->size; i++)
		group->slots[i].is_left = false;
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

void slots_note_verified(struct slots *slots)
{
	for (size_t i = 0; i < slots->group_count; i++)
		slots->groups[i]->is_unverified =
			slots->groups[i]->is_unverified && !slots->groups[i]->is_written;
}

void slots_retry_busy(struct slots *slots, enum slots_retry which)
{
	struct slot *slot;
	struct slot *next;
	TAILQ_FOREACH_SAFE (slot, &slots->busy, busy, next) {
		struct server *server;
		RB_FOREACH (server, server_tree, &slot->servers) {
			if (which == SLOTS_RETRY_ALL || server->retries < SLOTS_QUICK_RETRIES)
				server->is_busy = false;
		}
		slots_settle(slots, slot);
	}
}

bool slots_any_busy(const struct slots *slots)
{
	return !TAILQ_EMPTY(&slots->busy);
}

struct server *slot_first_server(struct slot *slot)
{
	return RB_MIN(server_tree, &slot->servers);
}

struct server *slot_next_server(struct server *server)
{
	return server_tree_RB_NEXT(server);
}

/* ---- lifecycle ---- */

void slots_init(struct slots *slots)
{
	*slots = (struct slots){0};
	RB_INIT(&slots->classes);
	RB_INIT(&slots->by_pool);
	TAILQ_INIT(&slots->dirty);
	TAILQ_INIT(&slots->busy);
}

static void free_servers(struct slot *slot)
{
	struct server *server;
	while ((server = RB_ROOT(&slot->servers)) != NULL) {
		RB_REMOVE(server_tree, &slot->servers, server);
		free(server);
	}
}

void slots_fini(struct slots *slots)
{
	struct pool_slot *place;
	for (size_t i = 0; i < slots->group_count; i++) {
		for (size_t j = 0; j < slots->groups[i]->size; j++)
			free_servers(&slots->groups[i]->slots[j]);
	}
	while ((place = RB_ROOT(&slots->by_pool)) != NULL) {
		RB_REMOVE(pool_slot_tree, &slots->by_pool, place);
		free(place);
	}
	slots_fini_groups(slots);
}
