// SPDX-License-Identifier: Apache-2.0
/*
 * Policies that say one thing, for which straight.cfg.tmpl has rules of their own. Three digits before a policy's flags (policies.h) tell which it is:
 *
 *   what it says  1 the path is a slash and the first group of the expression, 2 and the second one, 3 nothing else, 4 networks that are let in,
 *                 5 one rate limit in a table of HAProxy's, for all clients, which is answered with 429 or 503, 6 CORS
 *   plain HTTP    0 is served, 8 is redirected to HTTPS with 308, 1 with 301
 *   HSTS          0 no, 1 yes
 *
 * Digits, because the flags are searched for letters. Any other policy has none. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* In the arena, or nothing. */
struct str policy_kinds_of(struct arena *arena, const struct policy *policy, struct str flags);
