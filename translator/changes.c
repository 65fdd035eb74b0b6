// SPDX-License-Identifier: Apache-2.0
/*
 * What a changed record changes. The edges of an ingress are set anew, and what it no longer needs,
 * needs now, or needs differently is marked to be built again; a Service, slice, Secret or class is
 * looked up from, never searched for.
 */
#include "translator/state.h"

#include "common/must.h"
#include "common/slab.h"
#include "common/xalloc.h"
#include "translator/backend_tls.h"
#include "translator/keys.h"

#include <stdlib.h>

/* ---- objects ---- */

static bool has_users(struct node *node)
{
	return !LIST_EMPTY(node_users(node));
}

const struct secret_facts *secret_facts_get(struct engine *engine, struct secret_node *secret)
{
	if (secret->facts == NULL) {
		struct arena work;
		struct secret_record record;
		bool is_there = secret->record.packed != NULL;
		arena_init(&work);
		if (is_there)
			record_read(&secret->record, &work, &record);
		secret->facts =
			facts_new(is_there ? &record : NULL, engine->config.takes_keyless, &work);
		arena_fini(&work);
		struct tls_context tls = object_tls_context(engine);
		int64_t next_s = tls_next_change(&secret->facts->view, &tls);
		if (next_s < engine->next_change_s)
			engine->next_change_s = next_s;
	}
	return secret->facts;
}

static bool is_default(const struct engine *engine, const struct node *secret)
{
	return str_eq(node_name(secret), engine->config.default_name) &&
	       str_eq(node_namespace(secret), engine->config.default_namespace);
}

bool object_is_wanted(struct engine *engine, struct node *node)
{
	if (!has_users(node))
		return false;
	if (node->kind != NODE_SECRET)
		return true;
	/* A key goes nowhere where nobody asks for it. */
	struct secret_node *secret = (struct secret_node *)(void *)node;
	bool is_shown = engine->grouping != GROUPING_MERGED || !LIST_EMPTY(&secret->shown) ||
			is_default(engine, node);
	return is_shown && engine_can_serve(engine, STR("https")) &&
	       secret_facts_get(engine, secret)->view.problem == NULL;
}

void object_touch(struct engine *engine, struct node *node)
{
	/* A provider's batch tells the diagnostics along the way. */
	if (engine->provider_up)
		queue_push(&engine->dirty[object_order(node)], node);
	else
		said_ask(engine, node, SAID_CONTENT);
}

static void touch_pools(struct engine *engine, struct service_node *service)
{
	struct pool_node *pool;
	RB_FOREACH (pool, pool_tree, &service->pools)
		object_touch(engine, &pool->node);
}

/* ---- targets of an ingress ---- */

struct targets {
	struct node **items; /* sorted by address, each once */
	size_t count;
	struct host_node **hosts; /* of the plan's hosts, in its order */
	struct balancer_node *balancer;
};

static int compare_addresses(const void *left, const void *right)
{
	uintptr_t a = (uintptr_t) * (struct node *const *)left;
	uintptr_t b = (uintptr_t) * (struct node *const *)right;
	return (a > b) - (a < b);
}

static void sort_targets(struct targets *t)
{
	size_t kept = 0;
	if (t->count > 1)
		qsort(t->items, t->count, sizeof(*t->items), compare_addresses);
	for (size_t i = 0; i < t->count; i++) {
		if (kept == 0 || t->items[kept - 1] != t->items[i])
			t->items[kept++] = t->items[i];
	}
	t->count = kept;
}

static struct node *secret_target(struct engine *engine, struct str namespace, struct str name)
{
	struct str key = tls_certificate_id(&engine->scratch, namespace, name);
	return &graph_get(&engine->graph, NODE_SECRET, key)->node;
}

static struct node *pool_target(
	struct engine *engine, const struct plan *plan, const struct plan_pool *pool)
{
	struct str key = arena_printf(&engine->scratch, "%.*s/%.*s", STR_FMT(plan->self.namespace),
		STR_FMT(pool->service));
	struct service_node *service =
		(struct service_node *)(void *)graph_get(&engine->graph, NODE_SERVICE, key);
	return &graph_get_pool(service, pool->port)->node;
}

