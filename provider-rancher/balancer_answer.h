// SPDX-License-Identifier: Apache-2.0
/* What the answer to the request of one load balancer means: its row, its failures, and what of the inventory is to be asked for again. */
#pragma once

#include "provider-rancher/balancer.h"

/* Returns the event for the state machine. */
enum lb_fsm_event balancer_take_answer(struct balancer *balancer, const struct api_answer *answer);
