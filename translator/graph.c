// SPDX-License-Identifier: Apache-2.0
#include "translator/graph.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/slab.h"
#include "translator/facts.h"
#include "translator/plan.h"

#include <stdlib.h>

/* The key follows. */
static const size_t sizes[NODE_KIND_COUNT] = {
	[NODE_INGRESS] = sizeof(struct ingress_node),
	[NODE_CLASS] = sizeof(struct class_node),
	[NODE_SERVICE] = sizeof(struct service_node),
	[NODE_SLICE] = sizeof(struct slice_node),
	[NODE_SECRET] = sizeof(struct secret_node),
	[NODE_CONFIG_MAP] = sizeof(struct config_map_node),
	[NODE_POD] = sizeof(struct place_node),
	[NODE_MACHINE] = sizeof(struct place_node),
	[NODE_FRONT] = sizeof(struct ingress_node),
	[NODE_BALANCER] = sizeof(struct balancer_node),
	[NODE_HOST] = sizeof(struct host_node),
	[NODE_POOL] = sizeof(struct pool_node),
	[NODE_CLAIM] = sizeof(struct claim_node),
	[NODE_POLICY] = sizeof(struct policy_node),
	[NODE_USERS] = sizeof(struct users_node),
};

struct str node_namespace(const struct node *node)
{
	struct str key = node_key(node);
	const char *slash = str_find(key, '/');
	return slash != NULL ? (struct str){key.p, (size_t)(slash - key.p)} : STR_NONE;
}

struct str node_name(const struct node *node)
{
	struct str key = node_key(node);
	const char *slash = str_find(key, '/');
	return slash != NULL ? str_skip(key, (size_t)(slash - key.p) + 1) : key;
}

struct str node_host(const struct node *node)
{
	struct str key = node_key(node);
	if (node->kind == NODE_HOST)
		return str_starts_with(key, STR(PLAN_PASSTHROUGH))
			       ? str_skip(key, sizeof(PLAN_PASSTHROUGH) - 1)
			       : key;
	bool is_name = node->kind == NODE_CLAIM && str_starts_with(key, STR(CLAIM_NAME));
	return is_name ? str_skip(key, sizeof(CLAIM_NAME) - 1) : STR_NONE;
}

struct str host_domain(struct str host)
{
	const char *dot = str_find(host, '.');
	if (dot == NULL || str_starts_with(host, STR("*.")))
		return STR_NONE;
	return str_skip(host, (size_t)(dot - host.p) + 1);
}

uint64_t *node_rev(struct node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_SECRET:
		return &((struct secret_node *)(void *)node)->rev;
	case NODE_BALANCER:
		return &((struct balancer_node *)(void *)node)->rev;
	case NODE_HOST:
		return &((struct host_node *)(void *)node)->rev;
	case NODE_POOL:
		return &((struct pool_node *)(void *)node)->rev;
	case NODE_POLICY:
		return &((struct policy_node *)(void *)node)->rev;
	case NODE_USERS:
		return &((struct users_node *)(void *)node)->rev;
	case NODE_INGRESS:
	case NODE_FRONT:
	case NODE_CLAIM:
	case NODE_CLASS:
	case NODE_SERVICE:
	case NODE_SLICE:
	case NODE_CONFIG_MAP:
	case NODE_POD:
	case NODE_MACHINE:
	case NODE_KIND_COUNT:
		break;
	}
	must(false);
}

/* ---- orders ---- */

static int compare_keys(const struct node *a, const struct node *b)
{
	return str_cmp(a->key, b->key);
}

static int compare_names(const struct node *a, const struct node *b)
{
	int order = compare_keys(a, b);
	return order != 0 ? order : (int)a->kind - (int)b->kind;
}

static int compare_uses(const struct use *a, const struct use *b)
{
	return compare_names(&a->user->record.node, &b->user->record.node);
}

static int compare_slices(const struct slice_node *a, const struct slice_node *b)
{
	return compare_keys(&a->record.node, &b->record.node);
}

