// SPDX-License-Identifier: Apache-2.0
/* What owners hear of one load balancer: the status that the translator reads, and Events. */
#pragma once

#include "provider-rancher/balancer.h"

/* In the words of its status; false: there is nothing to say yet. */
bool balancer_fill_status(struct balancer *balancer, struct arena *arena, struct lb_status *status);
/* The step of its plan is done; `row` is what it was done to. */
void balancer_announce_step(struct balancer *balancer, const struct lb_row *row);
/* What is shown of one was held, and is not shown any more: see address_hold.h. */
void balancer_on_hold_over(struct shown *shown, bool warn);
