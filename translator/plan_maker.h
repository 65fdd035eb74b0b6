// SPDX-License-Identifier: Apache-2.0
/*
 * A plan in the making: what plan.c, which decides the order, and plan_rules.c share. Everything lives in the arena.
 */
#pragma once

#include "translator/plan.h"

struct plan_maker {
	const struct ingress_record *ingress;
	const struct plan_context *context;
	struct arena *arena;
	struct diag_list *diags;
	struct plan *plan;
	struct nginx_values *nginx; /* NULL: it speaks another dialect */
};

#define PLAN_PUSH(maker_, list_)                                                             \
	({                                                                                   \
		void *items_ = (list_)->items;                                               \
		void *place_ = arena_push(                                                   \
			(maker_)->arena, &items_, &(list_)->count, sizeof(*(list_)->items)); \
		(list_)->items = items_;                                                     \
		(__typeof__((list_)->items))place_;                                          \
	})

/* Whether it can be the name of a Service, a port or a Secret, so that it cannot break out of the key that it becomes part
 * of. */
bool plan_is_name(struct str s);
/* What is done with requests: route, policy and users of the plan. */
void plan_read_route(const struct plan_maker *m);
/* The default backend and the rules: hosts, pools and default pool of the plan, both sorted. */
void plan_read_rules(const struct plan_maker *m);

/* One claim and its host, before claims are grouped by host. */
struct hosted {
	struct str host;
	enum host_match match;
	bool has_claim;
	struct path_claim claim;
};

struct hosted_list {
	struct hosted *items;
	size_t count;
};

/* Adds what an Ingress gets beside the paths that it has written: redirects of its hosts, and more names of them (plan_extras.c). */
void plan_add_extras(const struct plan_maker *m, struct hosted_list *list);