/* The same name may be claimed of several load balancers. */
static int compare_shown(const struct claim_node *a, const struct claim_node *b)
{
	int order = compare_keys(&a->node, &b->node);
	return order != 0 ? order : compare_keys(&a->balancer->node, &b->balancer->node);
}

/* One without a node, to search for, is the first of its domain. */
static int compare_below(const struct below *a, const struct below *b)
{
	int order = str_cmp(a->domain, b->domain);
	if (order != 0)
		return order;
	if (a->node == NULL || b->node == NULL)
		return (int)(a->node != NULL) - (int)(b->node != NULL);
	return compare_names(a->node, b->node);
}

RB_GENERATE(node_tree, node, by_key, compare_keys)
RB_GENERATE(use_tree, use, by_user, compare_uses)
RB_GENERATE(slice_tree, slice_node, by_key, compare_slices)
RB_GENERATE(shown_tree, claim_node, by_shown, compare_shown)
RB_GENERATE_LOCAL(below_tree, below, by_domain, compare_below)

/* ---- finding and making ---- */

static void *find(struct node_tree *tree, struct str key)
{
	struct node wanted = {.key = key};
	return RB_FIND(node_tree, tree, &wanted);
}

struct node *graph_find_from(struct node_tree *tree, struct str key)
{
	struct node wanted = {.key = key};
	return RB_NFIND(node_tree, tree, &wanted);
}

static void *make(struct node_tree *tree, enum node_kind kind, struct str key)
{
	struct node *node = slab_zalloc(sizes[kind] + key.len);
	char *at = (char *)node + sizes[kind];
	str_put(at, key);
	node->kind = (uint8_t)kind;
	node->key = (struct str){at, key.len};
	must(RB_INSERT(node_tree, tree, node) == NULL);
	return node;
}

struct record *graph_find(struct graph *graph, enum node_kind kind, struct str key)
{
	return find(&graph->records[kind], key);
}

struct record *graph_get(struct graph *graph, enum node_kind kind, struct str key)
{
	struct record *record = graph_find(graph, kind, key);
	return record != NULL ? record : make(&graph->records[kind], kind, key);
}

struct balancer_node *graph_find_balancer(struct graph *graph, struct str id)
{
	return find(&graph->balancers, id);
}

struct balancer_node *graph_get_balancer(struct graph *graph, struct str id)
{
	struct balancer_node *balancer = graph_find_balancer(graph, id);
	return balancer != NULL ? balancer : make(&graph->balancers, NODE_BALANCER, id);
}

/* Maintains a load balancer's indexes of hosts and name claims. */
static void count_host(struct balancer_node *balancer, const struct node *node, uint32_t by)
{
	if (str_starts_with(node_key(node), STR(PLAN_PASSTHROUGH)))
		balancer->passed_count += by;
	if (str_starts_with(node_host(node), STR("*.")))
		balancer->wildcard_count += by;
}

static void join_balancer(struct balancer_node *balancer, struct node *node, struct below *below)
{
	*below = (struct below){.domain = host_domain(node_host(node)), .node = node};
	if (node->kind == NODE_HOST)
		count_host(balancer, node, 1);
	if (!str_is_empty(below->domain))
		must(RB_INSERT(below_tree, &balancer->below, below) == NULL);
}

static void leave_balancer(struct balancer_node *balancer, struct node *node, struct below *below)
{
	if (node->kind == NODE_HOST)
		count_host(balancer, node, (uint32_t)-1);
	if (!str_is_empty(below->domain))
		RB_REMOVE(below_tree, &balancer->below, below);
}

struct host_node *graph_find_host(struct balancer_node *balancer, struct str host)
{
	return find(&balancer->hosts, host);
}

struct host_node *graph_get_host(struct balancer_node *balancer, struct str host)
{
	struct host_node *node = graph_find_host(balancer, host);
	if (node == NULL) {
		node = make(&balancer->hosts, NODE_HOST, host);
		node->balancer = balancer;
		join_balancer(balancer, &node->node, &node->below);
	}
	return node;
}

