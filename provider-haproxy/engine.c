// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/engine.h"

#include "common/version.h"
#include "common/xalloc.h"
#include "provider-haproxy/change.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/flush.h"
#include "provider-haproxy/liveness.h"
#include "provider-haproxy/idle.h"
#include "provider-haproxy/lifecycle.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/pools.h"
#include "provider-haproxy/pump.h"
#include "provider-haproxy/pump_certs.h"
#include "provider-haproxy/repair.h"
#include "provider-haproxy/staged.h"
#include "provider-haproxy/sync.h"
#include "common/files.h"
#include "provider-proxy/trusted_file.h"

#include <stdio.h>
#include <unistd.h>

static const double ports_look_s = 2;
/* If listeners cannot be changed, their unwanted routes are kept at most this long. */
static const double keep_routes_s = 10;

/* ---- steps ---- */

static void update_ports(struct engine *engine)
{
	struct ports ports;
	ports_collect(local_state(engine->local), local_routes(engine->local),
		local_publish(engine->local), local_notices(engine->local), engine->ports,
		&engine->arena, &ports);
	struct str default_certificate = STR_NONE;
	for (size_t i = 0; i < ports.count && str_is_empty(default_certificate); i++)
		default_certificate = ports.items[i].default_certificate;
	certs_set_default(&engine->certs, default_certificate);
	/* Ports that our own proxy held are kept, even if it is dead or dying; they are given up only if it cannot be started with them. */
	struct socket_list wanted = ports_sockets(&ports);
	const struct socket_list *held = engine->are_held_unknown ? &wanted : &engine->held;
	struct ports_proxy proxy = {
		.held = engine->deaths < LIFECYCLE_DEATHS_MAX ? held : NULL,
		.inherited = engine->proxy != NULL ? proxy_inherited(engine->proxy) : NULL,
		.master = engine->proxy != NULL ? proxy_pid(engine->proxy) : 0,
	};
	ports_probe(&ports, &proxy, &engine->arena);
	free(wanted.items);
	local_set_ports(engine->local, &ports);
	engine->are_ports_stale = false;
	engine->are_ports_unsettled = false;
	engine_look_later(engine, ports_look_s);
	/* The listeners also depend on whether there is a default certificate. */
	engine->is_main_stale = true;
	probe_want_rows(engine->probe, &ports);
	struct ports *copy = ports_copy(&ports);
	ports_free(engine->ports);
	engine->ports = copy;
}

static void on_ports_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = watcher->data;
	(void)loop;
	(void)events;
	engine_look_later(engine, ports_look_s);
	if (!engine->are_ports_unsettled && !ports_have_changed(engine->ports))
		return;
	engine->are_ports_stale = true;
	local_pending(engine->local, NULL);
	engine_wake(engine);
}

/* ---- routes of removed listeners ---- */

static void begin_keeping(struct engine *engine)
{
	if (engine->keeps_routes ||
		!ports_names_former(buf_str(&engine->installed), local_state(engine->local)))
		return;
	engine->keeps_routes = true;
	ev_timer_set(&engine->keep, keep_routes_s + engine->config->local.reload_interval_max, 0.);
	ev_timer_start(engine->loop, &engine->keep);
}

static void end_keeping(struct engine *engine)
{
	engine->keeps_routes = false;
	ev_timer_stop(engine->loop, &engine->keep);
}

static void on_kept_long(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = watcher->data;
	(void)loop;
	(void)events;
	end_keeping(engine);
	engine_wake(engine);
}

static bool is_settled(const struct engine *engine)
{
	return engine->connection == CONNECTION_READY && !change_is_under_way(engine) &&
	       pump_is_idle(engine) && !engine->is_flush_needed && engine->disk_error == 0 &&
	       !change_is_needed(engine);
}

static void tell(struct engine *engine)
{
	bool is_done = is_settled(engine);
	if (is_done) {
		engine_set_problem(engine, NULL);
		probe_set_listeners(engine->probe, engine->ports, NULL);
		if (engine->proxy != NULL && probe_is_heard(engine->probe))
			proxy_serves(engine->proxy, engine->ports);
	}
	const char *silence = probe_trouble(engine->probe);
	if (silence != NULL) {
		local_failed(engine->local, silence);
		local_set_missing(engine->local, silence);
	} else if (is_done && !probe_is_pending(engine->probe)) {
		local_applied(engine->local);
		local_set_missing(engine->local, NULL);
	} else if (engine->problem != NULL && engine->disk_error == 0) {
		local_failed(engine->local, engine->problem);
	}
}

