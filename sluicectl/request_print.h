// SPDX-License-Identifier: Apache-2.0
/* A decision (proto/decision.h) for people. */
#pragma once

#include "proto/decision.h"

void request_print(const struct load_balancer *balancer, const struct decision_request *request,
	const struct decision *decision, bool has_color);
/* The line has no rule, no policy or no endpoint for the request. */
bool request_is_unserved(const struct decision *decision);
