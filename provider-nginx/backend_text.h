// SPDX-License-Identifier: Apache-2.0
/* How backends are asked and what is changed of their answers, as lists in the trees of policies and pools (tree_text.h). No I/O. */
#pragma once

#include "provider-nginx/tree_text.h"
#include "provider-nginx/ways.h"

/* What the policy says of it, which has passed policy_settle(). `ways` gets what its requests need; NULL: nobody asks. False: nginx cannot ask another
 * endpoint at some of its statuses, and they are left out. */
[[nodiscard]] bool backend_text_add_policy(
	struct tree_text *tree, const struct policy *policy, struct ways *ways);
/* The tree of what a cookie is told. */
void backend_text_add_affinity(struct tree_text *tree, const struct affinity *affinity);
