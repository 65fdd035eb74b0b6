// SPDX-License-Identifier: Apache-2.0
#include "translator/targets.h"

#include "common/must.h"
#include "translator/backend_tls.h"
#include "translator/claim_keys.h"
#include "translator/keys.h"

#include <stdlib.h>

/* ---- gathering ---- */

static int compare_addresses(const void *left, const void *right)
{
	return node_by_address(*(struct node *const *)left, *(struct node *const *)right);
}

static void sort_targets(struct target_list *t)
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

static struct node *secret_target(
	const struct targets *targets, struct str namespace, struct str name)
{
	struct str key = tls_certificate_id(targets->scratch, namespace, name);
	return &graph_get(targets->graph, NODE_SECRET, key)->node;
}

static struct node *pool_target(
	const struct targets *targets, const struct plan *plan, const struct plan_pool *pool)
{
	struct str key = key_join(targets->scratch, plan->self.namespace, '/', pool->service);
	struct service_node *service =
		(struct service_node *)(void *)graph_get(targets->graph, NODE_SERVICE, key);
	return &graph_get_pool(service, pool->port)->node;
}

static void gather_secrets(
	const struct targets *targets, const struct plan *plan, struct target_list *t)
{
	for (size_t i = 0; i < plan->tls.count; i++) {
		if (!str_is_empty(plan->tls.items[i].secret))
			t->items[t->count++] = secret_target(
				targets, plan->self.namespace, plan->tls.items[i].secret);
	}
	struct str names[BACKEND_SECRETS_MAX];
	size_t count = backend_secrets(plan, names);
	for (size_t i = 0; i < count; i++)
		t->items[t->count++] = secret_target(targets, plan->self.namespace, names[i]);
	bool may_use_default = plan->tls.count != 0 || plan->scope == BALANCER_OF_CLASS;
	if (may_use_default && !str_is_empty(secrets_default(targets->secrets).name))
		t->items[t->count++] =
			secret_target(targets, secrets_default(targets->secrets).namespace,
				secrets_default(targets->secrets).name);
}

