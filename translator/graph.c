// SPDX-License-Identifier: Apache-2.0
#include "translator/graph.h"

#include "common/must.h"
#include "common/slab.h"
#include "translator/facts.h"

#include <stddef.h>

/* A key to compare with; never in a tree. */
struct probe {
	union {
		struct node node;
		struct record record;
		struct balancer_node balancer;
		struct host_node host;
		struct pool_node pool;
		struct claim_node claim;
	};
	const char *key;
};

static const size_t sizes[NODE_KIND_COUNT] = {
	[NODE_INGRESS] = sizeof(struct ingress_node),
	[NODE_CLASS] = sizeof(struct class_node),
	[NODE_SERVICE] = sizeof(struct service_node),
	[NODE_SLICE] = sizeof(struct slice_node),
	[NODE_SECRET] = sizeof(struct secret_node),
	[NODE_FRONT] = sizeof(struct ingress_node),
	[NODE_BALANCER] = sizeof(struct balancer_node),
	[NODE_HOST] = sizeof(struct host_node),
	[NODE_POOL] = sizeof(struct pool_node),
	[NODE_CLAIM] = sizeof(struct claim_node),
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
	const char *slash = key.len != 0 ? memchr(key.p, '/', key.len) : NULL;
	return slash != NULL ? (struct str){key.p, (size_t)(slash - key.p)} : STR_NONE;
}

struct str node_name(const struct node *node)
{
	struct str key = node_key(node);
	const char *slash = key.len != 0 ? memchr(key.p, '/', key.len) : NULL;
	return slash != NULL ? str_skip(key, (size_t)(slash - key.p) + 1) : key;
}

struct edge_list *node_users(struct node *node)
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

/* ---- trees ---- */

static int compare_nodes(const struct node *a, const struct node *b)
{
	return str_cmp(node_key(a), node_key(b));
}

static int compare_records(const struct record *a, const struct record *b)
{
	return compare_nodes(&a->node, &b->node);
}

static int compare_balancers(const struct balancer_node *a, const struct balancer_node *b)
{
	return compare_nodes(&a->node, &b->node);
}

static int compare_hosts(const struct host_node *a, const struct host_node *b)
{
	return compare_nodes(&a->node, &b->node);
}

static int compare_pools(const struct pool_node *a, const struct pool_node *b)
{
	return compare_nodes(&a->node, &b->node);
}

static int compare_claims(const struct claim_node *a, const struct claim_node *b)
{
	return compare_nodes(&a->node, &b->node);
}

RB_GENERATE(record_tree, record, entry, compare_records)
RB_GENERATE(balancer_tree, balancer_node, entry, compare_balancers)
RB_GENERATE(host_tree, host_node, entry, compare_hosts)
RB_GENERATE(claim_tree, claim_node, entry, compare_claims)
RB_GENERATE(pool_tree, pool_node, entry, compare_pools)

static struct probe probe_of(struct str key)
{
	must(key.len <= UINT16_MAX);
	return (struct probe){
		.node = {.kind = NODE_PROBE, .key_len = (uint16_t)key.len}, .key = key.p};
}

static void *node_new(enum node_kind kind, struct str key)
{
	must(key.len <= UINT16_MAX);
	struct node *node = slab_zalloc(sizes[kind] + key.len);
	node->kind = (uint8_t)kind;
	node->key_len = (uint16_t)key.len;
	if (key.len != 0)
		memcpy((char *)node + sizes[kind], key.p, key.len);
	return node;
}

static void node_free(struct node *node)
{
	slab_free(node, sizes[node->kind] + node->key_len);
}

struct record *graph_find(struct graph *graph, enum node_kind kind, struct str key)
{
	struct probe probe = probe_of(key);
	return RB_FIND(record_tree, &graph->records[kind], &probe.record);
}

struct record *graph_get(struct graph *graph, enum node_kind kind, struct str key)
{
	struct record *record = graph_find(graph, kind, key);
	if (record == NULL) {
		record = node_new(kind, key);
		RB_INSERT(record_tree, &graph->records[kind], record);
	}
	return record;
}

