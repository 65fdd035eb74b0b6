// SPDX-License-Identifier: Apache-2.0
/* What the answer to a request of one load balancer means: for its row, its failures, and for what the inventory has to read again. */
#pragma once

#include "provider-rancher/balancer.h"

/* Returns the event for the state machine. */
enum lb_fsm_event balancer_take_answer(struct balancer *balancer, const struct api_answer *answer);
