// SPDX-License-Identifier: Apache-2.0
/* The paths of a virtual host, gathered from the plans of the Ingresses that share it. */
#pragma once

#include "translator/owners.h"
#include "translator/plans.h"

/* What it needs of the parts before it; it has no state of its own. */
struct host_paths {
	struct plans *plans;
	const struct owners *owners;
	struct arena *scratch;
};

/* In the scratch arena; good until the fourth other plan is asked for. */
struct path_claim *host_paths_gather(const struct host_paths *host_paths, struct host_node *node,
	size_t *ret_count, struct diag_list *diags);
