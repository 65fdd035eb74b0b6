// SPDX-License-Identifier: Apache-2.0
#include "translator/graph.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/slab.h"
#include "translator/facts.h"
#include "translator/plan.h"

#include <stddef.h>
#include <stdlib.h>

/* A key for comparisons; never in a set. */
struct probe {
	struct node node;
	const char *key;
};

/* Size of the node without its key. */
static const size_t sizes[NODE_KIND_COUNT] = {
	[NODE_INGRESS] = offsetof(struct ingress_node, key),
	[NODE_CLASS] = offsetof(struct class_node, key),
	[NODE_SERVICE] = offsetof(struct service_node, key),
	[NODE_SLICE] = offsetof(struct slice_node, key),
	[NODE_SECRET] = offsetof(struct secret_node, key),
	[NODE_FRONT] = offsetof(struct ingress_node, key),
	[NODE_BALANCER] = offsetof(struct balancer_node, key),
	[NODE_HOST] = offsetof(struct host_node, key),
	[NODE_POOL] = offsetof(struct pool_node, key),
	[NODE_CLAIM] = offsetof(struct claim_node, key),
};

struct str node_key(const struct node *node)
{
	if (node->kind == NODE_PROBE)
		return (struct str){((const struct probe *)(const void *)node)->key, node->key_len};
	return (struct str){(const char *)node + sizes[node->kind], node->key_len};
}

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

struct set *node_users(struct node *node)
{
	switch ((enum node_kind)node->kind) {
	case NODE_CLASS:
		return &((struct class_node *)(void *)node)->users;
	case NODE_SECRET:
		return &((struct secret_node *)(void *)node)->users;
	case NODE_BALANCER:
		return &((struct balancer_node *)(void *)node)->users;
	case NODE_HOST:
		return &((struct host_node *)(void *)node)->users;
	case NODE_POOL:
		return &((struct pool_node *)(void *)node)->users;
	case NODE_CLAIM:
		return &((struct claim_node *)(void *)node)->users;
	case NODE_INGRESS:
	case NODE_FRONT:
	case NODE_SERVICE:
	case NODE_SLICE:
	case NODE_PROBE:
	case NODE_KIND_COUNT:
		break;
	}
	return NULL;
}

bool node_has_users(struct node *node)
{
	const struct set *users = node_users(node);
	return users != NULL && !set_is_empty(users);
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
	case NODE_INGRESS:
	case NODE_FRONT:
	case NODE_CLAIM:
	case NODE_CLASS:
	case NODE_SERVICE:
	case NODE_SLICE:
	case NODE_PROBE:
	case NODE_KIND_COUNT:
		break;
	}
	must(false);
}

/* ---- orders ---- */

int node_by_key(const void *left, const void *right)
{
	return str_cmp(node_key(left), node_key(right));
}

int node_by_name(const void *left, const void *right)
{
	const struct node *a = left;
	const struct node *b = right;
	int order = node_by_key(a, b);
	if (order == 0)
		order = (int)a->kind - (int)b->kind;
	return order != 0 ? order : node_by_address(a, b);
}

int node_by_address(const void *left, const void *right)
{
	return ((uintptr_t)left > (uintptr_t)right) - ((uintptr_t)left < (uintptr_t)right);
}

static struct str domain_of(const struct node *node)
{
	return node->kind == NODE_PROBE ? node_key(node) : host_domain(node_host(node));
}

int node_by_domain(const void *left, const void *right)
{
	const struct node *a = left;
	const struct node *b = right;
	int order = str_cmp(domain_of(a), domain_of(b));
	if (order == 0)
		order = (int)(b->kind == NODE_PROBE) - (int)(a->kind == NODE_PROBE);
	return order != 0 ? order : node_by_address(a, b);
}

/* ---- finding and making ---- */

static struct probe probe_of(struct str key)
{
	must(key.len <= UINT16_MAX);
	return (struct probe){
		.node = {.kind = NODE_PROBE, .key_len = (uint16_t)key.len}, .key = key.p};
}

/* Limits on names keep the size within that of a slab object. */
static void *node_new(enum node_kind kind, struct str key)
{
	must(sizes[kind] + key.len <= SLAB_SIZE_MAX);
	struct node *node = slab_zalloc(sizes[kind] + key.len);
	node->kind = (uint8_t)kind;
	node->key_len = (uint16_t)key.len;
	str_put((char *)node + sizes[kind], key);
	return node;
}

static void node_free(struct node *node)
{
	must(node->kind < NODE_PROBE);
	slab_free(node, sizes[node->kind] + node->key_len);
}

static void *find(const struct set *set, struct str key)
{
	struct probe probe = probe_of(key);
	return set_find(set, &probe, node_by_key);
}

static void *find_from(const struct set *set, struct str key)
{
	struct probe probe = probe_of(key);
	return set_from(set, &probe, node_by_key);
}

