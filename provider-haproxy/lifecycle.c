// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/lifecycle.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "provider-haproxy/binds.h"
#include "provider-haproxy/change.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/flush.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/repair.h"
#include "provider-haproxy/sync.h"

#include <string.h>

/* HAProxy comes back with what is wanted now, and not with what was when it died. */
static int write_for_start(struct engine *engine)
{
	int err = disk_write_maps(engine->disk, true);
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
		disk_remove_former(engine->disk, engine->proxy_dir);
	/* Its supervisor may have started it before we have looked at the files. */
	if (buf_len(&engine->installed) == 0) {
		binds_set_held_unknown(engine->binds);
		engine->is_reload_forced = true;
	}
	engine->is_elsewhere = origin != PROXY_STARTED && local_has_new_folder(engine->local);
	backoff_succeeded(&engine->reconnect_backoff);
	sync_disconnect(engine, NULL);
	sync_connect(engine);
}

static void on_proxy_down(void *ctx, const char *why, const char *words, double again_s)
{
	struct engine *engine = ctx;
	log_event(&EV_PROXY_DOWN, LOG_STR("reason", why), LOG_STR("output", words),
		LOG_SECONDS("again_s", again_s));
	engine_set_problem(engine, xasprintf("HAProxy ended (%s): %.300s", why, words));
	/* If that fails: what is on disk is the last good state, which is better than nothing. */
	if (engine_is_complete(engine))
		(void)write_for_start(engine);
	(void)repair_files(engine);
	/* It may be a port that is taken. Its workers, which end a moment after the master, still listen on all: they are not asked about now. */
	if (++engine->deaths >= LIFECYCLE_DEATHS_MAX)
		binds_unsettle(engine->binds, again_s / 2);
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
	if (disk_has_proxy_folder(engine->disk))
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
	/* Before its supervisor, which we may be about to start, meets the files. */
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
