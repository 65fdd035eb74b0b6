// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/generation.h"

#include "provider-nginx/trust_files.h"

#include <unistd.h>

static const double trust_again_s = 0.02;
/* A hung worker does not exit; after this many tries the new CAs are used all the same. */
enum { TRUSTED_TRIES_MAX = 100 };

/* nginx has loaded the CAs of its file: waiting pools can be sent now, and unused CAs removed. */
static void use_trusts(struct engine *engine, uint64_t generation)
{
	struct state *state = local_state(engine->local);
	struct trusts *trusts = objects_trusts(engine->objects);
	ev_timer_stop(engine->loop, &engine->trust_again);
	engine->trusted_tries = 0;
	engine->trusted = generation;
	if (objects_set_live(engine->objects, state, setup_file(engine->setup)) &&
		engine->is_complete)
		feed_kick(engine->feed, state);
	/* Before the first snapshot it is unknown which are needed. */
	if (engine->is_complete)
		trust_files_sweep(engine->config->local.state_dir, trusts);
	if (trusts_take_change(trusts))
		setup_touch(engine->setup);
	engine_wake(engine);
}

/* nginx stops its old workers 100 ms after it has started new ones, and until then both accept connections. Old workers do not have
 * new CAs, and would answer 503 for a pool that needs one. So the workers are counted first. */
static void trust_when_alone(struct engine *engine)
{
	if (engine->told == engine->trusted ||
		!conf_is_generation(setup_file(engine->setup), engine->told))
		return;
	if (!engine->is_up || engine->trusted_tries++ >= TRUSTED_TRIES_MAX) {
		use_trusts(engine, engine->told);
		return;
	}
	proxy_count_workers(engine->proxy);
	ev_timer_again(engine->loop, &engine->trust_again);
}

static void on_trust_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	ev_timer_stop(loop, watcher);
	trust_when_alone(watcher->data);
}

void generation_init(struct engine *engine)
{
	ev_timer_init(&engine->trust_again, on_trust_again, 0., trust_again_s);
	engine->trust_again.data = engine;
}

void generation_on_told(struct engine *engine, uint64_t generation)
{
	engine->told = generation;
	setup_told(engine->setup, generation);
	trust_when_alone(engine);
}

void generation_on_workers(struct engine *engine, size_t taking)
{
	int64_t configured = engine->config->workers;
	long usual = configured != 0 ? (long)configured : sysconf(_SC_NPROCESSORS_ONLN);
	if (engine->told != engine->trusted && taking <= (size_t)usual &&
		conf_is_generation(setup_file(engine->setup), engine->told))
		use_trusts(engine, engine->told);
}
