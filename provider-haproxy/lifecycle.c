// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/lifecycle.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "provider-haproxy/change.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/flush.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/repair.h"
#include "provider-haproxy/sync.h"

#include <string.h>

/* HAProxy restarts with what is wanted now, not with what was wanted when it died. */
static int write_for_start(struct engine *engine)
{
	int err = 0;
	for (int table = 0; table < ROW_TABLE_COUNT && err == 0; table++)
		err = rowfile_write(engine->files[table]);
	return err != 0 ? err : flush_files(engine);
}

void lifecycle_use_folder(struct engine *engine, struct str dir)
{
	char *copy = str_dup(dir);
	free(engine->proxy_dir);
	engine->proxy_dir = copy;
	if (engine->config->socket == NULL) {
		free(engine->socket);
		engine->socket = xasprintf("%s/" HAPROXY_SOCKET, engine->proxy_dir);
	}
	engine->is_main_stale = true;
}

static void on_proxy_up(void *ctx, enum proxy_origin origin, const char *dir)
{
	struct engine *engine = ctx;
	log_event(&EV_PROXY_UP, LOG_INT("pid", proxy_pid(engine->proxy)),
		LOG_STR("how", origin == PROXY_STARTED ? "started" : "found"));
	engine->is_fresh = origin == PROXY_STARTED;
	lifecycle_use_folder(engine, str_from(dir));
	if (origin != PROXY_FOUND)
		disk_remove_former(engine);
	/* The supervisor may have started it before we read the files. */
	engine->are_held_unknown = buf_len(&engine->installed) == 0;
	engine->is_elsewhere = origin != PROXY_STARTED && local_has_new_folder(engine->local);
	engine->is_reload_forced = engine->is_reload_forced || engine->are_held_unknown;
	backoff_succeeded(&engine->reconnect_backoff);
	sync_disconnect(engine, NULL);
	sync_connect(engine);
}

/* A port may be taken. The dead master's workers listen on all ports for another moment, so ports are not checked now. */
static void look_at_ports_again(struct engine *engine, double again_s)
{
	engine_look_later(engine, again_s / 2);
	engine->are_ports_unsettled = true;
}

static void on_proxy_down(void *ctx, const char *why, const char *words, double again_s)
{
	struct engine *engine = ctx;
	log_event(&EV_PROXY_DOWN, LOG_STR("reason", why), LOG_STR("output", words),
		LOG_SECONDS("again_s", again_s));
	engine_set_problem(engine, xasprintf("HAProxy ended (%s): %.300s", why, words));
	/* If that fails, the last good state on disk is better than nothing. */
	if (engine_is_complete(engine))
		(void)write_for_start(engine);
	(void)repair_files(engine);
	if (++engine->deaths >= LIFECYCLE_DEATHS_MAX)
		look_at_ports_again(engine, again_s);
	engine->worker = 0;
	engine->is_fresh = false;
	engine->running[0] = 0;
	engine->certs.is_running = false;
	sync_disconnect(engine, NULL);
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
		sync_connect(engine);
		return;
	}
	if (disk_has_proxy_folder(engine))
		engine->former_socket = engine_path(engine, HAPROXY_SOCKET);
	struct proxy_config proxy_config = {
		.loop = engine->loop,
		.kind = "haproxy",
		.program = engine->config->haproxy,
		.supervisor = local_supervisor(engine->local),
		.state_dir = engine->config->local.state_dir,
		.proxy_dir = local_proxy_dir(&engine->config->local),
		.take_over = engine->config->local.take_over,
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
