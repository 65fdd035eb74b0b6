// SPDX-License-Identifier: Apache-2.0
/* What the translator, the owners and the log are told of one load balancer; see balancer_state.h. */
#pragma once

#include "provider-elb/balancer_state.h"

/* The step of the plan was taken: logs it, and tells the owners of what they would notice. */
void balancer_announce_step(struct balancer *balancer);
