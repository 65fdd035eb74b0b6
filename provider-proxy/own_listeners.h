// SPDX-License-Identifier: Apache-2.0
/*
 * Endpoints that are our own listeners: a request that is sent there comes back as another one, and again, until there is no connection left
 * for anybody. Whoever may write an EndpointSlice can name them, so they are left out of every pool, and the Service is told. What counts is where
 * load balancers want to listen: somebody else's port there is no place for a backend either. No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/publish.h"

struct own_listeners;

/* Both have to stay. */
struct own_listeners *own_listeners_new(const struct publish *publish, struct notices *notices);
void own_listeners_free(struct own_listeners *own);

/* What the load balancers of the state want. True: it is other than before, and pools that are concerned have to be settled again. */
bool own_listeners_set_wanted(struct own_listeners *own, struct state *state);
/* The addresses of this machine, without loopback, which is always among them; copied. True: likewise. */
bool own_listeners_set_addresses(
	struct own_listeners *own, const struct check_ip *ips, size_t count);
/* Whether such a change can change the pool, as it comes from the state. */
bool own_listeners_concern(const struct own_listeners *own, const struct pool *pool);

/* Leaves them out of the pool's endpoints, in place. */
void own_listeners_settle(struct own_listeners *own, struct pool *pool, struct arena *arena);
/* The pool is gone. */
void own_listeners_drop(struct own_listeners *own, struct str pool_id);
