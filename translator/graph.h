// SPDX-License-Identifier: Apache-2.0
/*
 * The graph: every record that the watcher sent, every object that a provider is sent, and who
 * needs whom. It answers "what depends on this?" without a walk.
 *
 *                 edges                     service                 of_service
 *   ingress ------+--> balancer <--- host   (tree of pools) <--- pool
 *                 |                            ^
 *                 +--> host                    +--- slice (list)
 *                 +--> pool
 *                 +--> secret, which is the certificate object as well
 *                 +--> class
 *                 +--> claim, of what only one of several can have (claims.c)
 *
 * A Service of type LoadBalancer is an owner as an Ingress is: its record stands twice, as a
 * Service, which others may use as a backend, and as a front, which has edges like an ingress.
 *
 * Records are kept packed (pack.h) and unpacked when something is built of them. A node exists
 * while a record is there, or somebody refers to it, or a provider still has to hear that it is
 * gone. There are some sixty thousand of them in a cluster with ten thousand Ingresses, so every
 * word in them counts.
 */
#pragma once

#include "common/buf.h"
#include "common/tree.h"
#include "proto/model.h"

#include <bsd/sys/queue.h>

enum node_kind {
	NODE_INGRESS,
	NODE_CLASS,
	NODE_SERVICE,
	NODE_SLICE,
	NODE_SECRET,
	NODE_FRONT, /* a Service that wants a load balancer; struct ingress_node */
	NODE_BALANCER,
	NODE_HOST,
	NODE_POOL,
	NODE_CLAIM,
	NODE_PROBE, /* a key to look for, no node */
	NODE_KIND_COUNT,
};
enum { NODE_RECORD_KINDS = NODE_BALANCER };

enum {
	NODE_DIRTY = 1 << 0,      /* in a queue of objects to be sent */
	NODE_GOING = 1 << 1,      /* in a queue of objects to be removed */
	NODE_SENT = 1 << 2,       /* the provider has it */
	NODE_TO_SAY = 1 << 3,     /* in the queue of those whose diagnostics are to be told */
	NODE_SAY = 1 << 4,        /* the diagnostics of its content are to be told */
	NODE_SAY_STATUS = 1 << 5, /* those of its load balancer's status */
	NODE_STATUS = 1 << 6,     /* an ingress in the queue of statuses */
	NODE_OURS = 1 << 7,       /* an ingress that is ours by class */
	NODE_SHAPES = 1 << 8,     /* an ingress that its load balancer object depends on */
	NODE_UNNAMED = 1 << 9,    /* an ingress that names no class */
	NODE_SAID = 1 << 10,      /* something of its content was told, see said.h */
	NODE_SAID_STATUS = 1 << 11,
	NODE_NEW_STATUS = 1 << 12, /* of a balancer: its first status was not told yet */
	NODE_LEAVING = 1 << 12,    /* of a front: its load balancer has to go first */
	NODE_RELEASED = 1 << 13,   /* of a front: it is gone */
	NODE_ANSWERED = 1 << 13,   /* of a balancer: applied as it was sent last */
	NODE_CLAIMED = 1 << 14,    /* a claim in the queue of those to be settled */
	NODE_KEPT = 1 << 15,       /* an ingress or a front of which nothing is known but the key */
};
enum { NODE_QUEUED = NODE_DIRTY | NODE_GOING | NODE_TO_SAY | NODE_STATUS | NODE_CLAIMED };

/* What every node begins with. Its key stands behind the struct of its kind. */
struct node {
	uint8_t kind; /* enum node_kind */
	uint8_t mark; /* records: the sync that named it last */
	uint16_t flags;
	uint16_t key_len;
	uint16_t batch; /* objects: the batch in which it was last given up */
};

struct ingress_node;

/* From an ingress to what it needs. */
struct edge {
	LIST_ENTRY(edge) link; /* among the users of the target */
	struct ingress_node *ingress;
	struct node *target;
};
LIST_HEAD(edge_list, edge);

/* Keys are "namespace/name", of classes "name". */
struct record {
	struct node node;
	RB_ENTRY(record) entry;
	uint8_t *packed; /* NULL: there is none, the node is only referred to */
	uint32_t packed_len;
	uint32_t edge_count; /* of an ingress */
};
RB_HEAD(record_tree, record);

struct balancer_node;

struct ingress_node {
	struct record record;
	struct edge *edges;             /* sorted by target */
	struct balancer_node *balancer; /* one of the targets; NULL: not ours */
};

struct class_node {
	struct record record;
	struct edge_list users;
};

struct pool_node;
struct slice_node;
RB_HEAD(pool_tree, pool_node);
SLIST_HEAD(slice_list, slice_node);

struct service_node {
	struct record record;
	struct slice_list slices;
	struct pool_tree pools;
};

struct slice_node {
	struct record record;
	struct service_node *service; /* NULL: belongs to none */
	SLIST_ENTRY(slice_node) of_service;
};

