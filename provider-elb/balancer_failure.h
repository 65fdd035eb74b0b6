// SPDX-License-Identifier: Apache-2.0
/* What a call that did not succeed means for one load balancer: what has to be read again, and when it is tried again; see balancer_state.h. */
#pragma once

#include "provider-elb/balancer_state.h"

/* Takes note; *ret_delay_s: when to plan again; 0: at once. */
void balancer_note_failure(
	struct balancer *balancer, const struct client_answer *answer, double *ret_delay_s);
/* The step went well: if it is the one that had failed, that is over. Another one's success is not, or what is read again between two tries would
 * make each of them the first. */
void balancer_note_success(struct balancer *balancer);
/* A list is complete. True: what was denied may not be there any more, and is tried again. */
bool balancer_note_listed(struct balancer *balancer);
/* There is a new plan: a failure of what is no longer part of it is over. */
void balancer_note_plan(struct balancer *balancer);
/* From time to time one of the rules that were given up is tried again. */
void balancer_take_back(struct balancer *balancer, double now);
/* What is shown to the owners; NULL: nothing, or something that goes away by itself in a moment. */
const char *balancer_failure_text(const struct balancer *balancer);
/* A change may be what heals it: the next try comes at once. */
void balancer_forgive(struct balancer *balancer);
