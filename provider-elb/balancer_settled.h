// SPDX-License-Identifier: Apache-2.0
/* Whether everything is as wanted, and since when; see balancer_state.h. */
#pragma once

#include "provider-elb/balancer_state.h"

/* After each plan. */
void balancer_note_settled(struct balancer *balancer);
/* Those that have a successor which serves: from then on their time runs, until they are wanted again. */
void balancer_note_replaced(struct balancer *balancer);
