// SPDX-License-Identifier: Apache-2.0
/* What owners are told of one load balancer: its status, and Events. */
#pragma once

#include "provider-rancher/balancer.h"

/* Returns false if there is nothing to say yet. */
bool balancer_fill_status(struct balancer *balancer, struct arena *arena, struct lb_status *status);
/* The step of its plan was carried out on `row`. */
void balancer_announce_step(struct balancer *balancer, const struct lb_row *row);
/* The addresses in its status were held, and are gone now: see address_hold.h. `shown` is that of a load balancer. */
void balancer_on_hold_over(struct shown *shown, bool warn);
