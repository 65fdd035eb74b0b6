// SPDX-License-Identifier: Apache-2.0
/*
 * The addresses of a load balancer as an Ingress status may show them: an IP address in its
 * canonical form or a DNS name, sorted, without duplicates, each with all its ports. The API server
 * refuses a whole status for one entry that is neither. Pure.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* Sets the list of *ret_status; texts are views of `status` or live in the arena. Whatever is not
 * an address is left out. */
void addresses_normalise(
	const struct lb_status *status, struct arena *arena, struct lb_status *ret_status);
bool addresses_equal(const struct lb_status *a, const struct lb_status *b);
