// SPDX-License-Identifier: Apache-2.0
/*
 * Pools whose endpoints are a host name (Services of type ExternalName): the name is looked up here, so that a proxy gets addresses like all
 * others, and a change of them is a change of endpoints. Addresses are asked for again when their time is over. While nobody can be asked
 * those that were known stay, also over a restart; when there is no such name any more, they go.
 *
 * Endpoints of all other pools pass through here, too: those that are our own listeners are left out of every one.
 *
 * Whoever may write a Service, or the name's zone, says where it leads. What the egress policy refuses is never gone to, and told.
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
	/* The pool's endpoints may be others: settle it again. */
	void (*on_change)(void *ctx, struct str pool_id);
	void *ctx;
};

/* NULL and *ret_problem, allocated: an option is wrong. */
struct externals *externals_new(const struct externals_config *config, char **ret_problem);
void externals_free(struct externals *all);

/* Gives the pool the endpoints that its name has now, in the arena, if it has a name instead of endpoints; to be called for every pool that comes
 * or changes. In any case our own listeners are left out of them. What stands in the way is told to the Service. Without `all` nothing is
 * looked up. */
void externals_settle(struct externals *all, struct pool *pool, struct arena *arena);
/* The pool is gone. */
void externals_drop(struct externals *all, struct str pool_id);
