// SPDX-License-Identifier: Apache-2.0
/* Checks of how a policy wants the backend to be asked and what it changes of its answers, and of how a pool chooses endpoints. No I/O. */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* Takes out of the policy what fails. NULL, or words for the first that did. Objects that change are made anew in the arena. */
const char *backend_settle_policy(struct policy *policy, struct arena *arena);
/* Whether its `cookie_path` can be written into a cookie. */
bool backend_has_cookie_path(const struct path_rule *rule);
/* Likewise of the pool. */
const char *backend_settle_pool(struct pool *pool, struct arena *arena);
