// SPDX-License-Identifier: Apache-2.0
/*
 * The time of grace: a load balancer that has lost all its public endpoints keeps the addresses that were shown for so long
 * (--endpoint-grace), because restarts of its instances are no reason to take the address out of a status. One timer for all of them.
 * Only borrows the load balancers: each has to leave before it is freed.
 */
#pragma once

#include "provider-rancher/controller.h"

struct balancer;
struct grace;

struct grace *grace_new(struct controller *controller);
void grace_free(struct grace *grace);

/* It has no address any more. Nothing happens when its time runs already, or nobody is there to be told. */
void grace_begin(struct grace *grace, struct balancer *balancer);
/* It has one again, or needs none. */
void grace_end(struct grace *grace, struct balancer *balancer);
