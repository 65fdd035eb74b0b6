// SPDX-License-Identifier: Apache-2.0
/* What is wanted of one load balancer, by its object and what that refers to: pools, Services, certificates. */
#pragma once

#include "provider-rancher/balancer.h"

/* It may have changed: works it out anew, and ends the work that is not needed then. Returns whether it has. The object must be there. */
bool balancer_rebuild(struct balancer *balancer);
/* The same, but the work goes on. */
bool balancer_work_out_wanted(struct balancer *balancer);
/* Whether `wanted` says what is to be there. */
bool balancer_is_described(const struct balancer *balancer);
/* The facets that are wanted; it must be described. */
const struct lb_facets *balancer_wanted(struct balancer *balancer);
/* The full thing, in the arena; it must be described. */
void balancer_build(struct balancer *balancer, struct arena *arena, struct desired *ret_desired);