/* Checks everything and does what can be done now. */
static void step(struct engine *engine)
{
	/* A new worker has greeted us. */
	if (change_is_reloading(engine) && engine->connection == CONNECTION_GREETING &&
		engine->running[0] != 0)
		change_on_worker(engine, engine->worker);
	/* For instance that HAProxy had exited; a failed change waits for its next try. */
	if (engine->has_greeted && !change_is_waiting(engine))
		engine_set_problem(engine, NULL);
	engine->has_greeted = false;
	if (!engine_is_complete(engine))
		return;
	if (engine->are_ports_stale && !change_is_under_way(engine))
		update_ports(engine);
	if (engine->had_default != certs_has_default(&engine->certs))
		engine->is_main_stale = true;
	if (engine->is_main_stale && !change_is_under_way(engine))
		staged_update_main(engine);
	if (engine->connection == CONNECTION_GREETING && engine->running[0] != 0 &&
		!change_is_reloading(engine))
		sync_begin(engine);
	if (engine->connection == CONNECTION_READY)
		pump_certs_renew(engine);
	/* Pending certificates may change what is needed. */
	bool is_busy = engine->connection == CONNECTION_READY &&
		       (!TAILQ_EMPTY(&engine->certs.dirty) || engine->certs.is_list_changed) &&
		       engine->disk_error == 0;
	if (!change_is_under_way(engine) && change_is_needed(engine) && !is_busy &&
		!change_is_waiting(engine) && change_may_begin(engine))
		change_begin(engine);
	if (engine->keeps_routes && !engine->are_ports_stale && !change_is_under_way(engine) &&
		engine->connection == CONNECTION_READY && !change_is_needed(engine))
		end_keeping(engine);
	if (engine->connection == CONNECTION_READY && !change_is_reloading(engine))
		pump_run(engine);
	pools_finish_leaving(engine);
	arena_reset(&engine->arena);
	tell(engine);
}

/* ---- the translator ---- */

static void on_change(struct engine *engine, const struct state_change *change)
{
	bool is_removed = change->type == STATE_REMOVED;
	enum lb_kind kind = object_kind(change->object);
	if (kind == LB_POOL)
		pools_on_change(engine, change->object, is_removed);
	else if (kind == LB_CERTIFICATE)
		certs_on_change(&engine->certs, change->object, is_removed);
	else if (kind == LB_LOAD_BALANCER)
		engine->are_ports_stale = true;
	arena_reset(&engine->arena);
}

static void on_commit(void *ctx, const struct state_commit *commit)
{
	struct engine *engine = ctx;
	for (size_t i = 0; i < commit->change_count; i++)
		on_change(engine, &commit->changes[i]);
	size_t passthrough = routes_passthrough_total(local_routes(engine->local));
	if ((passthrough != 0) != (engine->passthrough_count != 0))
		engine->are_ports_stale = true;
	engine->passthrough_count = passthrough;
	if (commit->is_snapshot) {
		slots_end_reserving(&engine->slots);
		trust_files_forget_others(&engine->trust);
		engine->are_ports_stale = true;
	}
	if (engine->are_ports_stale) {
		begin_keeping(engine);
		local_pending(engine->local, NULL);
	}
	disk_want_flush(engine);
	engine_wake(engine);
}

static void on_pool(void *ctx, struct object *pool)
{
	struct engine *engine = ctx;
	pools_on_change(engine, pool, false);
	arena_reset(&engine->arena);
	engine_wake(engine);
}

/* ---- lifecycle ---- */

static void make_files(struct engine *engine)
{
	static const char *const names[] = {"maps/whole.map", "maps/prefix.map"};
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		char *path = engine_path(engine, names[table]);
		engine->files[table] =
			rowfile_new(local_rows(engine->local), (enum row_table)table, path);
		free(path);
	}
	char *dir = engine_path(engine, "certs");
	certs_init(&engine->certs, local_state(engine->local), local_notices(engine->local), dir);
	free(dir);
	dir = engine_path(engine, "trust");
	trust_files_init(&engine->trust, dir);
	free(dir);
	repair_read(engine);
	staged_read_held(engine);
	pools_remember(engine);
}

