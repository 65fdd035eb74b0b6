// SPDX-License-Identifier: Apache-2.0
/*
 * Plans of Ingresses and Services, kept for a moment.
 *
 * They are made anew from the record whenever they are needed: keeping all of them would take more
 * memory than everything else together. The few last ones stay, because a changed ingress is asked
 * for by its load balancer and each of its hosts in turn.
 *
 * A host that several share needs the plans of all of them. Where these have many hosts and many rules, to make each plan anew for
 * each host would be work that grows with the square of what its owners wrote. So large ones have slots of their own, which
 * small ones cannot take from them, and as many of them as there are slots can share one host (host_paths.h).
 */
#pragma once

#include "translator/classes.h"
#include "translator/plan.h"

enum { PLAN_LARGE_SLOTS = 8 /* as many share a host */ };

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
	const struct classes *classes);
void plans_free(struct plans *plans);

/* The plan of an ingress that has a record; good until the fourth other is asked for, or the record
 * changes. */
const struct plan_slot *plans_get(struct plans *plans, struct ingress_node *ingress);
/* A copy of the present plan that outlives a change of the record. There is one such place. NULL:
 * no record. */
const struct plan *plans_save_old(struct plans *plans, struct ingress_node *ingress);
/* The plan in the arena. */
const struct plan *plans_make(
	struct plans *plans, struct ingress_node *ingress, struct arena *arena);
void plans_forget(struct plans *plans, const struct ingress_node *ingress);
void plans_forget_all(struct plans *plans);
/* Whether to make the plan anew for each of its hosts would be more work than is done for one owner. */
bool plans_is_large(const struct ingress_node *ingress, const struct plan *plan);
/* There is nothing to do for now: plans that take much memory go. */
void plans_rest(struct plans *plans);
