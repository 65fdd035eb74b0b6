// SPDX-License-Identifier: Apache-2.0
#include "translator/targets.h"

#include "common/must.h"
#include "translator/backend_tls.h"
#include "translator/claim_keys.h"
#include "translator/keys.h"

/* ---- which they are ---- */

static struct node *secret_target(
	const struct targets *targets, struct str namespace, struct str name)
{
	struct str key = tls_certificate_id(targets->scratch, namespace, name);
	return &graph_get(targets->graph, NODE_SECRET, key)->node;
}

static struct node *pool_target(
	const struct targets *targets, const struct plan *plan, const struct plan_pool *pool)
{
	struct str namespace = pool->namespace.len != 0 ? pool->namespace : plan->self.namespace;
	struct str key = key_join(targets->scratch, namespace, '/', pool->service);
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
	if (plan->route.client != NULL)
		t->items[t->count++] =
			secret_target(targets, plan->self.namespace, plan->route.client->secret);
	bool may_use_default = plan->tls.count != 0 || plan->scope == BALANCER_OF_CLASS;
	if (may_use_default && !str_is_empty(secrets_default(targets->secrets).name))
		t->items[t->count++] =
			secret_target(targets, secrets_default(targets->secrets).namespace,
				secrets_default(targets->secrets).name);
}

static void gather_policy(
	const struct targets *targets, const struct plan *plan, struct target_list *t)
{
	if (str_is_empty(plan->policy))
		return;
	t->policy = graph_get_policy(targets->graph, plan->policy);
	t->items[t->count++] = &t->policy->node;
	if (!str_is_empty(plan->kept_policy)) {
		t->kept_policy = graph_get_policy(targets->graph, plan->kept_policy);
		t->items[t->count++] = &t->kept_policy->node;
	}
	if (!str_is_empty(plan->users))
		t->items[t->count++] = &graph_get_users(targets->graph, plan->users)->node;
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
			t->balancer, claim_port_key(arena, plan->ports.items[i].port,
					     plan->ports.items[i].protocol))
						->node;
	if (!str_is_empty(plan->default_pool))
		t->items[t->count++] = &graph_get_claim(t->balancer, STR(CLAIM_DEFAULT))->node;
}

struct target_list targets_gather(const struct targets *targets, const struct plan *plan)
{
	struct target_list t = {0};
	if (plan == NULL)
		return t;
	size_t most = 8 + BACKEND_SECRETS_MAX + plan->hosts.count + plan->pools.count +
		      plan->tls.count + plan->names.count + plan->ports.count +
		      plan->config_maps.count;
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
		gather_policy(targets, plan, &t);
		for (size_t i = 0; i < plan->config_maps.count; i++)
			t.items[t.count++] = &graph_get(
				targets->graph, NODE_CONFIG_MAP, plan->config_maps.items[i])
						      ->node;
		if (plan->scope == BALANCER_OF_CLASS)
			gather_claims(targets, plan, &t);
	}
	must(t.count <= most);
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
	case NODE_POLICY:
	case NODE_USERS:
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
	case NODE_CONFIG_MAP:
	case NODE_POD:
	case NODE_MACHINE:
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
	if (node->kind != NODE_CONFIG_MAP) /* see change_config_map() */
		diagnostics_drop(targets->diagnostics, node);
	if (node->kind == NODE_HOST)
		touch_listeners(targets, node);
	if (node->kind != NODE_CLASS && node->kind != NODE_CONFIG_MAP)
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

static bool has_one_user(const struct node *node)
{
	const struct use *root = RB_ROOT(&node->users);
	return root != NULL && RB_LEFT(root, by_user) == NULL && RB_RIGHT(root, by_user) == NULL;
}

static void join_all(
	const struct targets *targets, struct ingress_node *ingress, const struct target_list *t)
{
	struct node **news = arena_calloc(targets->scratch, t->count, sizeof(*news));
	size_t count = 0;
	for (size_t i = 0; i < t->count; i++) {
		struct node *node = t->items[i];
		struct use *use = graph_find_use(ingress, node);
		if (use == NULL) {
			use = graph_add_use(ingress, node);
			news[count++] = node;
			if (node->kind == NODE_HOST)
				owners_joined(
					targets->owners, (struct host_node *)(void *)node, ingress);
		}
		use->is_wanted = true;
	}
	for (size_t i = 0; i < count; i++)
		joined(targets, news[i], has_one_user(news[i]));
}

/* Those that are no longer wanted. */
static struct target_list remove_uses(const struct targets *targets, struct ingress_node *ingress)
{
	struct target_list gone = {0};
	struct use *use;
	struct use *next;
	LIST_FOREACH_SAFE (use, &ingress->targets, next, next) {
		struct node *node = use->target;
		void *items = gone.items;
		if (use->is_wanted) {
			use->is_wanted = false;
			continue;
		}
		graph_remove_use(use);
		if (node->kind == NODE_HOST)
			owners_left(targets->owners, (struct host_node *)(void *)node, ingress);
		struct node **place =
			arena_push(targets->scratch, &items, &gone.count, sizeof(*place));
		gone.items = items;
		*place = node;
	}
	return gone;
}

static void leave_all(const struct targets *targets, struct ingress_node *ingress,
	const struct target_list *gone, bool shaped_balancer)
{
	/* Hosts last: one that goes may take its load balancer with it. */
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
	join_all(targets, ingress, t);
	struct target_list gone = remove_uses(targets, ingress);
	leave_all(targets, ingress, &gone, shaped_balancer);
}