static void gather_secrets(struct engine *engine, const struct plan *plan, struct targets *t)
{
	for (size_t i = 0; i < plan->tls.count; i++) {
		if (!str_is_empty(plan->tls.items[i].secret))
			t->items[t->count++] = secret_target(
				engine, plan->self.namespace, plan->tls.items[i].secret);
	}
	struct str names[BACKEND_SECRETS_MAX];
	size_t count = backend_secrets(plan, names);
	for (size_t i = 0; i < count; i++)
		t->items[t->count++] = secret_target(engine, plan->self.namespace, names[i]);
	bool may_use_default = plan->tls.count != 0 || plan->scope == BALANCER_OF_CLASS;
	if (may_use_default && !str_is_empty(engine->config.default_name))
		t->items[t->count++] = secret_target(
			engine, engine->config.default_namespace, engine->config.default_name);
}

static void gather_claims(struct engine *engine, const struct plan *plan, struct targets *t)
{
	struct arena *arena = &engine->scratch;
	for (size_t i = 0; i < plan->names.count; i++)
		t->items[t->count++] =
			&graph_get_claim(t->balancer, claim_name_key(arena, plan->names.items[i]))
				 ->node;
	for (size_t i = 0; i < plan->ports.count; i++)
		t->items[t->count++] = &graph_get_claim(
			t->balancer, claim_port_key(arena, plan->ports.items[i].port))
						->node;
	if (!str_is_empty(plan->default_pool))
		t->items[t->count++] = &graph_get_claim(t->balancer, STR(CLAIM_DEFAULT))->node;
}

/* `plan` NULL: no record, no targets. */
static struct targets gather_targets(struct engine *engine, const struct plan *plan)
{
	struct targets t = {0};
	if (plan == NULL)
		return t;
	size_t most = 4 + BACKEND_SECRETS_MAX + plan->hosts.count + plan->pools.count +
		      plan->tls.count + plan->names.count + plan->ports.count;
	t.items = arena_calloc(&engine->scratch, most, sizeof(*t.items));
	t.hosts = arena_calloc(&engine->scratch, plan->hosts.count, sizeof(struct host_node *));
	if (!str_is_empty(plan->named_class))
		t.items[t.count++] =
			&graph_get(&engine->graph, NODE_CLASS, plan->named_class)->node;
	if (plan->is_ours) {
		t.balancer = graph_get_balancer(&engine->graph, plan->balancer);
		t.items[t.count++] = &t.balancer->node;
		for (size_t i = 0; i < plan->hosts.count; i++) {
			t.hosts[i] = graph_get_host(t.balancer, plan->hosts.items[i].host);
			t.items[t.count++] = &t.hosts[i]->node;
		}
		for (size_t i = 0; i < plan->pools.count; i++)
			t.items[t.count++] = pool_target(engine, plan, &plan->pools.items[i]);
		gather_secrets(engine, plan, &t);
		if (plan->scope == BALANCER_OF_CLASS)
			gather_claims(engine, plan, &t);
	}
	must(t.count <= most);
	sort_targets(&t);
	return t;
}

/* ---- joining and leaving ---- */

/* A server name for which TLS is passed through may bring a listener, or take it away. */
static void touch_listeners(struct engine *engine, const struct node *node)
{
	const struct host_node *host = (const void *)node;
	if (str_starts_with(node_key(node), STR(PLAN_PASSTHROUGH)) &&
		has_users(&host->balancer->node))
		object_touch(engine, &host->balancer->node);
}

static void joined(struct engine *engine, struct node *node, bool is_first)
{
	switch ((enum node_kind)node->kind) {
	case NODE_POOL:
	case NODE_SECRET:
	case NODE_BALANCER:
		/* Its content is the same for one user more; but one that has something to complain
		 * of says it to the new one, too. */
		if (is_first)
			batch_want_again(engine, node);
		if (is_first || (node->flags & (NODE_SENT | NODE_DIRTY)) == 0)
			object_touch(engine, node);
		else if ((node->flags & NODE_SAID) != 0)
			said_ask(engine, node, SAID_CONTENT);
		if (node->kind == NODE_BALANCER && (node->flags & NODE_SAID_STATUS) != 0)
			said_ask(engine, node, SAID_STATUS);
		return;
	case NODE_HOST:
		object_touch(engine, node);
		if (is_first)
			touch_listeners(engine, node);
		return;
	case NODE_CLAIM: /* claims_ask_of() */
	case NODE_CLASS:
	case NODE_INGRESS:
	case NODE_FRONT:
	case NODE_SERVICE:
	case NODE_SLICE:
	case NODE_PROBE:
	case NODE_KIND_COUNT:
		return;
	}
}

