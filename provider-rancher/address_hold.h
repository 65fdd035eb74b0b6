// SPDX-License-Identifier: Apache-2.0
/*
 * A load balancer that has lost all its public endpoints keeps the addresses that were shown for the time of --endpoint-grace, because
 * restarts of its instances are no reason to take the address out of a status. One timer for all of them. Only borrows the load
 * balancers: each has to leave before it is freed.
 */
#pragma once

#include "provider-rancher/controller.h"

struct balancer;
struct address_hold;

struct address_hold *address_hold_new(struct controller *controller);
void address_hold_free(struct address_hold *hold);

/* It has no address any more. Nothing happens when its time runs already, or nobody is there to be told. */
void address_hold_begin(struct address_hold *hold, struct balancer *balancer);
/* It has one again, or needs none. */
void address_hold_end(struct address_hold *hold, struct balancer *balancer);
