// SPDX-License-Identifier: Apache-2.0
/* What is wanted of one load balancer, from the translator's objects; see balancer_state.h. */
#pragma once

#include "provider-elb/balancer_state.h"

/* Works it out anew, and tells the loops of its target groups, which call on_progress() with the balancer when they have learnt or done something, and
 * on_missing() when AWS does not know the group. The object is present. True: something but endpoints is wanted otherwise than before. */
bool balancer_work_out_wanted(
	struct balancer *balancer, void (*on_progress)(void *ctx), void (*on_missing)(void *ctx));
/* Nothing is wanted. */
void balancer_forget_wanted(struct balancer *balancer);
/* The call is over that may have pointed to what was wanted before. */
void balancer_drop_spent(struct balancer *balancer);
/* Its loops of targets go on. */
void balancer_wake_syncs(struct balancer *balancer);
