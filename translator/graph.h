// SPDX-License-Identifier: Apache-2.0
/*
 * The graph: every record from the watcher, every object for the provider, and the references between them.
 * It answers "what depends on this?" without a walk.
 *
 *                targets                    service
 *   ingress ------+--> balancer <--- host   (pools) <--- pool
 *                 |                            ^
 *                 +--> host                    +--- slice
 *                 +--> pool
 *                 +--> secret, which is also the certificate object
 *                 +--> class
 *                 +--> config map, with headers or the global options of its dialect
 *                 +--> claim, of what only one of several can have (claims.c)
 *                 +--> policy, of this Ingress alone
 *                 +--> users, made of a Secret (users.c)
 *
 * A Service of type LoadBalancer is an owner, like an Ingress. Its record is kept twice: as a Service, which
 * others may use as a backend, and as a front, which has targets like an Ingress.
 *
 * Records are kept as the messages that brought them, and decoded when something is built from them. A node
 * exists while it has a record, or is referred to, or its removal has yet to be sent to the provider.
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
	NODE_CONFIG_MAP,
	NODE_POD,
	NODE_MACHINE, /* a node of the cluster */
	NODE_FRONT,   /* a Service that wants a load balancer; struct ingress_node */
	NODE_BALANCER,
	NODE_HOST,
	NODE_POOL,
	NODE_CLAIM,
	NODE_POLICY,
	NODE_USERS,
	NODE_KIND_COUNT,
};
enum { NODE_RECORD_KINDS = NODE_BALANCER };

enum {
	NODE_DIRTY = 1 << 0,       /* in a queue of objects to be sent */
	NODE_WAITING = 1 << 0,     /* an ingress that waits, see served.h */
	NODE_GOING = 1 << 1,       /* in a queue of objects to be removed */
	NODE_SENT = 1 << 2,        /* the provider has it */
	NODE_TO_TELL = 1 << 3,     /* in the queue of nodes whose diagnostics are to be sent */
	NODE_TELL = 1 << 4,        /* the diagnostics of its content are to be sent */
	NODE_TELL_STATUS = 1 << 5, /* those of its load balancer's status */
	NODE_STATUS = 1 << 6,      /* an ingress in the queue of statuses */
	NODE_OURS = 1 << 7,        /* an ingress that is ours by class */
	NODE_SHAPES = 1 << 8,      /* an ingress that its load balancer object depends on */
	NODE_UNNAMED = 1 << 9,     /* an ingress that names no class */
	NODE_FAILED = 1 << 9,      /* a balancer: it failed and has not been applied since */
	NODE_TOLD = 1 << 10,       /* diagnostics of its content were sent, see diagnostics.h */
	NODE_TOLD_STATUS = 1 << 11,
	NODE_NEW_STATUS = 1 << 12, /* of a balancer: its first status was not passed on yet */
	NODE_LEAVING = 1 << 12,    /* of a front: its load balancer has to go first */
	NODE_RELEASED = 1 << 13,   /* of a front: it is gone */
	NODE_ANSWERED = 1 << 13,   /* of a balancer: applied as it was sent last */
	NODE_CLAIMED =
		1 << 14, /* in the queue of claims to be settled; an ingress: all of its claims */
	NODE_KEPT = 1 << 15, /* an ingress or a front of which only the key is known */
};
enum { NODE_QUEUED = NODE_DIRTY | NODE_GOING | NODE_TO_TELL | NODE_STATUS | NODE_CLAIMED };

struct ingress_node;

/* An ingress has the node among its targets. */
struct use {
	RB_ENTRY(use) by_user; /* of those of the target */
	LIST_ENTRY(use) next;  /* of those of the user, in no order */
	struct ingress_node *user;
	struct node *target;
	bool is_wanted; /* see targets_set() */
};
RB_HEAD(use_tree, use);
LIST_HEAD(use_list, use);

