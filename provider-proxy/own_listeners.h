// SPDX-License-Identifier: Apache-2.0
/*
 * Endpoints that are our own listeners: a request sent there comes back to us, again and again, until no connections are left for anybody.
 * Whoever may write an EndpointSlice can name them, so they are left out of every pool, and the Service gets a notice. What counts is where
 * load balancers want to listen: if another program has that port, it is still no place for a backend. No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/publish.h"

struct own_listeners;

/* Both must outlive it. */
struct own_listeners *own_listeners_new(const struct publish *publish, struct notices *notices);
void own_listeners_free(struct own_listeners *own);

/* Takes what the load balancers of the state want. True: it has changed, and affected pools must be settled again. */
bool own_listeners_set_wanted(struct own_listeners *own, struct state *state);
/* The addresses of this machine, without loopback, which is always among them; copied. True: likewise. */
bool own_listeners_set_addresses(
	struct own_listeners *own, const struct check_ip *ips, size_t count);
/* Whether such a change can affect the pool as it is in the state. */
bool own_listeners_concern(const struct own_listeners *own, const struct pool *pool);

/* Removes them from the pool's endpoints, in place. */
void own_listeners_settle(struct own_listeners *own, struct pool *pool, struct arena *arena);
/* The pool is gone. */
void own_listeners_drop(struct own_listeners *own, struct str pool_id);
