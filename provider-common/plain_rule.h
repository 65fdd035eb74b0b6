// SPDX-License-Identifier: Apache-2.0
/* What providers need to know that claim no word for what rules do beyond leading to a pool. No I/O. */
#pragma once

#include "common/str.h"
#include "proto/model.h"

/* The rule leads to a pool, and does nothing else. A provider that has not claimed more is never sent another one; it has to ignore it all the same, for
 * without what it says it would let in whom it is to keep out. */
static inline bool rule_is_plain(const struct path_rule *rule)
{
	return !str_is_empty(rule->pool) && rule->conditions.count == 0 && rule->pools.count == 0 &&
	       rule->redirect == NULL && rule->answer == NULL && str_is_empty(rule->policy) &&
	       str_is_empty(rule->regex);
}