/* What every node begins with. */
struct node {
	RB_ENTRY(node) by_key; /* of its kind; a host, claim or pool: in what it belongs to */
	struct use_tree users; /* by name; empty for kinds that are never a target */
	struct str key;        /* behind the struct of its kind */
	uint8_t kind;          /* enum node_kind */
	uint8_t mark;          /* records: the last sync that named it */
	uint16_t flags;
	uint16_t batch; /* objects: the batch in which it was last given up */
};
RB_HEAD(node_tree, node);

/* The prefix of the key of a name's claim. */
#define CLAIM_NAME "name:"

/* Keys are "namespace/name"; for classes, "name". */
struct record {
	struct node node;
	char *payload; /* the message that brought it; NULL: none, the node is only referred to */
	size_t payload_len;
};

struct balancer_node;
struct offer_list;

struct ingress_node {
	struct record record;
	struct balancer_node *balancer; /* one of the targets; NULL: not ours */
	struct use_list targets;        /* nodes that it needs */
	struct offer_list *offers;      /* see offers.c; NULL: not looked at */
	uint64_t created;               /* while it has a plan: seconds since 1970 */
	char *uid;                      /* of the object; NULL: not given */
	bool has_tls;                   /* it has certificates for its hosts, and is no canary */
	const char *shared_with;        /* shared text, see annotation_values; NULL: nobody */
	bool is_large;                  /* see plans.c */
	bool is_unserved;               /* as its status was last sent, see owners.c */
	bool is_served;                 /* it may show addresses, see served.h, also for: */
	uint64_t waits_since;           /* place in the queue */
};

struct class_node {
	struct record record;
};

RB_HEAD(slice_tree, slice_node);

struct service_node {
	struct record record;
	struct slice_tree slices; /* by key */
	struct node_tree pools;
};

struct slice_node {
	struct record record;
	RB_ENTRY(slice_node) by_key;
	struct service_node *service; /* NULL: belongs to none */
};

struct config_map_node {
	struct record record;
};

/* A replica, or a node of the cluster: see publish.h. */
struct place_node {
	struct record record;
};

struct secret_facts;
struct claim_node;
RB_HEAD(shown_tree, claim_node);

struct secret_node {
	struct record record;
	uint64_t rev;
	struct secret_facts *facts; /* NULL: not looked at */
	struct shown_tree shown;    /* claims of names that its certificate is served for, by key */
	uint32_t shown_count;
};

/* A host, or a claim of a name, that a wildcard may cover. */
struct below {
	RB_ENTRY(below) by_domain;
	struct str domain; /* what follows the first label */
	struct node *node;
};
RB_HEAD(below_tree, below);

/* Key: the id. */
struct balancer_node {
	struct node node;
	uint64_t rev;
	char *status; /* the frame of a lb-status, see statuses.c; NULL: the provider has reported none */
	size_t status_len;
	struct node_tree hosts;
	struct node_tree claims;
	struct below_tree below;
	bool was_applied;        /* its listeners have been there, as far as they can be had */
	uint32_t passed_count;   /* how many of its hosts have TLS passed through */
	uint32_t wildcard_count; /* how many of its hosts are wildcards, passed through or not */
	uint32_t shown_count;    /* how many of its claims show a certificate */
};

/* Key: the host. */
struct host_node {
	struct node node;
	uint64_t rev;
	struct balancer_node *balancer;
	struct ingress_node
		*oldest; /* of the users; NULL: to be determined. See owners.c, also for: */
	uint32_t owner;  /* digest of the namespace that it was settled on; 0: none */
	struct below below;
	bool is_covered;  /* by a wildcard of another namespace, when it was settled or built */
	bool is_unserved; /* it belongs to none of its users */
	bool has_tls;     /* of a wildcard: one of its users has certificates, as it was settled */
};

/* Something on a load balancer shared by classes that only one owner can have. Keys: "name:HOST",
 * the certificate served for a server name; "port:NUMBER" or "port:NUMBER/udp", an extra port; "default", the backend
 * for hosts that nobody has. The users want it, the holder has it. */
