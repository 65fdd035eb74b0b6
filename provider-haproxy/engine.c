// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/engine.h"

#include "provider-proxy/capabilities.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "proto/proxy_folder.h"
#include "provider-haproxy/binds.h"
#include "provider-haproxy/change.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/flush.h"
#include "provider-haproxy/liveness.h"
#include "provider-haproxy/idle.h"
#include "provider-haproxy/lifecycle.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/lua_off.h"
#include "provider-haproxy/now.h"
#include "provider-haproxy/policies.h"
#include "provider-haproxy/pools.h"
#include "provider-haproxy/pump.h"
#include "provider-haproxy/pump_certs.h"
#include "provider-haproxy/repair.h"
#include "provider-haproxy/staged.h"
#include "provider-haproxy/sync.h"
#include "provider-proxy/traffic_server.h"

#include <stdio.h>
#include <unistd.h>

/* A route that is not wanted stays for so long at most, when listeners cannot be changed. */
static const double keep_routes_s = 10;

/* ---- steps ---- */

static void update_binds(struct engine *engine)
{
	struct ports_proxy proxy = {
		.inherited = engine->proxy != NULL ? proxy_inherited(engine->proxy) : NULL,
		.master = engine->proxy != NULL ? proxy_pid(engine->proxy) : 0,
	};
	/* What our own proxy has held is not given up, though it may be dead, or dying, just now; only when it cannot be started with it. */
	bool keeps_held = engine->deaths < LIFECYCLE_DEATHS_MAX;
	struct str default_certificate =
		binds_update(engine->binds, &proxy, keeps_held, &engine->arena);
	certs_set_default(&engine->certs, default_certificate);
	main_file_set_stale(engine->main_file);
	probe_want_rows(engine->probe, binds_ports(engine->binds));
	rows_want(local_rows(engine->local), ROW_POOL, STR(PROBE_TARGET), STR(PROBE_TARGET));
}

static bool is_settled(const struct engine *engine)
{
	return connection_is_ready(engine->connection) && !change_is_under_way(engine) &&
	       pump_is_idle(engine) && !disk_is_flush_needed(engine->disk) &&
	       !disk_has_failed(engine->disk) && !change_is_needed(engine);
}

/* Waits for nothing that a tenant could keep going for ever: pools that leave, and ports that come and go with one reload after another. */
static bool is_served(const struct engine *engine)
{
	return connection_is_ready(engine->connection) && pump_is_done(engine) &&
	       probe_is_heard(engine->probe) && probe_trouble(engine->probe) == NULL;
}

static void tell(struct engine *engine)
{
	bool is_done = is_settled(engine);
	const struct ports *ports = binds_ports(engine->binds);
	if (is_done) {
		engine_set_problem(engine, NULL);
		probe_set_listeners(engine->probe, ports, NULL);
		if (engine->proxy != NULL && probe_is_heard(engine->probe))
			proxy_serves(engine->proxy, ports);
	}
	const char *silence = probe_trouble(engine->probe);
	if (silence != NULL) {
		local_failed(engine->local, silence);
		local_set_missing(engine->local, silence);
	} else if (is_done && !probe_is_pending(engine->probe)) {
		local_applied(engine->local);
		local_set_missing(engine->local, NULL);
	} else if (engine->problem != NULL && !disk_has_failed(engine->disk)) {
		local_failed(engine->local, engine->problem);
	}
	local_set_served(engine->local, is_served(engine));
}