static void give_up(struct engine *engine, struct node *node)
{
	if (node->kind == NODE_SECRET && !has_users(node)) {
		struct secret_node *secret = (struct secret_node *)(void *)node;
		claims_forget_secret(engine, secret);
		facts_free(secret->facts);
		secret->facts = NULL;
	}
	said_drop(engine, node);
	if (node->kind == NODE_HOST)
		touch_listeners(engine, node);
	if (node->kind != NODE_CLASS)
		batch_give_up(engine, node);
	graph_settle(&engine->graph, node);
}

static void left(struct engine *engine, struct node *node, bool shaped_balancer)
{
	if (!has_users(node)) {
		give_up(engine, node);
		return;
	}
	if (node->kind == NODE_HOST || (node->kind == NODE_BALANCER && shaped_balancer))
		object_touch(engine, node);
	else if ((node->flags & NODE_SAID) != 0)
		said_ask(engine, node, SAID_CONTENT);
	if ((node->flags & NODE_SAID_STATUS) != 0)
		said_ask(engine, node, SAID_STATUS);
}

static struct edge *edges_new(struct ingress_node *ingress, const struct targets *t)
{
	struct edge *edges = t->count != 0 ? slab_zalloc(t->count * sizeof(*edges)) : NULL;
	for (size_t i = 0; i < t->count; i++) {
		edges[i].ingress = ingress;
		edges[i].target = t->items[i];
		LIST_INSERT_HEAD(node_users(t->items[i]), &edges[i], link);
	}
	return edges;
}

static bool same_targets(const struct ingress_node *ingress, const struct targets *t)
{
	if (ingress->record.edge_count != t->count)
		return false;
	for (size_t i = 0; i < t->count; i++) {
		if (ingress->edges[i].target != t->items[i])
			return false;
	}
	return true;
}

/* Both lists are sorted. */
static void tell_joined(struct engine *engine, const struct edge *old, size_t old_count,
	const struct targets *t, const bool *was_used)
{
	for (size_t i = 0, k = 0; i < t->count; i++) {
		while (k < old_count && (uintptr_t)old[k].target < (uintptr_t)t->items[i])
			k++;
		if (k == old_count || old[k].target != t->items[i])
			joined(engine, t->items[i], !was_used[i]);
	}
}

static void tell_left(struct engine *engine, const struct edge *old, size_t old_count,
	const struct targets *t, bool shaped_balancer)
{
	struct node **hosts = arena_calloc(&engine->scratch, old_count, sizeof(*hosts));
	size_t host_count = 0;
	for (size_t i = 0, k = 0; i < old_count; i++) {
		while (k < t->count && (uintptr_t)t->items[k] < (uintptr_t)old[i].target)
			k++;
		if (k < t->count && t->items[k] == old[i].target)
			continue;
		/* Hosts last: one that goes may take its load balancer with it. */
		if (old[i].target->kind == NODE_HOST)
			hosts[host_count++] = old[i].target;
		else if (old[i].target->kind == NODE_CLAIM)
			claim_left(
				engine, (struct claim_node *)(void *)old[i].target, old[i].ingress);
		else
			left(engine, old[i].target, shaped_balancer);
	}
	for (size_t i = 0; i < host_count; i++)
		left(engine, hosts[i], shaped_balancer);
}

/* New targets come before old ones go, so that nothing is freed and made again in between. */
static void set_edges(struct engine *engine, struct ingress_node *ingress, const struct targets *t,
	bool shaped_balancer)
{
	struct edge *old = ingress->edges;
	size_t old_count = ingress->record.edge_count;
	bool *was_used = arena_calloc(&engine->scratch, t->count, sizeof(bool));
	if (same_targets(ingress, t))
		return;
	for (size_t i = 0; i < t->count; i++)
		was_used[i] = has_users(t->items[i]);
	ingress->edges = edges_new(ingress, t);
	ingress->record.edge_count = (uint32_t)t->count;
	tell_joined(engine, old, old_count, t, was_used);
	for (size_t i = 0; i < old_count; i++)
		LIST_REMOVE(&old[i], link);
	tell_left(engine, old, old_count, t, shaped_balancer);
	slab_free(old, old_count * sizeof(*old));
}

/* ---- what differs for those that stay ---- */

static void touch_hosts(struct engine *engine, const struct plan *plan, const struct plan *old,
	const struct targets *t)
{
	bool same_place = old != NULL && old->is_ours && str_eq(old->balancer, plan->balancer);
	for (size_t i = 0; i < plan->hosts.count; i++) {
		const struct plan_host *host = &plan->hosts.items[i];
		const struct plan_host *old_host =
			same_place ? plan_find_host(old, host->host) : NULL;
		if (old_host == NULL || !plan_same_host(old, old_host, plan, host))
			object_touch(engine, &t->hosts[i]->node);
	}
}