struct claim_node {
	struct node node;
	struct balancer_node *balancer;
	struct ingress_node *holder;     /* NULL: nobody, or to be settled */
	struct secret_node *shown;       /* of a name; NULL: none */
	RB_ENTRY(claim_node) by_shown;   /* of those of that Secret */
	enum listener_protocol protocol; /* of a port that has a holder */
	struct below below;
};

/* Key: the port, as in struct plan_pool. */
struct pool_node {
	struct node node;
	uint64_t rev;
	struct service_node *service;
};

/* What is done with requests. Key: that of the Ingress. */
struct policy_node {
	struct node node;
	uint64_t rev;
};

/* Names and hashes of passwords. Key: that of the Secret, or with PLAN_USERS_OF_KEYS behind it. */
struct users_node {
	struct node node;
	uint64_t rev;
};

struct graph {
	struct node_tree records[NODE_RECORD_KINDS];
	struct node_tree balancers;
	struct node_tree policies;
	struct node_tree users;
};

RB_PROTOTYPE(node_tree, node, by_key, )
RB_PROTOTYPE(use_tree, use, by_user, )
RB_PROTOTYPE(slice_tree, slice_node, by_key, )
RB_PROTOTYPE(shown_tree, claim_node, by_shown, )

void graph_init(struct graph *graph);
void graph_fini(struct graph *graph);

static inline struct str node_key(const struct node *node)
{
	return node->key;
}

static inline bool node_has_users(const struct node *node)
{
	return !RB_EMPTY(&node->users);
}

/* The parts of a record's key before and after the slash. */
struct str node_namespace(const struct node *node);
struct str node_name(const struct node *node);
/* The host that a virtual host is for, or that a certificate is claimed for; may be empty. Empty for other
 * kinds. */
struct str node_host(const struct node *node);
/* What follows the first label of a host; empty if no wildcard can cover it. */
struct str host_domain(struct str host);
/* Of objects. */
uint64_t *node_rev(struct node *node);

/* NULL if there is none. For kinds below NODE_RECORD_KINDS. */
struct record *graph_find(struct graph *graph, enum node_kind kind, struct str key);
/* Created if there is none. */
struct record *graph_get(struct graph *graph, enum node_kind kind, struct str key);
/* The first whose key is not less than `key`; NULL: none. */
struct node *graph_find_from(struct node_tree *tree, struct str key);
struct balancer_node *graph_find_balancer(struct graph *graph, struct str id);
struct balancer_node *graph_get_balancer(struct graph *graph, struct str id);
/* NULL: there is none. */
struct host_node *graph_find_host(struct balancer_node *balancer, struct str host);
struct host_node *graph_get_host(struct balancer_node *balancer, struct str host);
/* The first host, or claim of a name, directly below the domain, and the next one; NULL: none. */
struct node *graph_first_below(struct balancer_node *balancer, struct str domain);
struct node *graph_next_below(struct node *node);
struct claim_node *graph_find_claim(struct balancer_node *balancer, struct str key);
struct claim_node *graph_get_claim(struct balancer_node *balancer, struct str key);
struct pool_node *graph_get_pool(struct service_node *service, struct str port);
struct policy_node *graph_get_policy(struct graph *graph, struct str key);
/* NULL: there are none. */
struct users_node *graph_find_users(struct graph *graph, struct str key);
struct users_node *graph_get_users(struct graph *graph, struct str key);

/* NULL: the node is no target of the ingress. */
struct use *graph_find_use(struct ingress_node *user, struct node *target);
struct use *graph_add_use(struct ingress_node *user, struct node *target);
void graph_remove_use(struct use *use);
/* Moves the slice to another service, or to none. */
void graph_move_slice(struct slice_node *slice, struct service_node *service);
/* Wipes what may hold a key. */
void record_free_payload(enum node_kind kind, char *payload, size_t len);

/* Frees the node unless it is needed or queued, and then whatever existed only for its sake. */
void graph_settle(struct graph *graph, struct node *node);