struct record *graph_next_record(struct graph *graph, enum node_kind kind, struct str key)
{
	struct probe probe = probe_of(key);
	return RB_NFIND(record_tree, &graph->records[kind], &probe.record);
}

struct balancer_node *graph_next_balancer(struct graph *graph, struct str id)
{
	struct probe probe = probe_of(id);
	return RB_NFIND(balancer_tree, &graph->balancers, &probe.balancer);
}

struct balancer_node *graph_find_balancer(struct graph *graph, struct str id)
{
	struct probe probe = probe_of(id);
	return RB_FIND(balancer_tree, &graph->balancers, &probe.balancer);
}

struct balancer_node *graph_get_balancer(struct graph *graph, struct str id)
{
	struct balancer_node *balancer = graph_find_balancer(graph, id);
	if (balancer == NULL) {
		balancer = node_new(NODE_BALANCER, id);
		RB_INSERT(balancer_tree, &graph->balancers, balancer);
	}
	return balancer;
}

struct host_node *graph_get_host(struct balancer_node *balancer, struct str host)
{
	struct probe probe = probe_of(host);
	struct host_node *node = RB_FIND(host_tree, &balancer->hosts, &probe.host);
	if (node == NULL) {
		node = node_new(NODE_HOST, host);
		node->balancer = balancer;
		RB_INSERT(host_tree, &balancer->hosts, node);
	}
	return node;
}

struct host_node *graph_next_host(struct balancer_node *balancer, struct str host)
{
	struct probe probe = probe_of(host);
	return RB_NFIND(host_tree, &balancer->hosts, &probe.host);
}

struct claim_node *graph_next_claim(struct balancer_node *balancer, struct str key)
{
	struct probe probe = probe_of(key);
	return RB_NFIND(claim_tree, &balancer->claims, &probe.claim);
}

struct claim_node *graph_find_claim(struct balancer_node *balancer, struct str key)
{
	struct probe probe = probe_of(key);
	return RB_FIND(claim_tree, &balancer->claims, &probe.claim);
}

struct claim_node *graph_get_claim(struct balancer_node *balancer, struct str key)
{
	struct claim_node *node = graph_find_claim(balancer, key);
	if (node == NULL) {
		node = node_new(NODE_CLAIM, key);
		node->balancer = balancer;
		RB_INSERT(claim_tree, &balancer->claims, node);
	}
	return node;
}

struct pool_node *graph_next_pool(struct service_node *service, struct str port)
{
	struct probe probe = probe_of(port);
	return RB_NFIND(pool_tree, &service->pools, &probe.pool);
}

struct pool_node *graph_get_pool(struct service_node *service, struct str port)
{
	struct probe probe = probe_of(port);
	struct pool_node *node = RB_FIND(pool_tree, &service->pools, &probe.pool);
	if (node == NULL) {
		node = node_new(NODE_POOL, port);
		node->service = service;
		RB_INSERT(pool_tree, &service->pools, node);
	}
	return node;
}

/* ---- records ---- */

void graph_move_slice(struct slice_node *slice, struct service_node *service)
{
	if (slice->service != NULL)
		SLIST_REMOVE(&slice->service->slices, slice, slice_node, of_service);
	slice->service = service;
	if (service != NULL)
		SLIST_INSERT_HEAD(&service->slices, slice, of_service);
}

uint8_t *record_swap(struct record *record, uint8_t *packed, size_t len, size_t *ret_old_len)
{
	uint8_t *old = record->packed;
	must(len <= UINT32_MAX);
	*ret_old_len = record->packed_len;
	record->packed = packed;
	record->packed_len = (uint32_t)len;
	return old;
}

void record_free_bytes(const struct record *record, uint8_t *packed, size_t len)
{
	if (packed != NULL && record->node.kind == NODE_SECRET)
		explicit_bzero(packed, len);
	slab_free(packed, len);
}

/* ---- life ---- */

