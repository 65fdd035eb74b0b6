// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/lifecycle.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/binds.h"
#include "provider-haproxy/change.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/flush.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/repair.h"

#include <errno.h>

/* One that has just been started may read a large configuration for so long. */
static const double deaf_at_start_s = 60;
static const double deaf_s = 5;
/* One whose main file was damaged when it was started has no socket, and serves nothing. */
static const double deaf_of_damaged_s = 1.5;

/* HAProxy restarts with what is wanted now, not with what was wanted when it died. */
static int write_for_start(struct engine *engine)
{
	int err = disk_write_maps(engine->disk, true);
	return err != 0 ? err : flush_all(engine);
}

/* Where its sockets are. */
static void use_folder(struct engine *engine, const char *dir)
{
	char *copy = xstrdup(dir);
	free(engine->proxy_dir);
	engine->proxy_dir = copy;
	if (engine->config->socket == NULL)
		connection_set_sockets(engine->connection, xasprintf("%s/" HAPROXY_SOCKET, copy),
			disk_has_proxy_folder(engine->disk) ? engine_path(engine, HAPROXY_SOCKET)
							    : NULL);
	main_file_set_stale(engine->main_file);
}

/* ---- its socket ---- */

/* Our own HAProxy runs, and yet its socket refuses: somebody has removed it, and neither it nor a reload makes a new one. */
static void end_if_deaf(struct engine *engine)
{
	double now = clock_monotonic_s();
	double patience_s = binds_are_held_unknown(engine->binds)     ? deaf_of_damaged_s
			    : connection_is_fresh(engine->connection) ? deaf_at_start_s
								      : deaf_s;
	if (!proxy_is_up(engine->proxy) || connection_is_reloading(engine->connection)) {
		engine->deaf_since = 0;
		return;
	}
	if (engine->deaf_since == 0)
		engine->deaf_since = now;
	if (now - engine->deaf_since < patience_s)
		return;
	engine->deaf_since = 0;
	log_event(&EV_PROXY_DEAF, LOG_STR("socket", connection_socket(engine->connection)));
	proxy_replace(engine->proxy);
}

static void on_connect(void *ctx, int err)
{
	struct engine *engine = ctx;
	if (err == 0) {
		engine->deaf_since = 0;
		return;
	}
	if (engine->proxy != NULL && (err == -ENOENT || err == -ECONNREFUSED))
		end_if_deaf(engine);
	else
		log_event(&EV_PROXY_LOST, LOG_STR("socket", connection_socket(engine->connection)),
			LOG_ERRNO(err));
	/* A first configuration is made for it. */
	engine_wake(engine);
}

static void on_greeting(void *ctx, bool is_other)
{
	struct engine *engine = ctx;
	if (is_other)
		probe_set_proxy(engine->probe, true);
	probe_control_answered(engine->probe);
	engine->deaths = 0;
	change_on_answer(engine);
	if (engine->proxy != NULL)
		proxy_is_well(engine->proxy);
	if (change_is_reloading(engine))
		change_on_worker(engine, connection_worker(engine->connection));
	/* That it had ended, say; a change that has failed waits for its next try. */
	if (!change_is_waiting(engine))
		engine_set_problem(engine, NULL);
	if (!engine_is_complete(engine))
		local_set_missing(engine->local, NULL);
	engine_wake(engine);
}

static void on_room(void *ctx)
{
	engine_wake(ctx);
}

void lifecycle_init(struct engine *engine)
{
	static const struct connection_ops ops = {
		.on_connect = on_connect, .on_greeting = on_greeting, .on_room = on_room};
	engine->connection = connection_new(engine->loop, &ops, engine);
	if (engine->config->socket != NULL)
		connection_set_sockets(engine->connection, xstrdup(engine->config->socket), NULL);
	use_folder(engine, local_proxy_dir(&engine->config->local));
}

/* ---- its supervisor ---- */

