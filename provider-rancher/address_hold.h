// SPDX-License-Identifier: Apache-2.0
/*
 * A load balancer that has lost all its public endpoints keeps the addresses that were shown for the time of --endpoint-grace, because
 * restarts of its instances are no reason to take the address out of a status. One timer for all of them. What is shown is only borrowed:
 * each hold has to end before it is freed.
 */
#pragma once

#include "provider-rancher/addresses.h"

#include <ev.h>

struct address_hold;

/* on_over() tells that the addresses of one are not shown any more, and whether its owners are to be warned. */
struct address_hold *address_hold_new(struct ev_loop *loop, double hold_s,
	void (*on_over)(void *ctx, struct shown *shown, bool warn), void *ctx);
void address_hold_free(struct address_hold *hold);

/* There is no address any more: see shown_update(). Nothing happens when its time runs already. */
void address_hold_begin(struct address_hold *hold, struct shown *shown);
/* There is one again, or none is needed. */
void address_hold_end(struct address_hold *hold, struct shown *shown);