static void *make(struct set *set, enum node_kind kind, struct str key)
{
	struct node *node = node_new(kind, key);
	set_add(set, node, node_by_key);
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

struct record *graph_next_record(struct graph *graph, enum node_kind kind, struct str key)
{
	return find_from(&graph->records[kind], key);
}

struct balancer_node *graph_next_balancer(struct graph *graph, struct str id)
{
	return find_from(&graph->balancers, id);
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

static void join_balancer(struct balancer_node *balancer, struct node *node)
{
	if (node->kind == NODE_HOST)
		count_host(balancer, node, 1);
	if (!str_is_empty(host_domain(node_host(node))))
		set_add(&balancer->below, node, node_by_domain);
}

static void leave_balancer(struct balancer_node *balancer, struct node *node)
{
	if (node->kind == NODE_HOST)
		count_host(balancer, node, (uint32_t)-1);
	if (!str_is_empty(host_domain(node_host(node))))
		set_remove(&balancer->below, node, node_by_domain);
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
		join_balancer(balancer, &node->node);
	}
	return node;
}

struct node *graph_first_below(struct balancer_node *balancer, struct str domain)
{
	struct probe probe = probe_of(domain);
	struct node *node = set_from(&balancer->below, &probe, node_by_domain);
	return node != NULL && str_eq(domain_of(node), domain) ? node : NULL;
}

struct node *graph_next_below(struct balancer_node *balancer, const struct node *node)
{
	struct node *next = set_next(&balancer->below, node, node_by_domain);
	return next != NULL && str_eq(domain_of(next), domain_of(node)) ? next : NULL;
}

struct host_node *graph_next_host(struct balancer_node *balancer, struct str host)
{
	return find_from(&balancer->hosts, host);
}

struct claim_node *graph_next_claim(struct balancer_node *balancer, struct str key)
{
	return find_from(&balancer->claims, key);
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
		join_balancer(balancer, &node->node);
	}
	return node;
}

struct pool_node *graph_next_pool(struct service_node *service, struct str port)
{
	return find_from(&service->pools, port);
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

/* ---- records ---- */

void graph_move_slice(struct slice_node *slice, struct service_node *service)
{
	if (slice->service != NULL)
		set_remove(&slice->service->slices, slice, node_by_key);
	slice->service = service;
	if (service != NULL)
		set_add(&service->slices, slice, node_by_key);
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
		return !set_is_empty(&service->slices) || !set_is_empty(&service->pools);
	}
	if (node->kind != NODE_BALANCER)
		return false;
	struct balancer_node *balancer = (void *)node;
	return !set_is_empty(&balancer->hosts) || !set_is_empty(&balancer->claims);
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
	struct set *set = NULL;
	if (node->kind == NODE_HOST) {
		struct host_node *host = (void *)node;
		next = &host->balancer->node;
		set = &host->balancer->hosts;
		leave_balancer(host->balancer, node);
	} else if (node->kind == NODE_POOL) {
		struct pool_node *pool = (void *)node;
		next = &pool->service->record.node;
		set = &pool->service->pools;
	} else if (node->kind == NODE_CLAIM) {
		struct claim_node *claim = (void *)node;
		next = &claim->balancer->node;
		set = &claim->balancer->claims;
		leave_balancer(claim->balancer, node);
	} else if (node->kind == NODE_BALANCER) {
		set = &graph->balancers;
	} else {
		set = &graph->records[node->kind];
	}
	set_remove(set, node, node_by_key);
	free_content(node);
	node_free(node);
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

static void free_all(struct set *set);

static void free_sets(struct node *node)
{
	struct set *users = node_users(node);
	if (users != NULL)
		set_clear(users);
	if (node->kind == NODE_INGRESS || node->kind == NODE_FRONT)
		set_clear(&((struct ingress_node *)(void *)node)->targets);
	if (node->kind == NODE_SECRET)
		set_clear(&((struct secret_node *)(void *)node)->shown);
	if (node->kind == NODE_SERVICE) {
		set_clear(&((struct service_node *)(void *)node)->slices);
		free_all(&((struct service_node *)(void *)node)->pools);
	}
	if (node->kind == NODE_BALANCER) {
		set_clear(&((struct balancer_node *)(void *)node)->below);
		free_all(&((struct balancer_node *)(void *)node)->hosts);
		free_all(&((struct balancer_node *)(void *)node)->claims);
	}
}

static void free_all(struct set *set)
{
	struct node *node = NULL;
	while ((node = set_first(set)) != NULL) {
		set_remove(set, node, node_by_key);
		free_sets(node);
		free_content(node);
		node_free(node);
	}
}

void graph_fini(struct graph *graph)
{
	free_all(&graph->balancers);
	for (int kind = 0; kind < NODE_RECORD_KINDS; kind++)
		free_all(&graph->records[kind]);
}