static bool is_needed(struct node *node)
{
	struct edge_list *users = node_users(node);
	if ((node->flags & (NODE_QUEUED | NODE_SENT)) != 0)
		return true;
	if (users != NULL && !LIST_EMPTY(users))
		return true;
	if (node->kind < NODE_RECORD_KINDS && ((struct record *)(void *)node)->packed != NULL)
		return true;
	if (node->kind == NODE_SERVICE) {
		struct service_node *service = (void *)node;
		return !SLIST_EMPTY(&service->slices) || !RB_EMPTY(&service->pools);
	}
	if (node->kind != NODE_BALANCER)
		return false;
	struct balancer_node *balancer = (void *)node;
	return !RB_EMPTY(&balancer->hosts) || !RB_EMPTY(&balancer->claims);
}

static void free_record(struct graph *graph, struct record *record)
{
	record_free_bytes(record, record->packed, record->packed_len);
	if (record->node.kind == NODE_SECRET)
		facts_free(((struct secret_node *)(void *)record)->facts);
	RB_REMOVE(record_tree, &graph->records[record->node.kind], record);
	node_free(&record->node);
}

/* Returns the node that may have existed only for the sake of this one. */
static struct node *free_node(struct graph *graph, struct node *node)
{
	struct node *next = NULL;
	if (node->kind == NODE_HOST) {
		struct host_node *host = (void *)node;
		next = &host->balancer->node;
		RB_REMOVE(host_tree, &host->balancer->hosts, host);
		node_free(&host->node);
	} else if (node->kind == NODE_POOL) {
		struct pool_node *pool = (void *)node;
		next = &pool->service->record.node;
		RB_REMOVE(pool_tree, &pool->service->pools, pool);
		node_free(&pool->node);
	} else if (node->kind == NODE_CLAIM) {
		struct claim_node *claim = (void *)node;
		next = &claim->balancer->node;
		RB_REMOVE(claim_tree, &claim->balancer->claims, claim);
		node_free(&claim->node);
	} else if (node->kind == NODE_BALANCER) {
		struct balancer_node *balancer = (void *)node;
		RB_REMOVE(balancer_tree, &graph->balancers, balancer);
		slab_free(balancer->status, balancer->status_len);
		node_free(&balancer->node);
	} else {
		free_record(graph, (struct record *)(void *)node);
	}
	return next;
}

void graph_settle(struct graph *graph, struct node *node)
{
	while (node != NULL && !is_needed(node))
		node = free_node(graph, node);
}

void graph_init(struct graph *graph)
{
	for (int kind = 0; kind < NODE_RECORD_KINDS; kind++)
		RB_INIT(&graph->records[kind]);
	RB_INIT(&graph->balancers);
}

static void free_pools(struct service_node *service)
{
	struct pool_node *pool;
	struct pool_node *next;
	RB_FOREACH_SAFE (pool, pool_tree, &service->pools, next) {
		RB_REMOVE(pool_tree, &service->pools, pool);
		node_free(&pool->node);
	}
}

static void free_hosts(struct balancer_node *balancer)
{
	struct host_node *host;
	struct host_node *next;
	RB_FOREACH_SAFE (host, host_tree, &balancer->hosts, next) {
		RB_REMOVE(host_tree, &balancer->hosts, host);
		node_free(&host->node);
	}
}

static void free_claims(struct balancer_node *balancer)
{
	struct claim_node *claim;
	struct claim_node *next;
	RB_FOREACH_SAFE (claim, claim_tree, &balancer->claims, next) {
		RB_REMOVE(claim_tree, &balancer->claims, claim);
		node_free(&claim->node);
	}
}

void graph_fini(struct graph *graph)
{
	struct balancer_node *balancer;
	struct balancer_node *next_balancer;
	RB_FOREACH_SAFE (balancer, balancer_tree, &graph->balancers, next_balancer) {
		free_hosts(balancer);
		free_claims(balancer);
		free_node(graph, &balancer->node);
	}
	for (int kind = 0; kind < NODE_RECORD_KINDS; kind++) {
		struct record *record;
		struct record *next;
		RB_FOREACH_SAFE (record, record_tree, &graph->records[kind], next) {
			if (kind == NODE_SERVICE)
				free_pools((struct service_node *)(void *)record);
			if (kind == NODE_INGRESS || kind == NODE_FRONT)
				slab_free(((struct ingress_node *)(void *)record)->edges,
					record->edge_count * sizeof(struct edge));
			free_record(graph, record);
		}
	}
}
