// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/wanted_builder.h"

#include "common/must.h"
#include "provider-elb/group_settings.h"
#include "provider-elb/networks.h"

#include <stdlib.h>

enum {
	STATUS_NO_RULE = 404,
	STATUS_NO_TARGET = 503,
	FORWARD_WEIGHT = 1,
};

/* A pool that something leads to. */
struct use {
	struct str pool;
	size_t order;  /* the first one that asks for it */
	bool is_plain; /* a listener for plain HTTP does */
	bool is_other; /* another one does */
	bool is_http2;
	struct elb_action action;
};

struct uses {
	struct use *items;
	size_t count;
};

/* ---- actions ---- */

static struct elb_action answer(uint64_t status, struct str body)
{
	return (struct elb_action){.type = ELB_FIXED_RESPONSE, .status = status, .body = body};
}

static struct elb_action no_backend(void)
{
	return answer(STATUS_NO_TARGET, STR("Backend service does not exist"));
}

static struct elb_action forward(struct wanted_builder *b, struct str group)
{
	struct elb_action action = {.type = ELB_FORWARD};
	struct elb_forward *place = arena_push(
		b->arena, (void **)&action.groups.items, &action.groups.count, sizeof(*place));
	*place = (struct elb_forward){group, FORWARD_WEIGHT};
	return action;
}

/* ---- groups ---- */

static struct str service_of(const struct wanted_builder *b, const struct pool *pool)
{
	return arena_printf(b->arena, "%.*s/%.*s", STR_FMT(pool->service.namespace),
		STR_FMT(pool->service.name));
}

static void tell_endpoints(
	struct wanted_builder *b, const struct pool *pool, const struct elb_group *group)
{
	size_t families[2] = {0, 0};
	bool has_refused = false;
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		struct str ip = pool->endpoints.items[i].ip;
		families[str_find(ip, ':') != NULL]++;
		has_refused |= networks_place(b->settings->networks, ip) == NETWORK_REFUSED;
	}
	if (has_refused)
		notices_add_service(&b->notices, NOTICE_ENDPOINT_ADDRESS, service_of(b, pool));
	if (families[0] == 0 && families[1] != 0 && !group->is_ipv6)
		notices_add_service(&b->notices, NOTICE_ENDPOINT_IPV6, service_of(b, pool));
	else if (families[0] != 0 && families[1] != 0)
		notices_add_service(&b->notices, NOTICE_ENDPOINT_FAMILY, service_of(b, pool));
}

/* An AWS load balancer checks no certificate: requests that need that must not be sent. */
static bool must_verify(const struct pool *pool)
{
	return pool->protocol == POOL_HTTPS && pool->tls != NULL &&
	       pool->tls->verify != TLS_VERIFY_OFF;
}

static void tell_tls(struct wanted_builder *b, const struct pool *pool)
{
	if (pool->tls != NULL &&
		(pool->tls->server_name.len != 0 || pool->tls->client_chain.len != 0))
		notices_add_service(&b->notices, NOTICE_CLIENT_CERTIFICATE, service_of(b, pool));
}

/* NULL: requests for the pool get no target, and why is told. */
static struct elb_group *add_group(struct wanted_builder *b, const struct pool *pool)
{
	struct wanted_balancer *balancer = b->balancer;
	bool is_network = balancer->type == ELB_NETWORK;
	if (pool->external_name.len != 0) {
		notices_add_service(&b->notices, NOTICE_EXTERNAL_NAME, service_of(b, pool));
		return NULL;
	}
	if (!is_network && must_verify(pool)) {
		notices_add_service(&b->notices, NOTICE_TLS_VERIFY, service_of(b, pool));
		return NULL;
	}
	if (balancer->groups.count >= b->settings->groups_max) {
		notices_add_service(&b->notices, NOTICE_GROUP_QUOTA, service_of(b, pool));
		return NULL;
	}
	struct elb_group *group = arena_push(b->arena, (void **)&balancer->groups.items,
		&balancer->groups.count, sizeof(*group));
	group_settings_make(b, pool, group);
	tell_endpoints(b, pool, group);
	if (!is_network)
		tell_tls(b, pool);
	return group;
}

/* AWS sends HTTP/2 to targets only from listeners for HTTPS ("Listener protocol 'HTTP' is not supported with a target group with the protocol-version 'HTTP2'");
 * a group that nothing leads to is not made. */
static void resolve(struct wanted_builder *b, struct use *use)
{
	const struct pool *pool = b->lookup->find_pool(b->lookup->ctx, use->pool);
	use->action = no_backend();
	if (pool == NULL)
		return;
	use->is_http2 = b->balancer->type == ELB_APPLICATION && group_settings_is_http2(pool);
	if (use->is_http2 && use->is_plain)
		notices_add_service(&b->notices, NOTICE_HTTP2, service_of(b, pool));
	if (use->is_http2 && !use->is_other)
		return;
	const struct elb_group *group = add_group(b, pool);
	if (group != NULL)
		use->action = forward(b, group->name);
}

/* ---- pools ---- */