static void gather_claims(
	const struct targets *targets, const struct plan *plan, struct target_list *t)
{
	struct arena *arena = targets->scratch;
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

struct target_list targets_gather(const struct targets *targets, const struct plan *plan)
{
	struct target_list t = {0};
	if (plan == NULL)
		return t;
	size_t most = 4 + BACKEND_SECRETS_MAX + plan->hosts.count + plan->pools.count +
		      plan->tls.count + plan->names.count + plan->ports.count;
	t.items = arena_calloc(targets->scratch, most, sizeof(*t.items));
	t.hosts = arena_calloc(targets->scratch, plan->hosts.count, sizeof(struct host_node *));
	if (!str_is_empty(plan->named_class))
		t.items[t.count++] =
			&graph_get(targets->graph, NODE_CLASS, plan->named_class)->node;
	if (plan->is_ours) {
		t.balancer = graph_get_balancer(targets->graph, plan->balancer);
		t.items[t.count++] = &t.balancer->node;
		for (size_t i = 0; i < plan->hosts.count; i++) {
			t.hosts[i] = graph_get_host(t.balancer, plan->hosts.items[i].host);
			t.items[t.count++] = &t.hosts[i]->node;
		}
		for (size_t i = 0; i < plan->pools.count; i++)
			t.items[t.count++] = pool_target(targets, plan, &plan->pools.items[i]);
		gather_secrets(targets, plan, &t);
		if (plan->scope == BALANCER_OF_CLASS)
			gather_claims(targets, plan, &t);
	}
	must(t.count <= most);
	sort_targets(&t);
	return t;
}

/* ---- joining and leaving ---- */

/* A passed-through server name may add a listener, or remove it. */
static void touch_listeners(const struct targets *targets, const struct node *node)
{
	const struct host_node *host = (const void *)node;
	if (str_starts_with(node_key(node), STR(PLAN_PASSTHROUGH)) &&
		node_has_users(&host->balancer->node))
		pending_build(targets->pending, &host->balancer->node);
}

static void joined(const struct targets *targets, struct node *node, bool is_first)
{
	switch ((enum node_kind)node->kind) {
	case NODE_POOL:
	case NODE_SECRET:
	case NODE_BALANCER:
		/* One more user does not change its content; but if it has diagnostics, the new user must
		 * get them, too. */
		if (is_first)
			pending_want_again(targets->pending, node);
		if (is_first || (node->flags & (NODE_SENT | NODE_DIRTY)) == 0)
			pending_build(targets->pending, node);
		else if ((node->flags & NODE_TOLD) != 0)
			pending_diagnose(targets->pending, node, DIAGNOSTICS_CONTENT);
		if (node->kind == NODE_BALANCER && (node->flags & NODE_TOLD_STATUS) != 0)
			pending_diagnose(targets->pending, node, DIAGNOSTICS_STATUS);
		return;
	case NODE_HOST:
		pending_build(targets->pending, node);
		if (is_first)
			touch_listeners(targets, node);
		return;
	case NODE_CLAIM: /* see claims_ask_of() */
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

static void give_up(const struct targets *targets, struct node *node)
{
	if (node->kind == NODE_SECRET && !node_has_users(node)) {
		struct secret_node *secret = (struct secret_node *)(void *)node;
		claims_forget_secret(targets->claims, secret);
		facts_free(secret->facts);
		secret->facts = NULL;
	}
	diagnostics_drop(targets->diagnostics, node);
	if (node->kind == NODE_HOST)
		touch_listeners(targets, node);
	if (node->kind != NODE_CLASS)
		pending_give_up(targets->pending, node);
	graph_settle(targets->graph, node);
}

static void left(const struct targets *targets, struct node *node, bool shaped_balancer)
{
	if (!node_has_users(node)) {
		give_up(targets, node);
		return;
	}
	if (node->kind == NODE_HOST || (node->kind == NODE_BALANCER && shaped_balancer))
		pending_build(targets->pending, node);
	else if ((node->flags & NODE_TOLD) != 0)
		pending_diagnose(targets->pending, node, DIAGNOSTICS_CONTENT);
	if ((node->flags & NODE_TOLD_STATUS) != 0)
		pending_diagnose(targets->pending, node, DIAGNOSTICS_STATUS);
}

static struct target_list present_targets(
	const struct targets *targets, const struct ingress_node *ingress)
{
	struct target_list t = {0};
	struct node *node;
	SET_FOREACH (node, &ingress->targets, node_by_address) {
		void *items = t.items;
		struct node **place =
			arena_push(targets->scratch, &items, &t.count, sizeof(*place));
		t.items = items;
		*place = node;
	}
	return t;
}

/* The items of `a` that are not in `b`, in the arena. */
static struct target_list subtract_targets(
	const struct targets *targets, const struct target_list *a, const struct target_list *b)
{
	struct target_list t = {
		.items = arena_calloc(targets->scratch, a->count, sizeof(struct node *))};
	for (size_t i = 0, k = 0; i < a->count; i++) {
		while (k < b->count && node_by_address(b->items[k], a->items[i]) < 0)
			k++;
		if (k == b->count || b->items[k] != a->items[i])
			t.items[t.count++] = a->items[i];
	}
	return t;
}

static void join_all(
	const struct targets *targets, struct ingress_node *ingress, const struct target_list *news)
{
	bool *was_used = arena_calloc(targets->scratch, news->count, sizeof(bool));
	for (size_t i = 0; i < news->count; i++) {
		was_used[i] = node_has_users(news->items[i]);
		set_add(node_users(news->items[i]), ingress, node_by_name);
		if (news->items[i]->kind == NODE_HOST)
			owners_joined(targets->owners, (struct host_node *)(void *)news->items[i],
				ingress);
	}
	for (size_t i = 0; i < news->count; i++)
		joined(targets, news->items[i], !was_used[i]);
}

static void leave_all(const struct targets *targets, struct ingress_node *ingress,
	const struct target_list *gone, bool shaped_balancer)
{
	for (size_t i = 0; i < gone->count; i++) {
		set_remove(node_users(gone->items[i]), ingress, node_by_name);
		if (gone->items[i]->kind == NODE_HOST)
			owners_left(targets->owners, (struct host_node *)(void *)gone->items[i],
				ingress);
	}
	/* Hosts last: the last host of a load balancer takes it along. */
	struct node **hosts = arena_calloc(targets->scratch, gone->count, sizeof(*hosts));
	size_t host_count = 0;
	for (size_t i = 0; i < gone->count; i++) {
		struct node *node = gone->items[i];
		if (node->kind == NODE_HOST)
			hosts[host_count++] = node;
		else if (node->kind == NODE_CLAIM)
			claims_left(targets->claims, (struct claim_node *)(void *)node, ingress);
		else
			left(targets, node, shaped_balancer);
	}
	for (size_t i = 0; i < host_count; i++)
		left(targets, hosts[i], shaped_balancer);
}

/* New targets are joined before old ones are left, so that nothing is freed only to be created again. */
void targets_set(const struct targets *targets, struct ingress_node *ingress,
	const struct target_list *t, bool shaped_balancer)
{
	struct target_list old = present_targets(targets, ingress);
	struct target_list news = subtract_targets(targets, t, &old);
	struct target_list gone = subtract_targets(targets, &old, t);
	for (size_t i = 0; i < gone.count; i++)
		set_remove(&ingress->targets, gone.items[i], node_by_address);
	for (size_t i = 0; i < news.count; i++)
		set_add(&ingress->targets, news.items[i], node_by_address);
	join_all(targets, ingress, &news);
	leave_all(targets, ingress, &gone, shaped_balancer);
}
