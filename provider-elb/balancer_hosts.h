// SPDX-License-Identifier: Apache-2.0
/* The hosts of one load balancer, and what serves them; see balancer_state.h. */
#pragma once

#include "provider-elb/balancer_state.h"
#include "provider-elb/records.h"

/* The balancer that serves: the wanted one when it has all that is wanted, else one that it replaces; NULL: none does. */
const struct observed_balancer *balancer_find_serving(
	const struct balancer *balancer, const struct wanted_balancer *wanted, struct arena *arena);
/* Adds its hosts, or that nothing is known of them. All texts are in the arena, or good until something changes. */
void balancer_list_hosts(
	const struct balancer *balancer, struct arena *arena, struct records_wishes *wishes);