struct node *graph_first_below(struct balancer_node *balancer, struct str domain)
{
	struct below wanted = {.domain = domain};
	struct below *below = RB_NFIND(below_tree, &balancer->below, &wanted);
	return below != NULL && str_eq(below->domain, domain) ? below->node : NULL;
}

struct node *graph_next_below(struct node *node)
{
	struct below *below = node->kind == NODE_HOST ? &((struct host_node *)(void *)node)->below
						      : &((struct claim_node *)(void *)node)->below;
	struct below *next = RB_NEXT(below_tree, , below);
	return next != NULL && str_eq(next->domain, below->domain) ? next->node : NULL;
}

struct claim_node *graph_find_claim(struct balancer_node *balancer, struct str key)
{
	return find(&balancer->claims, key);
}

struct claim_node *graph_get_claim(struct balancer_node *balancer, struct str key)
{
	struct claim_node *node = graph_find_claim(balancer, key);
	if (node == NULL) {
		node = make(&balancer->claims, NODE_CLAIM, key);
		node->balancer = balancer;
		join_balancer(balancer, &node->node, &node->below);
	}
	return node;
}

struct pool_node *graph_get_pool(struct service_node *service, struct str port)
{
	struct pool_node *node = find(&service->pools, port);
	if (node == NULL) {
		node = make(&service->pools, NODE_POOL, port);
		node->service = service;
	}
	return node;
}

static void *get(struct node_tree *tree, enum node_kind kind, struct str key)
{
	void *node = find(tree, key);
	return node != NULL ? node : make(tree, kind, key);
}

struct policy_node *graph_get_policy(struct graph *graph, struct str key)
{
	return get(&graph->policies, NODE_POLICY, key);
}

struct users_node *graph_find_users(struct graph *graph, struct str key)
{
	return find(&graph->users, key);
}

struct users_node *graph_get_users(struct graph *graph, struct str key)
{
	return get(&graph->users, NODE_USERS, key);
}

/* ---- who uses it ---- */

struct use *graph_find_use(struct ingress_node *user, struct node *target)
{
	struct use wanted = {.user = user};
	return RB_FIND(use_tree, &target->users, &wanted);
}

struct use *graph_add_use(struct ingress_node *user, struct node *target)
{
	struct use *use = slab_zalloc(sizeof(*use));
	use->user = user;
	use->target = target;
	LIST_INSERT_HEAD(&user->targets, use, next);
	must(RB_INSERT(use_tree, &target->users, use) == NULL);
	return use;
}

void graph_remove_use(struct use *use)
{
	RB_REMOVE(use_tree, &use->target->users, use);
	LIST_REMOVE(use, next);
	slab_free(use, sizeof(*use));
}

/* ---- records ---- */

void graph_move_slice(struct slice_node *slice, struct service_node *service)
{
	if (slice->service != NULL)
		RB_REMOVE(slice_tree, &slice->service->slices, slice);
	slice->service = service;
	if (service != NULL)
		must(RB_INSERT(slice_tree, &service->slices, slice) == NULL);
}

void record_free_payload(enum node_kind kind, char *payload, size_t len)
{
	if (payload != NULL && kind == NODE_SECRET)
		explicit_bzero(payload, len);
	free(payload);
}

/* ---- lifecycle ---- */

static bool is_needed(struct node *node)
{
	if ((node->flags & (NODE_QUEUED | NODE_SENT)) != 0)
		return true;
	if (node_has_users(node))
		return true;
	if (node->kind < NODE_RECORD_KINDS && ((struct record *)(void *)node)->payload != NULL)
		return true;
	if (node->kind == NODE_SERVICE) {
		struct service_node *service = (void *)node;
		return !RB_EMPTY(&service->slices) || !RB_EMPTY(&service->pools);
	}
	if (node->kind != NODE_BALANCER)
		return false;
	struct balancer_node *balancer = (void *)node;
	return !RB_EMPTY(&balancer->hosts) || !RB_EMPTY(&balancer->claims);
}

