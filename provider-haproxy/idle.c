// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/idle.h"

#include "provider-haproxy/log_events.h"

enum { RELOAD_SHARE = 4 /* a quarter of all groups is worth a reload of its own */ };

bool idle_release(struct engine *engine)
{
	size_t count = slots_release_idle(&engine->slots);
	if (count == 0)
		return false;
	log_event(&EV_SLOTS_RELEASED, LOG_INT("groups", (int64_t)count));
	engine->is_main_stale = true;
	return true;
}

static bool are_many_idle(struct engine *engine)
{
	size_t all = engine->slots.group_count - engine->slots.vacant_count;
	size_t idle = slots_count_idle(&engine->slots);
	/* Not while more and more of them are. */
	bool is_steady = idle == engine->idle_count;
	engine->idle_count = idle;
	return idle != 0 && is_steady && idle * RELOAD_SHARE >= all;
}

static void on_idle(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = watcher->data;
	(void)loop;
	(void)events;
	slots_look(&engine->slots);
	if (!engine_is_complete(engine) || engine->change != CHANGE_NONE ||
		!are_many_idle(engine) || !idle_release(engine))
		return;
	local_pending(engine->local, NULL);
	engine_wake(engine);
}

void idle_init(struct engine *engine)
{
	double look_s = engine->config->slots_idle / SLOTS_IDLE_LOOKS;
	ev_timer_init(&engine->idle, on_idle, look_s, look_s);
	engine->idle.data = engine;
	ev_timer_start(engine->loop, &engine->idle);
}

void idle_fini(struct engine *engine)
{
	ev_timer_stop(engine->loop, &engine->idle);
}
