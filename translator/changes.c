// SPDX-License-Identifier: Apache-2.0
/*
 * What a changed record changes. The targets of an ingress are set anew, and what it no longer needs,
 * needs now, or needs differently is marked to be built again; a Service, slice, Secret or class is
 * looked up from, never searched for.
 */
#include "translator/state.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "translator/backend_tls.h"
#include "translator/keys.h"

#include <stdlib.h>

/* ---- objects ---- */

static bool has_users(struct node *node)
{
	return !set_is_empty(node_users(node));
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
	bool is_shown = engine->grouping != GROUPING_MERGED || !set_is_empty(&secret->shown) ||
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
	SET_FOREACH (pool, &service->pools, node_by_key)
		object_touch(engine, &pool->node);
}

/* ---- targets of an ingress ---- */

struct targets {
	struct node **items; /* by address, each once */
	size_t count;
	struct host_node **hosts; /* of the plan's hosts, in its order */
	struct balancer_node *balancer;
};

static int compare_addresses(const void *left, const void *right)
{
	return node_by_address(*(struct node *const *)left, *(struct node *const *)right);
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
	struct str key = key_join(&engine->scratch, plan->self.namespace, '/', pool->service);
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

static struct targets present_targets(struct engine *engine, const struct ingress_node *ingress)
{
	struct targets t = {0};
	struct node *node;
	SET_FOREACH (node, &ingress->targets, node_by_address) {
		void *items = t.items;
		struct node **place =
			arena_push(&engine->scratch, &items, &t.count, sizeof(*place));
		t.items = items;
		*place = node;
	}
	return t;
}

/* Those of `a` that are none of `b`, in the arena. */
static struct targets subtract_targets(
	struct engine *engine, const struct targets *a, const struct targets *b)
{
	struct targets t = {
		.items = arena_calloc(&engine->scratch, a->count, sizeof(struct node *))};
	for (size_t i = 0, k = 0; i < a->count; i++) {
		while (k < b->count && node_by_address(b->items[k], a->items[i]) < 0)
			k++;
		if (k == b->count || b->items[k] != a->items[i])
			t.items[t.count++] = a->items[i];
	}
	return t;
}

static void join_all(
	struct engine *engine, struct ingress_node *ingress, const struct targets *news)
{
	bool *was_used = arena_calloc(&engine->scratch, news->count, sizeof(bool));
	for (size_t i = 0; i < news->count; i++) {
		was_used[i] = has_users(news->items[i]);
		set_add(node_users(news->items[i]), ingress, node_by_name);
	}
	for (size_t i = 0; i < news->count; i++)
		joined(engine, news->items[i], !was_used[i]);
}

static void leave_all(struct engine *engine, struct ingress_node *ingress,
	const struct targets *gone, bool shaped_balancer)
{
	for (size_t i = 0; i < gone->count; i++)
		set_remove(node_users(gone->items[i]), ingress, node_by_name);
	/* Hosts last: one that goes may take its load balancer with it. */
	struct node **hosts = arena_calloc(&engine->scratch, gone->count, sizeof(*hosts));
	size_t host_count = 0;
	for (size_t i = 0; i < gone->count; i++) {
		struct node *node = gone->items[i];
		if (node->kind == NODE_HOST)
			hosts[host_count++] = node;
		else if (node->kind == NODE_CLAIM)
			claim_left(engine, (struct claim_node *)(void *)node, ingress);
		else
			left(engine, node, shaped_balancer);
	}
	for (size_t i = 0; i < host_count; i++)
		left(engine, hosts[i], shaped_balancer);
}

/* New targets come before old ones go, so that nothing is freed and made again in between. */
static void set_targets(struct engine *engine, struct ingress_node *ingress,
	const struct targets *t, bool shaped_balancer)
{
	struct targets old = present_targets(engine, ingress);
	struct targets news = subtract_targets(engine, t, &old);
	struct targets gone = subtract_targets(engine, &old, t);
	for (size_t i = 0; i < gone.count; i++)
		set_remove(&ingress->targets, gone.items[i], node_by_address);
	for (size_t i = 0; i < news.count; i++)
		set_add(&ingress->targets, news.items[i], node_by_address);
	join_all(engine, ingress, &news);
	leave_all(engine, ingress, &gone, shaped_balancer);
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
	struct node *node;
	SET_FOREACH (node, &ingress->targets, node_by_address) {
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
	set_targets(engine, ingress, &t, shaped);
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
	set_targets(engine, ingress, &none, shaped);
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
	struct node *node;
	SET_FOREACH (node, &ingress->targets, node_by_address) {
		struct str key = node_key(node);
		if (node->kind == NODE_POOL && str_find(key, '+') != NULL)
			object_touch(engine, node);
	}
}

void change_secret(struct engine *engine, struct secret_node *secret)
{
	struct node *node = &secret->record.node;
	struct secret_facts *old = secret->facts;
	struct tls_context tls = object_tls_context(engine);
	struct ingress_node *user;
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
		SET_FOREACH (user, &secret->users, node_by_name) {
			if (flips && user->balancer != NULL)
				object_touch(engine, &user->balancer->node);
			if ((flips || is_news) && engine->grouping == GROUPING_MERGED)
				claims_ask_of(engine, user);
			if (is_news)
				said_ask(engine, &user->record.node, SAID_CONTENT);
			touch_settled_pools(engine, user);
		}
	}
	facts_free(old);
	graph_settle(&engine->graph, node);
}

static void find_our_default(struct engine *engine)
{
	struct record *record;
	struct str found = STR_NONE;
	SET_FOREACH (record, &engine->graph.records[NODE_CLASS], node_by_key) {
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
		SET_FOREACH (record, &engine->graph.records[kinds[i]], node_by_key) {
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
	struct ingress_node *user;
	plans_forget_all(engine);
	engine->our_default = NULL;
	find_our_default(engine);
	SET_FOREACH (user, &class->users, node_by_name)
		change_ingress(engine, user, NULL);
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
