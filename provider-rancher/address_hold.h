// SPDX-License-Identifier: Apache-2.0
/*
 * When a load balancer has lost all its public endpoints, its last addresses stay in the status for the time of --endpoint-grace, because
 * a restart of its instances is no reason to take them out. One timer for all load balancers. `struct shown` is only borrowed: the hold has
 * to end before it is freed.
 */
#pragma once

#include "provider-rancher/addresses.h"

#include <ev.h>

struct address_hold;

/* on_over(): the time is over, and `shown` has no addresses any more; `warn` if the owners should hear of it. */
struct address_hold *address_hold_new(struct ev_loop *loop, double hold_s,
	void (*on_over)(void *ctx, struct shown *shown, bool warn), void *ctx);
void address_hold_free(struct address_hold *hold);

/* The last address is gone: see shown_update(). Nothing if the hold has begun already. */
void address_hold_begin(struct address_hold *hold, struct shown *shown);
/* There are addresses again, or none are needed. Nothing if there is no hold. */
void address_hold_end(struct address_hold *hold, struct shown *shown);
