// SPDX-License-Identifier: Apache-2.0
/* The words of capabilities.policies, as annotations.def has them. Pure. */
#pragma once

#include "translator/annotations.h"

/* The column SCOPE. */
enum policy_scope {
	SCOPE_ANY,
	SCOPE_OWN,
	SCOPE_SHARED,
	SCOPE_GUARD, /* from here on in route settings */
	SCOPE_RULE,
	SCOPE_COMFORT,
};
enum policy_scope policy_scope(enum policy_bit word);

/* The bits of the policies whose words the list leaves out. */
uint64_t policies_missing(const struct str_list *list);
/* The policy of a word; POLICY_NONE: there is none. */
enum policy_bit policy_find(const char *word);
/* The bits of all that is done with requests. */
uint64_t policies_of_requests(void);
/* Whether rules answer 503 where what the word stands for cannot be had; otherwise they do without. */
bool policy_closes(enum policy_bit word);