static void touch_balancer(struct engine *engine, const struct plan *plan, const struct plan *old,
	struct balancer_node *balancer)
{
	bool same_place = old != NULL && old->is_ours && str_eq(old->balancer, plan->balancer);
	bool shapes = plan_shapes_balancer(plan);
	bool shaped = same_place && plan_shapes_balancer(old);
	if (!shapes && !shaped)
		return;
	if (!same_place || shapes != shaped || !plan_same_balancer(old, plan))
		object_touch(engine, &balancer->node);
}

/* A new Ingress under an old name must hear what the old one heard. */
static void say_again(struct engine *engine, const struct ingress_node *ingress)
{
	for (size_t i = 0; i < ingress->record.edge_count; i++) {
		struct node *node = ingress->edges[i].target;
		if ((node->flags & NODE_SAID) != 0)
			said_ask(engine, node, SAID_CONTENT);
		if ((node->flags & NODE_SAID_STATUS) != 0)
			said_ask(engine, node, SAID_STATUS);
	}
}

static void set_flags(struct ingress_node *ingress, const struct plan *plan)
{
	uint16_t flags = ingress->record.node.flags;
	flags &= (uint16_t) ~(NODE_OURS | NODE_SHAPES | NODE_UNNAMED);
	if (plan != NULL && plan->is_ours)
		flags |= NODE_OURS;
	if (plan != NULL && plan_shapes_balancer(plan))
		flags |= NODE_SHAPES;
	if (plan != NULL && plan->is_unnamed)
		flags |= NODE_UNNAMED;
	ingress->record.node.flags = flags;
}

static void change_present(
	struct engine *engine, struct ingress_node *ingress, const struct plan *old)
{
	struct node *node = &ingress->record.node;
	const struct plan_slot *slot = plans_get(engine, ingress);
	if ((node->flags & NODE_RELEASED) != 0 && old != NULL &&
		!str_eq(old->self.uid, slot->plan.self.uid)) {
		node->flags &= (uint16_t)~NODE_RELEASED; /* that was another of the same name */
		plans_forget(engine, ingress);
		slot = plans_get(engine, ingress);
	}
	const struct plan *plan = &slot->plan;
	struct balancer_node *old_balancer = ingress->balancer;
	bool shaped = (node->flags & NODE_SHAPES) != 0;
	bool was_ours = (node->flags & NODE_OURS) != 0;
	bool is_other = old == NULL || !str_eq(old->self.uid, plan->self.uid);
	struct targets t = gather_targets(engine, plan);
	set_flags(ingress, plan);
	ingress->balancer = t.balancer;
	set_edges(engine, ingress, &t, shaped);
	if (plan->is_ours) {
		touch_hosts(engine, plan, old, &t);
		touch_balancer(engine, plan, old, t.balancer);
		if (old == NULL || !old->is_ours || !plan_same_claims(old, plan))
			claims_ask_of(engine, ingress);
	}
	if (is_other)
		say_again(engine, ingress);
	if (slot->diags.count != 0 || plan->tls.count != 0 || plan->ports.count != 0 ||
		plan->is_tls_only || !str_is_empty(plan->default_pool) ||
		(node->flags & NODE_SAID) != 0)
		said_ask(engine, node, SAID_CONTENT);
	if (node->kind == NODE_FRONT)
		front_changed(engine, ingress, plan);
	else if (plan->is_ours ? is_other || t.balancer != old_balancer : was_ours)
		statuses_ask(engine, ingress);
}

void change_ingress(struct engine *engine, struct ingress_node *ingress, const struct plan *old)
{
	if (ingress->record.packed != NULL) {
		change_present(engine, ingress, old);
		return;
	}
	struct targets none = {0};
	bool shaped = (ingress->record.node.flags & NODE_SHAPES) != 0;
	if (ingress->record.node.kind == NODE_FRONT)
		front_gone(engine, ingress);
	set_flags(ingress, NULL);
	ingress->balancer = NULL;
	set_edges(engine, ingress, &none, shaped);
	said_drop(engine, &ingress->record.node);
	graph_settle(&engine->graph, &ingress->record.node);
}

/* ---- the other kinds ---- */

void change_service(struct engine *engine, struct service_node *service)
{
	touch_pools(engine, service);
	publish_service_changed(engine, &service->record);
	graph_settle(&engine->graph, &service->record.node);
}

