// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/destinations.h"

#include "common/xalloc.h"
#include "provider-proxy/sockets.h"

/* Addresses come and go with links, and with machines that share them (such as VRRP). */
static const double look_period_s = 10;

struct destinations {
	struct destinations_config config;
	struct egress *egress;
	struct own_listeners *own;
	struct externals *externals;
	ev_timer look;
};

/* ---- our own listeners ---- */

void destinations_settle(struct destinations *destinations)
{
	struct state *state = destinations->config.state;
	struct object *object = state_first(state, LB_POOL);
	struct arena arena;
	arena_init(&arena);
	for (; object != NULL; object = state_next(state, object)) {
		struct pool pool;
		state_decode(state, object, &arena, &pool);
		if (own_listeners_concern(destinations->own, &pool))
			destinations->config.on_pool(destinations->config.ctx, object);
		arena_reset(&arena);
	}
	arena_fini(&arena);
}

bool destinations_on_commit(struct destinations *destinations, const struct state_commit *commit)
{
	bool has_balancers = false;
	for (size_t i = 0; i < commit->change_count; i++)
		has_balancers |= object_kind(commit->changes[i].object) == LB_LOAD_BALANCER;
	return has_balancers &&
	       own_listeners_set_wanted(destinations->own, destinations->config.state);
}

static bool look_at_addresses(struct destinations *destinations)
{
	struct arena arena;
	struct check_ip *ips;
	size_t count;
	arena_init(&arena);
	/* If the addresses cannot be read, the last known ones stay. */
	bool is_changed = sockets_addresses(&arena, &ips, &count) &&
			  own_listeners_set_addresses(destinations->own, ips, count);
	arena_fini(&arena);
	return is_changed;
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct destinations *destinations = watcher->data;
	if (look_at_addresses(destinations))
		destinations_settle(destinations);
	destinations->config.on_look(destinations->config.look_ctx);
}

/* ---- names ---- */

static void on_external(void *ctx, struct str pool_id)
{
	struct destinations *destinations = ctx;
	struct object *pool = state_find(destinations->config.state, LB_POOL, pool_id);
	if (pool != NULL)
		destinations->config.on_pool(destinations->config.ctx, pool);
}

struct externals *destinations_externals(struct destinations *destinations)
{
	return destinations->externals;
}

static char *make_externals(struct destinations *destinations)
{
	char *problem = NULL;
	struct externals_config config = {
		.loop = destinations->config.loop,
		.servers = destinations->config.dns_servers,
		.egress = destinations->egress,
		.file = destinations->config.file,
		.notices = destinations->config.notices,
		.own = destinations->own,
		.on_change = on_external,
		.ctx = destinations,
	};
	destinations->externals = externals_new(&config, &problem);
	return problem;
}

/* ---- lifecycle ---- */

struct destinations *destinations_new(const struct destinations_config *config, char **ret_problem)
{
	struct destinations *destinations = xcalloc(1, sizeof(*destinations));
	char *problem = NULL;
	destinations->config = *config;
	ev_timer_init(&destinations->look, on_look, look_period_s, look_period_s);
	destinations->look.data = destinations;
	destinations->own = own_listeners_new(config->publish, config->notices);
	(void)look_at_addresses(destinations);
	destinations->egress = egress_new(config->egress, &problem);
	if (problem == NULL)
		problem = make_externals(destinations);
	if (problem != NULL) {
		*ret_problem = problem;
		destinations_free(destinations);
		return NULL;
	}
	ev_timer_start(config->loop, &destinations->look);
	return destinations;
}

void destinations_free(struct destinations *destinations)
{
	if (destinations == NULL)
		return;
	ev_timer_stop(destinations->config.loop, &destinations->look);
	externals_free(destinations->externals);
	own_listeners_free(destinations->own);
	egress_free(destinations->egress);
	free(destinations);
}
