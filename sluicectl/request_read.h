// SPDX-License-Identifier: Apache-2.0
/* The request that a command line describes. No I/O. */
#pragma once

#include "proto/decision.h"
#include "sluicectl/args.h"

/* NULL, or what is wrong (allocated). Texts point into the command line or live in the arena. */
char *request_read(
	const struct args *args, struct arena *arena, struct decision_request *ret_request);
