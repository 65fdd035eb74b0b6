// SPDX-License-Identifier: Apache-2.0
/*
 * Rows of a policy beside its own (policies.h): networks, origins, who is asked. Their name says what is in them and whose they are, and the policy's row
 * says their name: so no request finds those of another state of the policy than that of its row. No I/O.
 */
#pragma once

#include "provider-proxy/names.h"
#include "provider-proxy/row_set.h"
#include "proto/model.h"

/* Texts are those of the policy, or live in the arena. */
struct policy_lists {
	struct name name;
	struct str auth; /* STR_NONE: nobody else is asked */
	struct str_list origins;
	struct str_list exempt;
	struct str_list deny;
	struct str_list allow;
};

/* `cors`: that of the policy, or NULL if it is left out. */
struct policy_lists policy_lists_of(struct arena *arena, const struct name *name,
	const struct policy *policy, const struct cors *cors);
void policy_lists_add(const struct policy_lists *lists, struct row_draft *draft);
/* Of the row that is there when all others of the lists are. */
struct str policy_lists_key(struct arena *arena, struct str name);
