// SPDX-License-Identifier: Apache-2.0
/*
 * Builds the object for the provider from a node of the graph: reads what the pure modules need, and lets them build.
 */
#pragma once

#include "translator/claims.h"
#include "translator/host_paths.h"

/* The parts that it uses; it has no state of its own. */
struct objects {
	struct graph *graph;
	const struct provider_peer *provider;
	const struct engine_config *config; /* ports, and where requests may be sent */
	struct secrets *secrets;
	struct classes *classes;
	struct plans *plans;
	const struct global_options *options;
	const struct claims *claims;
	const struct host_paths *host_paths;
	struct arena *scratch;
};

/* In the scratch arena; the result is one of the structs of model.h. Diagnostics are finished. */
const void *object_build(const struct objects *objects, struct node *node, struct diag_list *diags);
/* Diagnostics of a node's own content, for an object or an ingress. */
void object_diagnose(const struct objects *objects, struct node *node, struct diag_list *diags);
