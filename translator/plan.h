// SPDX-License-Identifier: Apache-2.0
/*
 * What one Ingress, or one Service of type LoadBalancer (layer4.h), asks for, validated: its load balancer, its hosts with their paths, the pools
 * and Secrets it needs, and its annotations. Everything that follows from the object alone is decided here; what depends on others is decided by
 * rules.h (hosts shared with other Ingresses), balancer.h (load balancers shared with them), backends.h (Services) and tls.h (Secrets). Pure.
 *
 * Which load balancer:
 *
 *   provider's grouping   annotation group   id
 *   per-ingress           -                  namespace/name
 *   per-ingress           g                  namespace/group:g
 *   merged                any                class/<our class>: all classes share it
 *   merged                any                own-class/<class>: the class has listeners of its own
 *   per-ingress           a Service          namespace/service:name
 *
 * A plan lives in the arena that it was made in, and points into the record.
 */
#pragma once

#include "translator/annotations.h"
#include "translator/class.h"
#include "translator/class_listeners.h"
#include "translator/dialects/ingress_nginx_options.h"
#include "translator/route_settings.h"
#include "translator/rules.h"

enum balancer_scope {
	BALANCER_OF_INGRESS,
	BALANCER_OF_GROUP,
	BALANCER_OF_CLASS,
	BALANCER_OF_SERVICE,
};

/* What the provider cannot do; all zero while none is known. */
struct plan_limits {
	uint64_t policies; /* enum policy_bit */
	bool tcp;
	bool udp;
	bool tls_passthrough;
	bool source_ranges;
};

struct plan_context {
	struct class_context class;
	enum grouping grouping;
	struct plan_limits cannot;
	uint64_t http_port; /* of the load balancer that classes share */
	uint64_t https_port;
	struct str backend_namespace;      /* of the Service that takes what no rule does */
	struct str backend_name;           /* empty: none */
	const struct class_table *classes; /* NULL: none is known */
	struct str nginx_prefix; /* of annotations of ingress-nginx; empty: the usual one */
	const struct nginx_options *nginx_options; /* the global ones; NULL: there are none */
	struct nginx_maps nginx_maps;              /* ConfigMaps that its annotations name */
	const struct option_list *egress_hosts;    /* see foreign_hosts.h; NULL: none */
	bool is_released; /* a Service whose load balancer has been removed */
};

/* Prefixes of the id of a class's load balancer, before the name of the class: for the one that classes share, which is named after our own
 * class, and for that of a class with its own listeners. */
#define PLAN_SHARED    "class/"
#define PLAN_OWN_CLASS "own-class/"

/* The prefix of the names of virtual hosts whose TLS is passed through. */
#define PLAN_PASSTHROUGH "passthrough/"

/* Behind the id of users, if the keys of their Secret are the names. */
#define PLAN_USERS_OF_KEYS ":keys"

/* Behind the id of a policy: for paths that its rewrite is not for. */
#define PLAN_KEPT_PATHS "+kept"

struct plan_host {
	struct str host; /* lower case; empty: any */
	enum host_match match;
	LIST_OF(struct path_claim) claims;
};

/* A pool is a Service's port as the Ingress names it, so that it depends on nothing else: id
 * "namespace/service:port". A port name of digits alone is written "name:80", and the first of its ports ROUTE_FIRST_PORT. */
struct plan_pool {
	struct str id;
	struct str namespace; /* of the Service; empty: the Ingress's own */
	struct str service;   /* empty: the backend was refused, the pool has no endpoints */
	struct str
		port; /* KEY_TCP or KEY_UDP before it: bytes are passed on; "+..." behind it: settings */
	const struct stickiness
		*stickiness; /* all of these only where a class shares a load balancer */
	const struct health_check *check;
	const struct route_hash *hash;
	bool prefers_fastest;
	const struct backend_wish *backend; /* likewise; NULL: as its port says */
};

/* Before "port" in messages: one for UDP is another than that for TCP with its number. */
#define PLAN_UDP_WORD "UDP "

/* Behind the port of a pool whose endpoints are told who the client is by the PROXY protocol: settings of its own, as others have. */
#define PLAN_SENDS_PROXY "+proxy"

