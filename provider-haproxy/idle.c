// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/idle.h"

#include "common/xalloc.h"
#include "provider-haproxy/change.h"
#include "provider-haproxy/pools.h"

enum { RELOAD_SHARE = 4 /* if a quarter of all groups is idle, that is worth a reload */ };

struct idle {
	struct engine *engine;
	ev_timer look;
	size_t count; /* groups at the last check */
};

static bool are_many_idle(struct idle *idle)
{
	struct slots *slots = &idle->engine->slots;
	size_t all = slots->group_count - slots->vacant_count;
	size_t count = slots_count_idle(slots);
	/* Not while their number is still growing. */
	bool is_steady = count == idle->count;
	idle->count = count;
	return count != 0 && is_steady && count * RELOAD_SHARE >= all;
}

static void on_idle(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct idle *idle = watcher->data;
	struct engine *engine = idle->engine;
	slots_look(&engine->slots);
	if (!engine_is_complete(engine) || change_is_under_way(engine) || !are_many_idle(idle) ||
		!pools_release_idle(engine))
		return;
	local_pending(engine->local, NULL);
	engine_wake(engine);
}

struct idle *idle_new(struct engine *engine)
{
	struct idle *idle = xcalloc(1, sizeof(*idle));
	double look_s = engine->config->slots_idle / SLOTS_IDLE_LOOKS;
	idle->engine = engine;
	ev_timer_init(&idle->look, on_idle, look_s, look_s);
	idle->look.data = idle;
	ev_timer_start(engine->loop, &idle->look);
	return idle;
}

void idle_free(struct idle *idle)
{
	ev_timer_stop(idle->engine->loop, &idle->look);
	free(idle);
}
