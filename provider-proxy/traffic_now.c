// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/traffic_now.h"

#include "common/arena.h"
#include "common/tree.h"
#include "common/xalloc.h"
#include "provider-proxy/checks.h"
#include "provider-proxy/names.h"
#include "provider-proxy/traffic_lines.h"

#include <stdlib.h>

struct traffic_owner {
	RB_ENTRY(traffic_owner) node;
	struct str name;
	int64_t active;
};

struct endpoint {
	RB_ENTRY(endpoint) node;
	struct str pool;
	struct str ip;
	uint16_t port;
};

RB_HEAD(owner_tree, traffic_owner);
RB_HEAD(endpoint_tree, endpoint);

struct traffic_now {
	struct arena arena;
	struct owner_tree owners;
	struct endpoint_tree out;
	size_t ingresses; /* neither of those that are none */
	size_t ingresses_max;
	size_t out_count;
};

static int compare_owners(const struct traffic_owner *a, const struct traffic_owner *b)
{
	return str_cmp(a->name, b->name);
}

static int compare_endpoints(const struct endpoint *a, const struct endpoint *b)
{
	int order = str_cmp(a->ip, b->ip);
	if (order == 0)
		order = (a->port > b->port) - (a->port < b->port);
	return order != 0 ? order : str_cmp(a->pool, b->pool);
}

RB_GENERATE_LOCAL(owner_tree, traffic_owner, node, compare_owners)
RB_GENERATE_LOCAL(endpoint_tree, endpoint, node, compare_endpoints)

static bool next_word(struct str *rest, struct str *ret_word)
{
	*ret_word = str_cut(rest, ' ');
	return ret_word->len != 0;
}

/* ---- Ingresses ---- */

static struct traffic_owner *add_owner(struct traffic_now *now, struct str name)
{
	struct traffic_owner *owner = arena_calloc(&now->arena, 1, sizeof(*owner));
	owner->name = arena_str(&now->arena, name);
	RB_INSERT(owner_tree, &now->owners, owner);
	return owner;
}

static struct traffic_owner *owner_of(struct traffic_now *now, struct str name)
{
	struct traffic_owner key = {.name = name};
	struct traffic_owner *owner = RB_FIND(owner_tree, &now->owners, &key);
	bool is_none = str_eq_c(name, TRAFFIC_NONE) || str_eq_c(name, TRAFFIC_OTHERS);
	if (owner != NULL || is_none)
		return owner != NULL ? owner : add_owner(now, name);
	if (now->ingresses == now->ingresses_max)
		return owner_of(now, str_from(TRAFFIC_OTHERS));
	now->ingresses++;
	return add_owner(now, name);
}

void traffic_now_add_active(struct traffic_now *now, struct str name, int64_t count)
{
	struct traffic_owner *owner = owner_of(now, name);
	owner->active = count <= INT64_MAX - owner->active ? owner->active + count : INT64_MAX;
}

const struct traffic_owner *traffic_now_next(
	const struct traffic_now *now, const struct traffic_owner *owner)
{
	/* The trees of libbsd take no const. */
	struct traffic_owner *last = (void *)(uintptr_t)owner;
	return last != NULL ? RB_NEXT(owner_tree, &now->owners, last)
			    : RB_MIN(owner_tree, (struct owner_tree *)(uintptr_t)&now->owners);
}

struct str traffic_owner_name(const struct traffic_owner *owner)
{
	return owner->name;
}

int64_t traffic_owner_active(const struct traffic_owner *owner)
{
	return owner->active;
}

/* ---- endpoints ---- */

void traffic_now_add_out(struct traffic_now *now, struct str pool, struct str ip, uint16_t port)
{
	struct endpoint key = {.pool = pool, .ip = ip, .port = port};
	if (now->out_count == TRAFFIC_OUT_MAX || RB_FIND(endpoint_tree, &now->out, &key) != NULL)
		return;
	struct endpoint *added = arena_calloc(&now->arena, 1, sizeof(*added));
	*added = (struct endpoint){.pool = arena_str(&now->arena, pool),
		.ip = arena_str(&now->arena, ip),
		.port = port};
	RB_INSERT(endpoint_tree, &now->out, added);
	now->out_count++;
}

bool traffic_now_is_out(
	const struct traffic_now *now, struct str pool, struct str ip, uint16_t port)
{
	struct endpoint_tree *out = (struct endpoint_tree *)(uintptr_t)&now->out;
	struct endpoint of_pool = {.pool = pool, .ip = ip, .port = port};
	struct endpoint of_all = {.pool = STR("-"), .ip = ip, .port = port};
	return RB_FIND(endpoint_tree, out, &of_pool) != NULL ||
	       RB_FIND(endpoint_tree, out, &of_all) != NULL;
}

/* ---- lines ---- */

static bool is_owner(struct str name)
{
	return check_owner(name) || str_eq_c(name, TRAFFIC_NONE) || str_eq_c(name, TRAFFIC_OTHERS);
}

static void take_active(struct traffic_now *now, struct str rest)
{
	struct str name;
	int64_t count;
	if (next_word(&rest, &name) && is_owner(name) && str_to_int(rest, 0, INT64_MAX, &count))
		traffic_now_add_active(now, name, count);
}

static void take_out(struct traffic_now *now, struct str rest)
{
	struct str pool;
	struct str address;
	struct check_ip ip;
	int64_t port;
	bool is_read = next_word(&rest, &pool) && next_word(&rest, &address) &&
		       str_to_int(rest, 1, UINT16_MAX, &port) && check_ip(address, &ip);
	if (is_read && (name_is_one(NAME_POOL, pool) || str_eq_c(pool, "-")))
		traffic_now_add_out(now, pool, str_from(ip.text), (uint16_t)port);
}

void traffic_now_take(struct traffic_now *now, struct str line)
{
	struct str word;
	if (!next_word(&line, &word))
		return;
	if (str_eq_c(word, TRAFFIC_ACTIVE))
		take_active(now, line);
	else if (str_eq_c(word, TRAFFIC_OUT))
		take_out(now, line);
	else if (is_owner(word))
		(void)owner_of(now, word);
}

struct traffic_now *traffic_now_new(size_t ingresses_max)
{
	struct traffic_now *now = xcalloc(1, sizeof(*now));
	arena_init(&now->arena);
	RB_INIT(&now->owners);
	RB_INIT(&now->out);
	now->ingresses_max = ingresses_max;
	return now;
}

void traffic_now_free(struct traffic_now *now)
{
	if (now == NULL)
		return;
	arena_fini(&now->arena);
	free(now);
}
