// SPDX-License-Identifier: Apache-2.0
/* What is wanted of one load balancer: by its object, and by the pools, Services and certificates to which that refers. */
#pragma once

#include "provider-rancher/balancer.h"

/* Works it out again. Returns whether it has changed; if not, frees the work if none of it is needed. The object must not be NULL. */
bool balancer_rebuild(struct balancer *balancer);
/* The same, but never frees the work. */
bool balancer_work_out_wanted(struct balancer *balancer);
/* Whether its object describes a load balancer: otherwise it must not exist, or must be left as it is. */
bool balancer_is_described(const struct balancer *balancer);
/* The facets that are wanted; it must be described. */
const struct lb_facets *balancer_wanted(struct balancer *balancer);
/* The full thing, in the arena; it must be described. */
void balancer_build(struct balancer *balancer, struct arena *arena, struct desired *ret_desired);
