// SPDX-License-Identifier: Apache-2.0
/* What to do next for one load balancer: gives plan.h all that is known of it. */
#pragma once

#include "provider-rancher/balancer.h"

/* Makes the plan, and has the inventory find what that needs. Returns the event for the state machine. May claim a row. */
enum lb_fsm_event balancer_plan(struct balancer *balancer);