/* Checks everything and does what can be done now. */
static void step(struct engine *engine)
{
	if (!engine_is_complete(engine))
		return;
	if (binds_are_stale(engine->binds) && !change_is_under_way(engine))
		update_binds(engine);
	/* The default certificate's coming or going changes the listeners, too. */
	if (main_file_is_stale(engine->main_file, certs_has_default(&engine->certs)) &&
		!change_is_under_way(engine))
		staged_update_main(engine);
	if (connection_state(engine->connection) == CONNECTION_GREETED)
		sync_begin(engine);
	if (connection_is_ready(engine->connection))
		pump_certs_renew(engine);
	/* Certificates on their way may change what is needed. */
	bool is_busy = connection_is_ready(engine->connection) &&
		       (!TAILQ_EMPTY(&engine->certs.dirty) || engine->certs.is_list_changed) &&
		       !disk_has_failed(engine->disk);
	if (!change_is_under_way(engine) && change_is_needed(engine) && !is_busy &&
		!change_is_waiting(engine) && change_may_begin(engine))
		change_begin(engine);
	if (!binds_are_stale(engine->binds) && !change_is_under_way(engine) &&
		connection_is_ready(engine->connection) && !change_is_needed(engine))
		binds_end_keeping(engine->binds);
	if (connection_is_ready(engine->connection) && !change_is_reloading(engine))
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
	else if (kind == LB_USERS)
		users_on_change(&engine->users, change->object, is_removed, &engine->arena);
	else if (kind == LB_CERTIFICATE)
		certs_on_change(&engine->certs, change->object, is_removed);
	else if (kind == LB_LOAD_BALANCER)
		binds_set_stale(engine->binds);
	arena_reset(&engine->arena);
}

static void on_commit(void *ctx, const struct state_commit *commit)
{
	struct engine *engine = ctx;
	bool is_due = commit->is_snapshot;
	if (engine->needs.services && !engine->names_services) {
		engine->names_services = true;
		pools_name_services(engine);
	}
	for (size_t i = 0; i < commit->change_count; i++) {
		on_change(engine, &commit->changes[i]);
		/* What becomes of a pool may wait. */
		is_due = is_due || object_kind(commit->changes[i].object) != LB_POOL;
	}
	if (commit->is_snapshot) {
		slots_end_reserving(&engine->slots);
		trust_files_forget_others(&engine->trust);
		binds_set_stale(engine->binds);
	}
	binds_on_commit(engine->binds, main_file_installed(engine->main_file));
	if (is_due)
		disk_want_flush(engine->disk);
	engine_wake(engine);
}

static void on_pool(void *ctx, struct object *pool)
{
	struct engine *engine = ctx;
	pools_on_change(engine, pool, false);
	arena_reset(&engine->arena);
	engine_wake(engine);
}

static void on_binds(void *ctx)
{
	engine_wake(ctx);
}

/* ---- life ---- */

static void remember_former(struct engine *engine)
{
	char *path = engine_path(engine, DISK_FORMER_MAP);
	struct rowfile *map = rowfile_new(local_rows(engine->local), ROW_WHOLE, path);
	pools_remember_former(engine, map);
	rowfile_free(map);
	free(path);
}

static void make_files(struct engine *engine)
{
	char *dir = engine_path(engine, "certs");
	certs_init(&engine->certs, local_state(engine->local), local_notices(engine->local), dir);
	free(dir);
	char *authority = engine_path(engine, LUA_OFF_FILE);
	certs_set_authority(&engine->certs, authority);
	free(authority);
	dir = engine_path(engine, "trust");
	trust_files_init(&engine->trust, dir);
	free(dir);
	repair_read(engine);
	if (!pools_remember(engine, disk_map(engine->disk, ROW_POOL)))
		remember_former(engine);
}

void engine_read_trusted(struct engine *engine)
{
	const char *path = engine->config->trusted_certificates;
	char *problem = NULL;
	bool is_other = path != NULL && main_file_read_trusted(engine->main_file, path, &problem);
	if (problem != NULL)
		log_event(&EV_TRUSTED_UNREADABLE, LOG_STR("reason", problem));
	free(problem);
	if (is_other)
		engine_wake(engine);
}

/* Of sluice-proxy, which counts. */
static char *traffic_socket(void *ctx)
{
	struct engine *engine = ctx;
	return xasprintf("%s/" TRAFFIC_SOCKET, engine->proxy_dir);
}

