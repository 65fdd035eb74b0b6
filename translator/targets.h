// SPDX-License-Identifier: Apache-2.0
/*
 * The targets of an ingress: the nodes that it needs by its plan. When they change it joins the users of the new ones and leaves the others,
 * and whatever is to be built again or to go for that is marked.
 */
#pragma once

#include "translator/state.h"

/* In the scratch arena. */
struct targets {
	struct node **items; /* by address, each once */
	size_t count;
	struct host_node **hosts; /* of the plan's hosts, in its order */
	struct balancer_node *balancer;
};

/* `plan` NULL: no record, no targets. */
struct targets targets_gather(struct engine *engine, const struct plan *plan);
/* `shaped_balancer`: its load balancer object was made from it, too. */
void targets_set(struct engine *engine, struct ingress_node *ingress, const struct targets *t,
	bool shaped_balancer);