static void push_use(
	struct wanted_builder *b, struct uses *uses, struct str pool, enum elb_protocol protocol)
{
	if (pool.len == 0)
		return;
	size_t order = uses->count;
	struct use *place =
		arena_push(b->arena, (void **)&uses->items, &uses->count, sizeof(*place));
	*place = (struct use){
		.pool = pool,
		.order = order,
		.is_plain = protocol == ELB_HTTP,
		.is_other = protocol != ELB_HTTP,
	};
}

static int compare_pools(const void *left, const void *right)
{
	const struct use *a = left;
	const struct use *b = right;
	int order = str_cmp(a->pool, b->pool);
	return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static int compare_orders(const void *left, const void *right)
{
	const struct use *a = left;
	const struct use *b = right;
	return (a->order > b->order) - (a->order < b->order);
}

static void sort(struct uses *uses, int (*compare)(const void *, const void *))
{
	if (uses->count != 0)
		qsort(uses->items, uses->count, sizeof(*uses->items), compare);
}

/* Sorts by pool. */
static void merge(struct uses *uses)
{
	size_t count = uses->count;
	sort(uses, compare_pools);
	uses->count = 0;
	for (size_t i = 0; i < count; i++) {
		struct use *last = uses->count != 0 ? &uses->items[uses->count - 1] : NULL;
		if (last == NULL || !str_eq(last->pool, uses->items[i].pool)) {
			uses->items[uses->count++] = uses->items[i];
			continue;
		}
		last->is_plain |= uses->items[i].is_plain;
		last->is_other |= uses->items[i].is_other;
	}
}

/* Each pool once. When there are too many, those that are asked for first have their groups: what listeners do by default, then rules in their order. */
static void gather(struct wanted_builder *b, struct uses *uses)
{
	for (size_t i = 0; i < b->drafts.count; i++)
		push_use(b, uses, b->drafts.items[i].pool, b->drafts.items[i].listener.protocol);
	for (size_t i = 0; i < b->drafts.count; i++) {
		const struct draft_listener *draft = &b->drafts.items[i];
		for (size_t k = 0; k < draft->rules.count; k++)
			push_use(b, uses, draft->rules.items[k].pool, draft->listener.protocol);
	}
	merge(uses);
	sort(uses, compare_orders);
	for (size_t i = 0; i < uses->count; i++)
		resolve(b, &uses->items[i]);
	sort(uses, compare_pools);
}

static int compare_key(const void *key, const void *item)
{
	return str_cmp(*(const struct str *)key, ((const struct use *)item)->pool);
}

static struct elb_action action_of(
	const struct uses *uses, struct str pool, enum elb_protocol protocol)
{
	if (pool.len == 0)
		return answer(STATUS_NO_RULE, STR("Not found"));
	const struct use *use =
		bsearch(&pool, uses->items, uses->count, sizeof(*uses->items), compare_key);
	must(use != NULL);
	return use->is_http2 && protocol == ELB_HTTP ? no_backend() : use->action;
}

/* ---- into the balancer ---- */

static void put_rules(struct wanted_builder *b, const struct uses *uses,
	const struct draft_listener *draft, struct elb_listener *listener)
{
	size_t count = draft->rules.count;
	listener->rules.items = arena_calloc(b->arena, count + 1, sizeof(struct elb_rule));
	listener->rules.count = count;
	for (size_t i = 0; i < count; i++) {
		const struct draft_rule *from = &draft->rules.items[i];
		struct elb_rule *rule = &listener->rules.items[i];
		*rule = from->rule;
		rule->action = from->does_default ? listener->default_action
						  : action_of(uses, from->pool, listener->protocol);
	}
}

static void put_listener(
	struct wanted_builder *b, const struct uses *uses, struct draft_listener *draft)
{
	struct elb_listener *listener = &draft->listener;
	listener->default_action = action_of(uses, draft->pool, listener->protocol);
	/* A network load balancer has no answers of its own. */
	if (b->balancer->type == ELB_NETWORK && listener->default_action.type != ELB_FORWARD) {
		notices_add(&b->notices, NOTICE_POOL_UNKNOWN, draft->ingress,
			arena_printf(b->arena, "port %llu", (unsigned long long)listener->port));
		return;
	}
	put_rules(b, uses, draft, listener);
	struct elb_listener *place = arena_push(b->arena, (void **)&b->balancer->listeners.items,
		&b->balancer->listeners.count, sizeof(*place));
	*place = *listener;
}

static int compare_names(const void *left, const void *right)
{
	return str_cmp(
		((const struct elb_group *)left)->name, ((const struct elb_group *)right)->name);
}

void wanted_groups_add(struct wanted_builder *b)
{
	struct uses uses = {.count = 0};
	gather(b, &uses);
	for (size_t i = 0; i < b->drafts.count; i++)
		put_listener(b, &uses, &b->drafts.items[i]);
	if (b->balancer->groups.count != 0)
		qsort(b->balancer->groups.items, b->balancer->groups.count,
			sizeof(struct elb_group), compare_names);
}
