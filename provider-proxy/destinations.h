// SPDX-License-Identifier: Apache-2.0
/*
 * Where the endpoints of pools may be: the egress policy, host names that are looked up (externals.h), and our own listeners, which change
 * with what load balancers want and with the addresses of this machine (own_listeners.h). When the result for a pool may have changed, the
 * provider settles it again.
 */
#pragma once

#include "common/egress.h"
#include "provider-proxy/externals.h"

struct destinations;

/* All of it must stay valid. */
struct destinations_config {
	struct ev_loop *loop;
	const struct option_list *dns_servers; /* see dns_new() */
	const struct egress_options *egress;
	const struct publish *publish;
	struct notices *notices;
	struct state *state;
	const char *file; /* where addresses of names are remembered; copied */
	/* The pool's endpoints may have changed: settle it again. */
	void (*on_pool)(void *ctx, struct object *pool);
	void *ctx;
	/* Addresses of this machine, or its way to other networks, may have changed: from time to time, and never before destinations_new() returns. */
	void (*on_look)(void *ctx);
	void *look_ctx;
};

/* NULL and *ret_problem, allocated: an option is wrong. */
struct destinations *destinations_new(const struct destinations_config *config, char **ret_problem);
void destinations_free(struct destinations *destinations);

struct externals *destinations_externals(struct destinations *destinations);

/* To be called before pools of the commit are settled. True: destinations_settle() must follow once they are. */
bool destinations_on_commit(struct destinations *destinations, const struct state_commit *commit);
/* Has all pools settled again that our own listeners may affect. */
void destinations_settle(struct destinations *destinations);