void change_slice(struct engine *engine, struct slice_node *slice)
{
	struct service_node *old = slice->service;
	struct service_node *service = NULL;
	if (slice->record.packed != NULL) {
		struct endpoints_record record;
		record_read(&slice->record, &engine->scratch, &record);
		if (!str_is_empty(record.service)) {
			struct str key = key_join(
				&engine->scratch, record.key.namespace, '/', record.service);
			bool stays = old != NULL && str_eq(node_key(&old->record.node), key);
			service = stays ? old
					: (struct service_node *)(void *)graph_get(
						  &engine->graph, NODE_SERVICE, key);
		}
	}
	if (service != old)
		graph_move_slice(slice, service);
	if (service != NULL)
		touch_pools(engine, service);
	if (old != NULL && old != service) {
		touch_pools(engine, old);
		graph_settle(&engine->graph, &old->record.node);
	}
	graph_settle(&engine->graph, &slice->record.node);
}

/* Pools with settings of their own may hold something of the Secret. */
static void touch_settled_pools(struct engine *engine, const struct ingress_node *ingress)
{
	for (size_t i = 0; i < ingress->record.edge_count; i++) {
		struct node *node = ingress->edges[i].target;
		struct str key = node_key(node);
		if (node->kind == NODE_POOL && memchr(key.p, '+', key.len) != NULL)
			object_touch(engine, node);
	}
}

void change_secret(struct engine *engine, struct secret_node *secret)
{
	struct node *node = &secret->record.node;
	struct secret_facts *old = secret->facts;
	struct tls_context tls = object_tls_context(engine);
	struct edge *edge;
	secret->facts = NULL;
	if (has_users(node)) {
		const struct secret_facts *facts = secret_facts_get(engine, secret);
		bool usable = facts->view.problem == NULL;
		bool flips = old == NULL || usable != (old->view.problem == NULL);
		bool is_news = old == NULL || !facts_sound_alike(old, facts, &tls);
		if (usable)
			batch_want_again(engine, node);
		else
			batch_give_up(engine, node);
		object_touch(engine, node);
		LIST_FOREACH (edge, &secret->users, link) {
			if (flips && edge->ingress->balancer != NULL)
				object_touch(engine, &edge->ingress->balancer->node);
			if ((flips || is_news) && engine->grouping == GROUPING_MERGED)
				claims_ask_of(engine, edge->ingress);
			if (is_news)
				said_ask(engine, &edge->ingress->record.node, SAID_CONTENT);
			touch_settled_pools(engine, edge->ingress);
		}
	}
	facts_free(old);
	graph_settle(&engine->graph, node);
}

static void find_our_default(struct engine *engine)
{
	struct record *record;
	struct str found = STR_NONE;
	RB_FOREACH (record, record_tree, &engine->graph.records[NODE_CLASS]) {
		struct ingress_class_record class;
		if (record->packed == NULL)
			continue;
		record_read(record, &engine->scratch, &class);
		if (class.is_default && found.p == NULL &&
			str_eq(class.controller, engine->settings.controller_name))
			found = class.key.name;
	}
	free(engine->our_default);
	engine->our_default = found.p != NULL ? str_dup(found) : NULL;
}

static void change_flagged(struct engine *engine, uint16_t flags)
{
	static const enum node_kind kinds[] = {NODE_INGRESS, NODE_FRONT};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct record *record;
		RB_FOREACH (record, record_tree, &engine->graph.records[kinds[i]]) {
			if (record->packed == NULL || (record->node.flags & flags) != flags)
				continue;
			change_ingress(engine, (struct ingress_node *)(void *)record, NULL);
			arena_reset(&engine->scratch);
		}
	}
}

void change_class(struct engine *engine, struct class_node *class)
{
	char *old_default = engine->our_default;
	struct edge *edge;
	struct edge *next;
	plans_forget_all(engine);
	engine->our_default = NULL;
	find_our_default(engine);
	/* An ingress that sets its edges anew puts the one to this class at the head of the list,
	 * behind us. */
	LIST_FOREACH_SAFE(edge, &class->users, link, next)
	change_ingress(engine, edge->ingress, NULL);
	if (!str_eq(str_from(old_default), str_from(engine->our_default)) ||
		(old_default == NULL) != (engine->our_default == NULL))
		change_flagged(engine, NODE_UNNAMED);
	free(old_default);
	graph_settle(&engine->graph, &class->record.node);
}

void change_all(struct engine *engine)
{
	plans_forget_all(engine);
	find_our_default(engine);
	change_flagged(engine, 0);
}
