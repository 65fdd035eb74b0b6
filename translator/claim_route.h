// SPDX-License-Identifier: Apache-2.0
/* What the claims of an Ingress have in common (route_settings.h). Pure. */
#pragma once

#include "common/arena.h"
#include "translator/route_settings.h"

/* A copy that outlives the plan; NULL for NULL. */
const struct claim_route *route_copy(const struct claim_route *route, struct arena *arena);
/* Bytes that it adds to each rule, at most. */
size_t route_cost(const struct claim_route *route);
