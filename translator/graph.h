// SPDX-License-Identifier: Apache-2.0
/*
 * The graph: every record from the watcher, every object for the provider, and the references between them.
 * It answers "what depends on this?" without a walk.
 *
 *                targets                    service
 *   ingress ------+--> balancer <--- host   (set of pools) <--- pool
 *                 |                            ^
 *                 +--> host                    +--- slice (set)
 *                 +--> pool
 *                 +--> secret, which is also the certificate object
 *                 +--> class
 *                 +--> claim, of what only one of several can have (claims.c)
 *
 * A Service of type LoadBalancer is an owner, like an Ingress. Its record is kept twice: as a Service, which
 * others may use as a backend, and as a front, which has targets like an Ingress.
 *
 * Records are kept as the messages that brought them, and decoded when something is built from them. A node
 * exists while it has a record, or is referred to, or its removal has yet to be sent to the provider. A
 * cluster with ten thousand Ingresses has some sixty thousand nodes, so every word in them counts.
 */
#pragma once

#include "common/buf.h"
#include "common/set.h"
#include "proto/model.h"

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
	NODE_PROBE, /* a search key, not a node */
	NODE_KIND_COUNT,
};
enum { NODE_RECORD_KINDS = NODE_BALANCER };

enum {
	NODE_DIRTY = 1 << 0,       /* in a queue of objects to be sent */
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

/* What every node begins with. The key is at the end of the struct of its kind. */
struct node {
	uint8_t kind; /* enum node_kind */
	uint8_t mark; /* records: the last sync that named it */
	uint16_t flags;
	uint16_t key_len;
	uint16_t batch; /* objects: the batch in which it was last given up */
};

/* The orders of sets of nodes. Sets are sorted by key unless stated otherwise; a probe is compared
 * by its key, too. */
int node_by_key(const void *left, const void *right);
/* Of nodes of all kinds and places: by key, then by kind. */
int node_by_name(const void *left, const void *right);
int node_by_address(const void *left, const void *right);
/* For hosts, and claims of names, that a wildcard may cover: by what follows their first label. A
 * probe has that as its key, and sorts before them. */
int node_by_domain(const void *left, const void *right);

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
	struct set targets;             /* nodes that it needs, by address */
	struct offer_list *offers;      /* see offers.c; NULL: not looked at */
	uint64_t created;               /* while it has a plan: seconds since 1970 */
	char *uid;                      /* of the object; NULL: not given */
	const char *shared_with;        /* shared text, see annotation_values; NULL: nobody */
	bool is_large;                  /* see plans.c */
	bool is_unserved;               /* as its status was last sent, see owners.c */
	char key[];
};

/* `users`: the ingresses that have the node among their targets, by name. */
struct class_node {
	struct record record;
	struct set users;
	char key[];
};

struct service_node {
	struct record record;
	struct set slices;
	struct set pools;
	char key[];
};

struct slice_node {
	struct record record;
	struct service_node *service; /* NULL: belongs to none */
	char key[];
};

struct secret_facts;

struct secret_node {
	struct record record;
	uint64_t rev;
	struct secret_facts *facts; /* NULL: not looked at */
	struct set users;
	struct set shown; /* claims of names that its certificate is served for, by name */
	uint32_t shown_count;
	char key[];
};

/* Key: the id. */
struct balancer_node {
	struct node node;
	uint64_t rev;
	char *status; /* the frame of a lb-status, see statuses.c; NULL: the provider has reported none */
	size_t status_len;
	struct set users;
	struct set hosts;
	struct set claims;
	struct set below; /* hosts, and claims of names, that a wildcard may cover: by domain */
	uint32_t passed_count;   /* how many of its hosts have TLS passed through */
	uint32_t wildcard_count; /* how many of its hosts are wildcards, passed through or not */
	uint32_t shown_count;    /* how many of its claims show a certificate */
	char key[];
};

