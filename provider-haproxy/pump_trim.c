// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/pump_trim.h"

#include "common/xalloc.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/pump_send.h"

static const double after_s = 1;

struct pump_trim {
	struct engine *engine;
	ev_timer due;
	long worker; /* that was told, or is about to be */
};

static void on_reply(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	probe_control_answered(engine->probe);
	if (cli_in_flight(connection_cli(engine->connection)) == 0)
		engine_wake(engine);
}

/* HAProxy has no command for it. It gives memory back, in milliseconds, when a list has lost what is of another generation: this is its first list, of
 * which there is but one. */
static void on_due(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct pump_trim *trim = watcher->data;
	struct engine *engine = trim->engine;
	ev_timer_stop(loop, watcher);
	if (!connection_is_ready(engine->connection) ||
		!cli_has_room(connection_cli(engine->connection)))
		trim->worker = 0;
	else
		pump_send_text(engine, on_reply, 0, "clear acl @1 #0");
}

void pump_trim_later(struct pump_trim *trim)
{
	if (trim->worker == connection_worker(trim->engine->connection))
		return;
	trim->worker = connection_worker(trim->engine->connection);
	ev_timer_stop(trim->engine->loop, &trim->due);
	ev_timer_set(&trim->due, after_s, 0.);
	ev_timer_start(trim->engine->loop, &trim->due);
}

struct pump_trim *pump_trim_new(struct engine *engine)
{
	struct pump_trim *trim = xcalloc(1, sizeof(*trim));
	trim->engine = engine;
	ev_timer_init(&trim->due, on_due, after_s, 0.);
	trim->due.data = trim;
	return trim;
}

void pump_trim_free(struct pump_trim *trim)
{
	ev_timer_stop(trim->engine->loop, &trim->due);
	free(trim);
}
