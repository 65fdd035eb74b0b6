// SPDX-License-Identifier: Apache-2.0
/*
 * A small cache of the plans of Ingresses and Services.
 *
 * Plans are made from the record whenever they are needed: keeping all of them would take more memory than everything else
 * together. The last few are kept, because a changed Ingress is needed by its load balancer and by each of its hosts in turn.
 *
 * A host shared by several Ingresses needs the plans of all of them. If these have many hosts and many rules, making each plan
 * anew for each host would take time quadratic in what the owners wrote. So large plans have slots of their own, which small ones
 * cannot take, and at most as many large ones can share one host (host_paths.h).
 */
#pragma once

#include "translator/classes.h"
#include "translator/global_options.h"
#include "translator/plan.h"

enum { PLAN_LARGE_SLOTS = 8 /* at most as many share a host */ };

struct plans;

/* A plan and all it points into. */
struct plan_slot {
	struct ingress_node *ingress; /* NULL: free */
	uint64_t used_at;
	struct arena arena;
	struct plan plan;
	struct diag_list diags;
};

/* All must stay valid. `config`: the ports of the load balancer that classes share. */
struct plans *plans_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	const struct classes *classes, const struct global_options *options);
void plans_free(struct plans *plans);

/* The plan of an Ingress that has a record; valid until a fourth other plan is requested, or the
 * record changes. */
const struct plan_slot *plans_get(struct plans *plans, struct ingress_node *ingress);
/* A copy of the present plan that outlives a change of the record. The next call replaces it. NULL:
 * no record. */
const struct plan *plans_save_old(struct plans *plans, struct ingress_node *ingress);
/* The plan in the arena. */
const struct plan *plans_make(
	struct plans *plans, struct ingress_node *ingress, struct arena *arena);
void plans_forget(struct plans *plans, const struct ingress_node *ingress);
void plans_forget_all(struct plans *plans);
/* Whether making the plan anew for each of its hosts would be more work than one owner may cause. */
bool plans_is_large(const struct ingress_node *ingress, const struct plan *plan);
/* To be called when idle: frees plans that take much memory. */
void plans_rest(struct plans *plans);
