// SPDX-License-Identifier: Apache-2.0
/* The request by which the plan of one load balancer is carried out. */
#pragma once

#include "provider-rancher/balancer.h"

/* `ctx` of on_answer() is the load balancer. */
void balancer_send(
	struct balancer *balancer, void (*on_answer)(void *ctx, const struct api_answer *answer));
