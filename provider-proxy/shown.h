// SPDX-License-Identifier: Apache-2.0
/*
 * What the status of a load balancer shows: the addresses at which it can be reached, and listeners that are promised and not served.
 */
#pragma once

#include "provider-proxy/publish.h"
#include "provider-proxy/unserved.h"

/* Borrowed. */
struct shown {
	const struct publish *publish;
	const struct unserved *unserved;
};

/* Sets the addresses, and whether they are known as far as ports are; a status of "applied" becomes one of "failed" if a listener is not served. What
 * it points to is the arena's, or lives as long as `shown`. */
void shown_fill(const struct shown *shown, const struct load_balancer *value, struct arena *arena,
	struct lb_status *status);