/* Key: the host. */
struct host_node {
	struct node node;
	uint64_t rev;
	struct balancer_node *balancer;
	struct ingress_node
		*oldest; /* of the users; NULL: to be determined. See owners.c, also for: */
	uint32_t owner;  /* digest of the namespace that it was settled on; 0: none */
	struct set users;
	bool is_covered;  /* by a wildcard of another namespace, when it was settled or built */
	bool is_unserved; /* it belongs to none of its users */
	char key[];
};

/* Something on a load balancer shared by classes that only one owner can have. Keys: "name:HOST",
 * the certificate served for a server name; "port:NUMBER", an extra port; "default", the backend
 * for hosts that nobody has. The users want it, the holder has it. */
struct claim_node {
	struct node node;
	struct balancer_node *balancer;
	struct ingress_node *holder;     /* NULL: nobody, or to be settled */
	struct secret_node *shown;       /* of a name; NULL: none */
	enum listener_protocol protocol; /* of a port that has a holder */
	struct set users;
	char key[];
};

/* Key: the port, as in struct plan_pool. */
struct pool_node {
	struct node node;
	uint64_t rev;
	struct service_node *service;
	struct set users;
	char key[];
};

struct graph {
	struct set records[NODE_RECORD_KINDS];
	struct set balancers;
};

void graph_init(struct graph *graph);
void graph_fini(struct graph *graph);

struct str node_key(const struct node *node);
/* The parts of a record's key before and after the slash. */
struct str node_namespace(const struct node *node);
struct str node_name(const struct node *node);
/* The host that a virtual host is for, or that a certificate is claimed for; may be empty. Empty for other
 * kinds. */
struct str node_host(const struct node *node);
/* What follows the first label of a host; empty if no wildcard can cover it. */
struct str host_domain(struct str host);
/* NULL for kinds that are never a target. */
struct set *node_users(struct node *node);
/* False for kinds that are never a target. */
bool node_has_users(struct node *node);
/* Of objects. */
uint64_t *node_rev(struct node *node);

/* NULL if there is none. For kinds below NODE_RECORD_KINDS. */
struct record *graph_find(struct graph *graph, enum node_kind kind, struct str key);
/* Created if there is none. */
struct record *graph_get(struct graph *graph, enum node_kind kind, struct str key);
/* The first whose key is not less than `key`; NULL: none. Likewise graph_next_balancer() and
 * graph_next_pool(). */
struct record *graph_next_record(struct graph *graph, enum node_kind kind, struct str key);
struct balancer_node *graph_next_balancer(struct graph *graph, struct str id);
struct balancer_node *graph_find_balancer(struct graph *graph, struct str id);
struct balancer_node *graph_get_balancer(struct graph *graph, struct str id);
/* NULL: there is none. */
struct host_node *graph_find_host(struct balancer_node *balancer, struct str host);
struct host_node *graph_get_host(struct balancer_node *balancer, struct str host);
/* The first whose key is not less than `host`; NULL: none. */
struct host_node *graph_next_host(struct balancer_node *balancer, struct str host);
/* The first host, or claim of a name, directly below the domain, and the next one; NULL: none. */
struct node *graph_first_below(struct balancer_node *balancer, struct str domain);
struct node *graph_next_below(struct balancer_node *balancer, const struct node *node);
struct claim_node *graph_next_claim(struct balancer_node *balancer, struct str key);
struct claim_node *graph_find_claim(struct balancer_node *balancer, struct str key);
struct claim_node *graph_get_claim(struct balancer_node *balancer, struct str key);
struct pool_node *graph_next_pool(struct service_node *service, struct str port);
struct pool_node *graph_get_pool(struct service_node *service, struct str port);

/* Moves the slice to another service, or to none. */
void graph_move_slice(struct slice_node *slice, struct service_node *service);
/* Wipes what may hold a key. */
void record_free_payload(enum node_kind kind, char *payload, size_t len);

/* Frees the node unless it is needed or queued, and then whatever existed only for its sake. */
void graph_settle(struct graph *graph, struct node *node);