static void on_proxy_up(void *ctx, enum proxy_origin origin, const char *dir)
{
	struct engine *engine = ctx;
	log_event(&EV_PROXY_UP, LOG_INT("pid", proxy_pid(engine->proxy)),
		LOG_STR("how", origin == PROXY_STARTED ? "started" : "found"));
	use_folder(engine, dir);
	if (origin != PROXY_FOUND)
		disk_remove_former(engine->disk, engine->proxy_dir);
	/* Its supervisor may have started it before we have looked at the files. */
	if (!main_file_is_installed(engine->main_file)) {
		binds_set_held_unknown(engine->binds);
		engine->is_reload_forced = true;
	}
	engine->is_elsewhere = origin != PROXY_STARTED && local_has_new_folder(engine->local);
	connection_restart(engine->connection, origin == PROXY_STARTED);
}

static void on_proxy_down(void *ctx, const char *why, const char *words, double again_s)
{
	struct engine *engine = ctx;
	log_event(&EV_PROXY_DOWN, LOG_STR("reason", why), LOG_STR("output", words),
		LOG_SECONDS("again_s", again_s));
	engine_set_problem(
		engine, xasprintf("HAProxy ended (%s): %s", why, proxy_last_output(engine->proxy)));
	/* If that fails: what is on disk is the last good state, which is better than nothing. */
	if (engine_is_complete(engine))
		(void)write_for_start(engine);
	(void)repair_files(engine);
	/* It may be a port that is taken. Its workers, which end a moment after the master, still listen on all: they are not asked about now. */
	if (++engine->deaths >= LIFECYCLE_DEATHS_MAX)
		binds_unsettle(engine->binds, again_s / 2);
	engine->certs.is_running = false;
	connection_end(engine->connection);
	probe_set_proxy(engine->probe, false);
	if (change_is_reloading(engine))
		change_on_worker(engine, 0);
	local_set_missing(engine->local, "HAProxy");
	engine_wake(engine);
}

static void on_no_proxy(void *ctx)
{
	engine_wake(ctx);
}

static void on_unreachable(void *ctx, const char *socket)
{
	struct engine *engine = ctx;
	log_event(&EV_SUPERVISOR_MISSING, LOG_STR("socket", socket));
	local_set_missing(engine->local, "sluice-proxy, which runs HAProxy");
}

void lifecycle_start(struct engine *engine)
{
	static const struct proxy_ops ops = {
		.on_up = on_proxy_up,
		.on_down = on_proxy_down,
		.on_none = on_no_proxy,
		.on_unreachable = on_unreachable,
	};
	if (engine->config->socket != NULL) {
		connection_open(engine->connection);
		return;
	}
	struct proxy_config proxy_config = {
		.loop = engine->loop,
		.kind = "haproxy",
		.program = engine->config->haproxy,
		.supervisor = local_supervisor(engine->local),
		.state_dir = engine->config->local.state_dir,
		.proxy_dir = local_proxy_dir(&engine->config->local),
		.take_over = engine->config->local.take_over,
		.access_log_to = engine->config->local.access_log != ACCESS_LOG_OFF
					 ? engine->config->local.access_log_to
					 : NULL,
		.local = engine->local,
		.ops = &ops,
		.ctx = engine,
	};
	/* Before the supervisor, which we may be about to start, reads the files. */
	bool can_start = repair_files(engine);
	engine->proxy = proxy_new(&proxy_config);
	if (can_start)
		proxy_start_from_files(engine->proxy);
}

void lifecycle_end(struct engine *engine)
{
	double limit_s = engine->config->local.stop_timeout;
	if (engine->proxy == NULL || !proxy_is_up(engine->proxy))
		return;
	log_event(&EV_PROXY_ENDING, LOG_INT("pid", proxy_pid(engine->proxy)),
		LOG_SECONDS("limit_s", limit_s));
	if (!proxy_stop(engine->proxy, limit_s))
		log_event(&EV_PROXY_CUT);
}
