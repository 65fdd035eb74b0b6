// SPDX-License-Identifier: Apache-2.0
/*
 * The targets of an Ingress: the nodes that its plan needs. When they change, it joins the users of new targets and leaves those of old
 * ones, and whatever must be rebuilt or removed is marked.
 */
#pragma once

#include "translator/claims.h"

/* The parts that it uses; it has no state of its own. */
struct targets {
	struct graph *graph;
	struct secrets *secrets;
	struct pending *pending;
	struct diagnostics *diagnostics;
	const struct owners *owners;
	const struct claims *claims;
	struct arena *scratch;
};

/* In the scratch arena. */
struct target_list {
	struct node **items; /* some may be there twice */
	size_t count;
	struct host_node **hosts; /* of the plan's hosts, in the same order */
	struct balancer_node *balancer;
	struct policy_node *policy;      /* NULL: it has none */
	struct policy_node *kept_policy; /* likewise */
};

/* `plan` NULL: no record, no targets. */
struct target_list targets_gather(const struct targets *targets, const struct plan *plan);
/* `shaped_balancer`: the object of its load balancer was built from it, too. */
void targets_set(const struct targets *targets, struct ingress_node *ingress,
	const struct target_list *t, bool shaped_balancer);