static void start_telling(struct engine *engine)
{
	struct traffic_source source = {
		.socket = traffic_socket,
		.ask = now_ask,
		.cancel = now_cancel,
		.ctx = engine,
	};
	engine->traffic_server =
		traffic_server_new(engine->daemon, engine->local, &engine->config->local, &source);
}

/* What is wanted, from the translator. False: it cannot be had, and the reason is told. */
static bool start_local(struct engine *engine, char **ret_problem, bool *ret_usage)
{
	static const struct local_ops ops = {.on_commit = on_commit, .on_pool = on_pool};
	const struct config *config = engine->config;
	engine->writer = policies_writer;
	engine->needs.certs = &engine->certs;
	engine->writer.ctx = &engine->needs;
	engine->names_services = config->local.access_log != ACCESS_LOG_OFF;
	struct local_config local_config = {
		.daemon = engine->daemon,
		.options = &config->local,
		.name = "haproxy",
		.software = "sluice-provider-haproxy " SLUICE_VERSION,
		.proxy = {config->haproxy, config->trusted_certificates},
		.routes = ROUTES_DIRECT,
		.writer = &engine->writer,
		.folder_mode = 0700,
		.capabilities = haproxy_capabilities(),
		.ops = &ops,
		.ctx = engine,
	};
	engine->local = local_start(&local_config, ret_problem, ret_usage);
	return engine->local != NULL;
}

struct engine *engine_new(
	struct daemon *daemon, const struct config *config, char **ret_problem, bool *ret_usage)
{
	struct engine *engine = xcalloc(1, sizeof(*engine));
	engine->wake = step;
	engine->daemon = daemon;
	engine->loop = daemon_loop(daemon);
	engine->config = config;
	if (!start_local(engine, ret_problem, ret_usage)) {
		free(engine);
		return NULL;
	}
	engine->disk = disk_new(
		&config->local, engine->local, flush_on_due, flush_on_late, engine, ret_problem);
	if (engine->disk == NULL) {
		local_free(engine->local);
		free(engine);
		return NULL;
	}
	arena_init(&engine->arena);
	engine->main_file = main_file_new();
	slots_init(&engine->slots);
	lifecycle_init(engine);
	engine->pools = pools_new(engine);
	engine->repair = repair_new(engine);
	engine->binds = binds_new(
		engine->local, keep_routes_s + config->local.reload_interval_max, on_binds, engine);
	engine->users = (struct users_rows){
		.state = local_state(engine->local), .rows = local_rows(engine->local)};
	make_files(engine);
	liveness_init(engine);
	engine->change = change_new(engine);
	engine->pump_certs = pump_certs_new();
	engine->pump = pump_new(engine);
	engine->idle = idle_new(engine);
	/* It reads everything, so all modules must exist. */
	engine_read_trusted(engine);
	local_set_missing(engine->local, "HAProxy");
	lifecycle_start(engine);
	start_telling(engine);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	if (engine_is_complete(engine))
		(void)flush_all(engine);
	traffic_server_free(engine->traffic_server);
	connection_close(engine->connection, NULL);
	change_free(engine->change);
	pump_free(engine->pump);
	pump_certs_free(engine->pump_certs);
	idle_free(engine->idle);
	repair_free(engine->repair);
	probe_free(engine->probe);
	disk_free(engine->disk);
	binds_free(engine->binds);
	users_fini(&engine->users);
	certs_fini(&engine->certs);
	trust_files_fini(&engine->trust);
	local_free(engine->local);
	slots_fini(&engine->slots);
	main_file_free(engine->main_file);
	arena_fini(&engine->arena);
	pools_free(engine->pools);
	if (engine->config->local.stop_proxy && !daemon_has_failed(engine->daemon))
		lifecycle_end(engine);
	proxy_free(engine->proxy);
	free(engine->proxy_dir);
	connection_free(engine->connection);
	free(engine->problem);
	free(engine);
}