struct secret_facts;
struct claim_node;
LIST_HEAD(claim_list, claim_node);

struct secret_node {
	struct record record;
	struct edge_list users;
	struct claim_list shown; /* names that its certificate is shown for */
	uint64_t rev;
	struct secret_facts *facts; /* NULL: not looked at */
};

struct host_node;
RB_HEAD(host_tree, host_node);
RB_HEAD(claim_tree, claim_node);

/* Key: the id. */
struct balancer_node {
	struct node node;
	RB_ENTRY(balancer_node) entry;
	struct edge_list users;
	uint64_t rev;
	struct host_tree hosts;
	struct claim_tree claims;
	uint8_t *status; /* packed lb_status, see statuses.c; NULL: the provider has said nothing */
	uint32_t status_len;
	uint32_t shown_count; /* of its claims, those that show a certificate */
	bool has_failed;      /* and has not been applied since, whatever came between */
};
RB_HEAD(balancer_tree, balancer_node);

/* Key: the host. */
struct host_node {
	struct node node;
	RB_ENTRY(host_node) entry;
	struct edge_list users;
	uint64_t rev;
	struct balancer_node *balancer;
};

/* On a load balancer that all of a class share, something that only one can have. Keys:
 * "name:HOST", the certificate that is shown for a server name; "port:NUMBER", an extra port;
 * "default", the backend for hosts that nobody has. The users want it, the holder has it. */
struct claim_node {
	struct node node;
	RB_ENTRY(claim_node) entry;
	struct edge_list users;
	struct balancer_node *balancer;
	struct ingress_node *holder;     /* NULL: nobody, or to be settled */
	enum listener_protocol protocol; /* of a port that has a holder */
	struct secret_node *shown;       /* of a name; NULL: none */
	LIST_ENTRY(claim_node) of_secret;
};

/* Key: the port, as in struct plan_pool. */
struct pool_node {
	struct node node;
	RB_ENTRY(pool_node) entry;
	struct edge_list users;
	uint64_t rev;
	struct service_node *service;
};

struct graph {
	struct record_tree records[NODE_RECORD_KINDS];
	struct balancer_tree balancers;
};

void graph_init(struct graph *graph);
void graph_fini(struct graph *graph);

struct str node_key(const struct node *node);
/* The part of a record's key before and behind the slash. */
struct str node_namespace(const struct node *node);
struct str node_name(const struct node *node);
/* NULL for kinds that nobody has edges to. */
struct edge_list *node_users(struct node *node);
/* Of objects. */
uint64_t *node_rev(struct node *node);

/* NULL when there is none. Kinds below NODE_RECORD_KINDS. */
struct record *graph_find(struct graph *graph, enum node_kind kind, struct str key);
/* Made when there is none. */
struct record *graph_get(struct graph *graph, enum node_kind kind, struct str key);
/* The first whose key is not before that one; NULL: none. Likewise the next and graph_next_pool(). */
struct record *graph_next_record(struct graph *graph, enum node_kind kind, struct str key);
struct balancer_node *graph_next_balancer(struct graph *graph, struct str id);
struct balancer_node *graph_find_balancer(struct graph *graph, struct str id);
struct balancer_node *graph_get_balancer(struct graph *graph, struct str id);
struct host_node *graph_get_host(struct balancer_node *balancer, struct str host);
/* The first whose key is not before that one; NULL: none. */
struct host_node *graph_next_host(struct balancer_node *balancer, struct str host);
struct claim_node *graph_next_claim(struct balancer_node *balancer, struct str key);
struct claim_node *graph_find_claim(struct balancer_node *balancer, struct str key);
struct claim_node *graph_get_claim(struct balancer_node *balancer, struct str key);
struct pool_node *graph_next_pool(struct service_node *service, struct str port);
struct pool_node *graph_get_pool(struct service_node *service, struct str port);

/* Puts the slice under another service, or under none. */
void graph_move_slice(struct slice_node *slice, struct service_node *service);
/* Replaces the packed bytes; NULL: there is no record any more. Takes `packed`, returns the old
 * ones for record_free_bytes(). */
uint8_t *record_swap(struct record *record, uint8_t *packed, size_t len, size_t *ret_old_len);
/* Wipes them where they may hold a key. */
void record_free_bytes(const struct record *record, uint8_t *packed, size_t len);
static inline struct str record_packed(const struct record *record)
{
	return (struct str){(const char *)record->packed, record->packed_len};
}

/* Frees the node, and then what existed only for its sake, unless it is needed or queued. */
void graph_settle(struct graph *graph, struct node *node);

RB_PROTOTYPE(record_tree, record, entry, )
RB_PROTOTYPE(balancer_tree, balancer_node, entry, )
RB_PROTOTYPE(host_tree, host_node, entry, )
RB_PROTOTYPE(claim_tree, claim_node, entry, )
RB_PROTOTYPE(pool_tree, pool_node, entry, )