static void free_ingress_content(struct ingress_node *ingress)
{
	free(ingress->offers);
	free(ingress->uid);
	shared_text_drop(ingress->shared_with);
}

/* Everything but its place in the graph. */
static void free_content(struct node *node)
{
	if (node->kind < NODE_RECORD_KINDS)
		record_free_payload((enum node_kind)node->kind,
			((struct record *)(void *)node)->payload,
			((struct record *)(void *)node)->payload_len);
	if (node->kind == NODE_INGRESS || node->kind == NODE_FRONT)
		free_ingress_content((struct ingress_node *)(void *)node);
	if (node->kind == NODE_SECRET)
		facts_free(((struct secret_node *)(void *)node)->facts);
	if (node->kind == NODE_BALANCER)
		free(((struct balancer_node *)(void *)node)->status);
}

/* Returns the node that may have existed only because of this one. */
static struct node *free_node(struct graph *graph, struct node *node)
{
	struct node *next = NULL;
	struct node_tree *tree = NULL;
	if (node->kind == NODE_HOST) {
		struct host_node *host = (void *)node;
		next = &host->balancer->node;
		tree = &host->balancer->hosts;
		leave_balancer(host->balancer, node, &host->below);
	} else if (node->kind == NODE_POOL) {
		struct pool_node *pool = (void *)node;
		next = &pool->service->record.node;
		tree = &pool->service->pools;
	} else if (node->kind == NODE_CLAIM) {
		struct claim_node *claim = (void *)node;
		next = &claim->balancer->node;
		tree = &claim->balancer->claims;
		leave_balancer(claim->balancer, node, &claim->below);
	} else if (node->kind == NODE_BALANCER) {
		tree = &graph->balancers;
	} else if (node->kind == NODE_POLICY) {
		tree = &graph->policies;
	} else if (node->kind == NODE_USERS) {
		tree = &graph->users;
	} else {
		tree = &graph->records[node->kind];
	}
	RB_REMOVE(node_tree, tree, node);
	free_content(node);
	slab_free(node, sizes[node->kind] + node->key.len);
	return next;
}

void graph_settle(struct graph *graph, struct node *node)
{
	while (node != NULL && !is_needed(node))
		node = free_node(graph, node);
}

void graph_init(struct graph *graph)
{
	*graph = (struct graph){0};
}

/* ---- freeing ---- */

static void free_all(struct node_tree *tree);

static void free_owned(struct node *node)
{
	if (node->kind == NODE_INGRESS || node->kind == NODE_FRONT) {
		struct use_list *targets = &((struct ingress_node *)(void *)node)->targets;
		while (!LIST_EMPTY(targets))
			graph_remove_use(LIST_FIRST(targets));
	}
	if (node->kind == NODE_SERVICE)
		free_all(&((struct service_node *)(void *)node)->pools);
	if (node->kind == NODE_BALANCER) {
		free_all(&((struct balancer_node *)(void *)node)->hosts);
		free_all(&((struct balancer_node *)(void *)node)->claims);
	}
}

static void free_all(struct node_tree *tree)
{
	struct node *node = NULL;
	while ((node = RB_ROOT(tree)) != NULL) {
		RB_REMOVE(node_tree, tree, node);
		free_owned(node);
		free_content(node);
		slab_free(node, sizes[node->kind] + node->key.len);
	}
}

void graph_fini(struct graph *graph)
{
	/* Those that have targets first. */
	free_all(&graph->records[NODE_INGRESS]);
	free_all(&graph->records[NODE_FRONT]);
	for (int kind = 0; kind < NODE_RECORD_KINDS; kind++)
		free_all(&graph->records[kind]);
	free_all(&graph->balancers);
	free_all(&graph->policies);
	free_all(&graph->users);
}
