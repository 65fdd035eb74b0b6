// SPDX-License-Identifier: Apache-2.0
/*
 * What one Ingress asks for, checked: on which load balancer it is, its hosts with their paths, the
 * pools and Secrets it needs, and its annotations. Everything that follows from the Ingress alone
 * is decided here; what depends on others is decided by rules.h (hosts shared with other
 * Ingresses), balancer.h (load balancers shared with them), backends.h (Services) and tls.h
 * (Secrets). Pure.
 *
 * Which load balancer:
 *
 *   provider's grouping   annotation group   id
 *   per-ingress           -                  namespace/name
 *   per-ingress           g                  namespace/group:g
 *   merged                any                class/<class>
 *
 * A plan lives in the arena it was made in, and points into the record.
 */
#pragma once

#include "translator/annotations.h"
#include "translator/class.h"
#include "translator/rules.h"

enum balancer_scope { BALANCER_OF_INGRESS, BALANCER_OF_GROUP, BALANCER_OF_CLASS };

struct plan_context {
	struct class_context class;
	enum grouping grouping;
};

struct plan_host {
	struct str host; /* lower case; empty: any */
	enum host_match match;
	LIST_OF(struct path_claim) claims;
};

/* A pool is a Service's port as the Ingress names it, so that it depends on nothing else: id
 * "namespace/service:port". A port name of digits alone is written "name:80". */
struct plan_pool {
	struct str id;
	struct str service; /* empty: the backend was refused, the pool has no endpoints */
	struct str port;
};

struct plan_tls {
	struct str secret;     /* empty: the default certificate */
	struct str_list hosts; /* checked, lower case */
	size_t position;       /* in spec.tls */
};

struct plan {
	struct object_ref self;
	uint64_t created;
	struct str named_class; /* spec.ingressClassName */
	bool is_unnamed;        /* names no class in any way */
	bool is_ours;           /* otherwise the rest is empty */
	struct str class_name;
	enum balancer_scope scope;
	struct str balancer;             /* id */
	struct str balancer_name;        /* of the Ingress, the group or the class */
	LIST_OF(struct plan_host) hosts; /* sorted by host */
	LIST_OF(struct plan_pool) pools; /* sorted by id */
	struct str default_pool;         /* id; empty: none */
	LIST_OF(struct plan_tls) tls;    /* as written */
	struct annotation_values values;
};

void plan_make(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *ret_plan, struct diag_list *diags);

/* Whether the load balancer object itself depends on this Ingress. */
bool plan_shapes_balancer(const struct plan *plan);
/* Whether the load balancer object would be the same with either. */
bool plan_same_balancer(const struct plan *a, const struct plan *b);
/* Whether the virtual host would be the same with either. */
bool plan_same_host(const struct plan *a, const struct plan_host *a_host, const struct plan *b,
	const struct plan_host *b_host);
/* NULL: the plan has no such host. */
const struct plan_host *plan_find_host(const struct plan *plan, struct str host);
/* Age, then namespace/name: negative when a is the older. */
int plan_compare_ages(const struct plan *a, const struct plan *b);
