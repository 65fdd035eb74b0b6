// SPDX-License-Identifier: Apache-2.0
/*
 * Limits of requests and of concurrent ones, as fields of a policy's row (policies.h). A table of HAProxy's follows one limit of requests or two; more than that, and those
 * whose buckets take minutes to run empty, are left to policies.lua. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* Limits, how many requests may be served at a time, and the status of refusals, between bars. `limits`: NULL: none. The text lives in the arena. */
struct str policy_rates_text(struct arena *arena, const struct rate_limits *limits);
/* The letters that say so; a constant. */
const char *policy_rates_flags(const struct rate_limits *limits);
