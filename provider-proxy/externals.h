// SPDX-License-Identifier: Apache-2.0
/*
 * Pools whose endpoints are a host name (Services of type ExternalName): the name is resolved here, so that a proxy gets addresses as for any
 * pool, and a change of addresses is a change of endpoints. Names are resolved again when their TTL expires. While DNS fails, the known
 * addresses stay, even over a restart; when the name no longer exists, they are removed.
 *
 * The endpoints of all other pools pass through here, too: our own listeners are left out of every pool.
 *
 * Whoever may write a Service, or the name's zone, decides where it leads. No traffic goes to what the egress policy refuses, and that is
 * reported.
 */
#pragma once

#include "common/arena.h"
#include "common/egress.h"
#include "provider-proxy/dns.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/own_listeners.h"

struct externals;

struct externals_config {
	struct ev_loop *loop;
	const struct option_list *servers; /* see dns_new() */
	const struct egress *egress;       /* stays valid */
	const char *file;                  /* where addresses are remembered; copied */
	struct notices *notices;
	struct own_listeners *own; /* stays valid */
	/* The pool's endpoints may have changed: settle it again. */
	void (*on_change)(void *ctx, struct str pool_id);
	void *ctx;
};

/* NULL and *ret_problem, allocated: an option is wrong. */
struct externals *externals_new(const struct externals_config *config, char **ret_problem);
void externals_free(struct externals *all);

/* If the pool has a name instead of endpoints, gives it the name's current addresses as endpoints, in the arena; to be called for every pool
 * that is new or changes. Our own listeners are always left out. Problems are reported to the Service. Without `all` nothing is resolved. */
void externals_settle(struct externals *all, struct pool *pool, struct arena *arena);
/* The pool is gone. */
void externals_drop(struct externals *all, struct str pool_id);
