// SPDX-License-Identifier: Apache-2.0
/* The objects of a line as proto/decision.h asks for them: decoded when first asked for, and kept. */
#pragma once

#include "proto/decision.h"
#include "provider-common/state.h"

struct decision_source;

/* The state must stay as it is, and outlive it; its objects' user pointers are ours meanwhile. */
struct decision_source *decision_source_new(struct state *state);
void decision_source_free(struct decision_source *source);
const struct decision_objects *decision_source_objects(const struct decision_source *source);
/* Of the load balancers with a listener for the request (port 0: any of its protocol) the one with the most specific virtual host for it; of equal ones the first by
 * id. NULL: none listens. *ret_port is the listener's. */
const struct load_balancer *decision_source_balancer(
	struct decision_source *source, const struct decision_request *request, uint64_t *ret_port);