void engine_read_trusted(struct engine *engine)
{
	const char *path = engine->config->trusted_certificates;
	uint64_t before = engine->trusted_digest;
	if (path == NULL)
		return;
	char *problem = trusted_file_read(path, &engine->trusted_digest);
	if (problem != NULL)
		log_event(&EV_TRUSTED_UNREADABLE, LOG_STR("reason", problem));
	free(problem);
	if (engine->trusted_digest == before)
		return;
	engine->is_main_stale = true;
	engine_wake(engine);
}

struct engine *engine_new(
	struct daemon *daemon, const struct config *config, char **ret_problem, bool *ret_usage)
{
	static const struct local_ops ops = {.on_commit = on_commit, .on_pool = on_pool};
	struct engine *engine = xcalloc(1, sizeof(*engine));
	engine->wake = step;
	engine->daemon = daemon;
	engine->loop = daemon_loop(daemon);
	engine->config = config;
	struct local_config local_config = {
		.daemon = daemon,
		.options = &config->local,
		.name = "haproxy",
		.software = "sluice-provider-haproxy " SLUICE_VERSION,
		.proxy = {config->haproxy, config->trusted_certificates},
		.folder_mode = 0700,
		.ops = &ops,
		.ctx = engine,
	};
	engine->local = local_start(&local_config, ret_problem, ret_usage);
	if (engine->local == NULL) {
		free(engine);
		return NULL;
	}
	int err = disk_make_folders(engine);
	if (err != 0) {
		*ret_problem = xasprintf(
			"a folder in the state folder cannot be made: %s", files_problem(err));
		local_free(engine->local);
		free(engine);
		return NULL;
	}
	arena_init(&engine->arena);
	buf_init(&engine->main, RENDER_LEN_MAX);
	buf_init(&engine->installed, RENDER_LEN_MAX);
	slots_init(&engine->slots);
	engine->ports = xcalloc(1, sizeof(*engine->ports));
	engine->socket = config->socket != NULL ? xstrdup(config->socket) : NULL;
	lifecycle_use_folder(engine, str_from(local_proxy_dir(&config->local)));
	flush_init(engine);
	engine->pools = pools_new(engine);
	engine->repair = repair_new(engine);
	ev_init(&engine->ports_again, on_ports_again);
	engine->ports_again.data = engine;
	ev_init(&engine->keep, on_kept_long);
	engine->keep.data = engine;
	make_files(engine);
	liveness_init(engine);
	sync_init(engine);
	engine->change = change_new(engine);
	engine->pump_certs = pump_certs_new();
	engine->pump = pump_new(engine);
	engine->idle = idle_new(engine);
	/* It reads everything, so all modules must exist. */
	engine_read_trusted(engine);
	local_set_missing(engine->local, "HAProxy");
	lifecycle_start(engine);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	if (engine_is_complete(engine))
		(void)flush_files(engine);
	sync_disconnect(engine, NULL);
	change_free(engine->change);
	pump_free(engine->pump);
	pump_certs_free(engine->pump_certs);
	idle_free(engine->idle);
	repair_free(engine->repair);
	probe_free(engine->probe);
	ev_timer_stop(engine->loop, &engine->flush);
	ev_timer_stop(engine->loop, &engine->ports_again);
	ev_timer_stop(engine->loop, &engine->keep);
	for (int table = 0; table < ROW_TABLE_COUNT; table++)
		rowfile_free(engine->files[table]);
	certs_fini(&engine->certs);
	trust_files_fini(&engine->trust);
	local_free(engine->local);
	slots_fini(&engine->slots);
	ports_free(engine->ports);
	free(engine->held.items);
	buf_fini(&engine->main);
	buf_fini(&engine->installed);
	arena_fini(&engine->arena);
	pools_free(engine->pools);
	if (engine->config->local.stop_proxy && !daemon_has_failed(engine->daemon))
		lifecycle_end(engine);
	proxy_free(engine->proxy);
	free(engine->proxy_dir);
	free(engine->socket);
	free(engine->former_socket);
	free(engine->problem);
	free(engine);
}