/* A port that this owner wants for TCP connections or UDP datagrams, or on a load balancer that it shares. */
struct plan_port {
	uint64_t port;
	enum listener_protocol protocol;
	struct str pool; /* id, for TCP and UDP */
	bool reads_proxy;
	/* UDP: as in struct listener. */
	uint64_t idle_s;
	uint64_t responses;
	bool one_way;
};
/* What it wants of the listener, but for who wants it. */
void plan_port_set(const struct plan_port *port, struct listener *listener);

/* Limit of TLS entries without hosts, with different Secrets, where a class shares a load balancer: each is compared with all
 * hosts. */
enum { PLAN_OPEN_TLS_MAX = 16 };

struct plan_tls {
	struct str secret;     /* empty: the default certificate */
	struct str_list hosts; /* checked, lower case */
	bool is_open; /* it lists no hosts: those of the rules that the certificate is valid for */
	size_t position; /* in spec.tls */
};

struct plan {
	struct object_ref self;
	uint64_t created;
	struct str named_class; /* spec.ingressClassName */
	bool is_unnamed;        /* names no class in any way */
	bool is_nginx;          /* read by the dialect of ingress-nginx */
	bool is_ours;           /* otherwise the rest is empty */
	struct str class_name;
	enum balancer_scope scope;
	struct str balancer;             /* id */
	struct str balancer_name;        /* of the Ingress, the group or the class */
	LIST_OF(struct plan_host) hosts; /* sorted by host */
	LIST_OF(struct plan_pool) pools; /* sorted by id */
	struct str default_pool;         /* id; empty: none */
	LIST_OF(struct plan_tls) tls;    /* as written */
	struct str_list names;           /* server names of tls, sorted; for BALANCER_OF_CLASS */
	LIST_OF(struct plan_port) ports; /* sorted */
	bool is_passthrough;
	bool is_tls_only; /* on a load balancer that a class shares */
	bool is_kept;     /* only its existence is known */
	bool is_refused;  /* a Service: it must not be served at all */
	bool is_leaving; /* a Service: no longer ours, but held until its load balancer is removed */
	struct str_list source_ranges; /* of its ports */
	struct str shared_with;        /* see annotation_values; for BALANCER_OF_CLASS */
	struct annotation_values values;
	struct route_settings route;
	const struct claim_route *claim_route; /* NULL: there is nothing to do but to serve */
	/* Of paths that its rewrite is not for; NULL: there are none. */
	const struct claim_route *kept_route;
	struct str policy;           /* id of its policy; empty: it has none */
	struct str kept_policy;      /* of kept_route; empty: it has none */
	struct str_list config_maps; /* NAMESPACE/NAME of those that it depends on */
	struct str users;            /* id of those of its policy; empty: none */
};

/* The id of the pool of the Service that takes what no rule does. */
struct str plan_backend_id(struct str namespace, struct str name, struct arena *arena);
void plan_make(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *ret_plan, struct diag_list *diags);

/* The plan of an object that exists but cannot be read. */
void plan_keep(const struct object_ref *self, enum grouping grouping, struct arena *arena,
	struct plan *ret_plan);
/* Takes out what is not done for those paths. */
void plan_keep_paths(const struct plan *plan, struct arena *arena, struct policy *policy);
/* Whether the load balancer object itself depends on this Ingress. */
bool plan_shapes_balancer(const struct plan *plan);
/* Whether the load balancer object would be the same with either. */
bool plan_same_balancer(const struct plan *a, const struct plan *b);
/* Whether both claim the same of a load balancer that a class shares, with the same right. */
bool plan_same_claims(const struct plan *a, const struct plan *b);
/* NULL: the plan has no such pool. */
const struct plan_pool *plan_find_pool(const struct plan *plan, struct str id);
/* Whether the virtual host would be the same with either. */
bool plan_same_host(const struct plan *a, const struct plan_host *a_host, const struct plan *b,
	const struct plan_host *b_host);
/* NULL: the plan has no such host. */
const struct plan_host *plan_find_host(const struct plan *plan, struct str host);
/* By age, then by namespace/name: negative if a is older. */
int plan_compare_ages(const struct plan *a, const struct plan *b);
