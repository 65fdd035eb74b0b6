// SPDX-License-Identifier: Apache-2.0
/*
 * From a node of the graph to the object that a provider is sent: reads what the pure modules need, and lets them build.
 */
#pragma once

#include "translator/claims.h"
#include "translator/host_paths.h"

/* What it needs of the parts before it; it has no state of its own. */
struct objects {
	struct graph *graph;
	const struct provider_peer *provider;
	const struct engine_config *config; /* ports, and where requests may be sent */
	struct secrets *secrets;
	struct classes *classes;
	struct plans *plans;
	const struct claims *claims;
	const struct host_paths *host_paths;
	struct arena *scratch;
};

/* In the scratch arena; the result is one of the structs of model.h. Diagnostics are finished. */
const void *object_build(const struct objects *objects, struct node *node, struct diag_list *diags);
/* Diagnostics of a node's own content: of an object, or of an ingress. */
void object_diagnose(const struct objects *objects, struct node *node, struct diag_list *diags);
