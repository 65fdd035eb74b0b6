// SPDX-License-Identifier: Apache-2.0
/*
 * Where the endpoints of pools may be: the egress policy, host names that are looked up (externals.h), and our own listeners, which are followed with
 * what load balancers want and with the addresses of this machine (own_listeners.h). When an answer may be another one for a pool, the provider settles it again.
 */
#pragma once

#include "common/egress.h"
#include "provider-local/externals.h"

struct targets;

/* All of it has to stay. */
struct targets_config {
	struct ev_loop *loop;
	const struct option_list *dns_servers; /* see dns_new() */
	const struct egress_options *egress;
	const struct publish *publish;
	struct notices *notices;
	struct state *state;
	const char *file; /* where addresses of names are remembered; copied */
	/* The pool's endpoints may be others: settle it again. */
	void (*on_pool)(void *ctx, struct object *pool);
	void *ctx;
};

/* NULL and *ret_problem, allocated: an option is wrong. */
struct targets *targets_new(const struct targets_config *config, char **ret_problem);
void targets_free(struct targets *targets);

struct externals *targets_externals(struct targets *targets);

/* Before pools of the commit are settled. True: targets_settle() has to follow when they are. */
bool targets_on_commit(struct targets *targets, const struct state_commit *commit);
/* Has all pools settled again that our own listeners concern. */
void targets_settle(struct targets *targets);
