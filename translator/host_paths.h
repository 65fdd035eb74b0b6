// SPDX-License-Identifier: Apache-2.0
/* Gathers the paths of a virtual host from the plans of the Ingresses that share it. */
#pragma once

#include "translator/owners.h"
#include "translator/plans.h"

/* The parts that it uses; it has no state of its own. */
struct host_paths {
	struct plans *plans;
	const struct owners *owners;
	struct arena *scratch;
};

/* In the scratch arena; valid until a fourth other plan is requested. */
struct path_claim *host_paths_gather(const struct host_paths *host_paths, struct host_node *node,
	size_t *ret_count, struct diag_list *diags);
