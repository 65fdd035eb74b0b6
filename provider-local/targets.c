// SPDX-License-Identifier: Apache-2.0
#include "provider-local/targets.h"

#include "common/xalloc.h"
#include "provider-local/sockets.h"

/* Addresses come and go with links, and with machines that share them. */
static const double look_period_s = 10;

struct targets {
	struct targets_config config;
	struct egress *egress;
	struct own_listeners *own;
	struct externals *externals;
	ev_timer look;
};

/* ---- our own listeners ---- */

void targets_settle(struct targets *targets)
{
	struct state *state = targets->config.state;
	struct object *object = state_first(state, LB_POOL);
	struct arena arena;
	arena_init(&arena);
	for (; object != NULL; object = state_next(state, object)) {
		struct pool pool;
		state_decode(state, object, &arena, &pool);
		if (own_listeners_concern(targets->own, &pool))
			targets->config.on_pool(targets->config.ctx, object);
		arena_reset(&arena);
	}
	arena_fini(&arena);
}

bool targets_on_commit(struct targets *targets, const struct state_commit *commit)
{
	bool has_balancers = false;
	for (size_t i = 0; i < commit->change_count; i++)
		has_balancers |= object_kind(commit->changes[i].object) == LB_LOAD_BALANCER;
	return has_balancers && own_listeners_set_wanted(targets->own, targets->config.state);
}

static bool look_at_addresses(struct targets *targets)
{
	struct arena arena;
	struct check_ip *ips;
	size_t count;
	arena_init(&arena);
	/* Those that were known stay while nothing is. */
	bool is_changed = sockets_addresses(&arena, &ips, &count) &&
			  own_listeners_set_addresses(targets->own, ips, count);
	arena_fini(&arena);
	return is_changed;
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct targets *targets = watcher->data;
	(void)loop;
	(void)events;
	if (look_at_addresses(targets))
		targets_settle(targets);
}

/* ---- names ---- */

static void on_external(void *ctx, struct str pool_id)
{
	struct targets *targets = ctx;
	struct object *pool = state_find(targets->config.state, LB_POOL, pool_id);
	if (pool != NULL)
		targets->config.on_pool(targets->config.ctx, pool);
}

struct externals *targets_externals(struct targets *targets)
{
	return targets->externals;
}

static char *make_externals(struct targets *targets)
{
	char *problem = NULL;
	struct externals_config config = {
		.loop = targets->config.loop,
		.servers = targets->config.dns_servers,
		.egress = targets->egress,
		.file = targets->config.file,
		.notices = targets->config.notices,
		.own = targets->own,
		.on_change = on_external,
		.ctx = targets,
	};
	targets->externals = externals_new(&config, &problem);
	return problem;
}

/* ---- life ---- */

struct targets *targets_new(const struct targets_config *config, char **ret_problem)
{
	struct targets *targets = xcalloc(1, sizeof(*targets));
	char *problem = NULL;
	targets->config = *config;
	ev_timer_init(&targets->look, on_look, look_period_s, look_period_s);
	targets->look.data = targets;
	targets->own = own_listeners_new(config->publish, config->notices);
	(void)look_at_addresses(targets);
	targets->egress = egress_new(config->egress, &problem);
	if (problem == NULL)
		problem = make_externals(targets);
	if (problem != NULL) {
		*ret_problem = problem;
		targets_free(targets);
		return NULL;
	}
	ev_timer_start(config->loop, &targets->look);
	return targets;
}

void targets_free(struct targets *targets)
{
	if (targets == NULL)
		return;
	ev_timer_stop(targets->config.loop, &targets->look);
	externals_free(targets->externals);
	own_listeners_free(targets->own);
	egress_free(targets->egress);
	free(targets);
}
