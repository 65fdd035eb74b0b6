// SPDX-License-Identifier: Apache-2.0
/* What is to be done next for one load balancer: asks plan.h with all that is known of it. */
#pragma once

#include "provider-rancher/balancer.h"

/* Makes the plan of its work, and asks for what that needs; returns what it means for the state machine. May claim a row. */
enum lb_fsm_event balancer_plan(struct balancer *balancer);
