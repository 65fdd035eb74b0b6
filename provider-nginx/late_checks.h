// SPDX-License-Identifier: Apache-2.0
/*
 * Namespaces whose health checks run late. nginx reports one pool of each (lua/sluice/late.lua), whose Service gets a notice. No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/notices.h"
#include "provider-nginx/objects.h"

/* lua/sluice/late.lua names no more. */
enum { LATE_CHECKS_MAX = 32 };

struct late_checks;

/* Both must outlive it. */
struct late_checks *late_checks_new(struct notices *notices, struct objects *objects);
void late_checks_free(struct late_checks *late);
/* `names`: those of the pools, with commas between them; absent or empty: nobody's. What is no name of a pool that we have is left out. */
void late_checks_set(struct late_checks *late, struct state *state, struct str names);
