// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/engine.h"

#include "common/version.h"
#include "common/xalloc.h"
#include "provider-nginx/engine_state.h"
#include "provider-nginx/folders.h"
#include "provider-nginx/generation.h"
#include "provider-nginx/lifecycle.h"
#include "provider-nginx/log_events.h"
#include "provider-nginx/rule_text.h"
#include "provider-nginx/trust_files.h"
#include "provider-proxy/capabilities.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/proxy.h"

enum { DICTIONARY_MB_MAX = 16384 };
static const double ports_look_s = 2;

/* ---- statuses ---- */

static void probe_listeners(struct engine *engine)
{
	if (!setup_is_settled(engine->setup) || engine->heard == engine->told)
		return;
	engine->heard = engine->told;
	liveness_on_loaded(engine->probe, wanted_ports(engine->wanted), setup_file(engine->setup));
}

static bool is_served(const struct engine *engine)
{
	return setup_is_settled(engine->setup) && feed_is_settled(engine->feed) &&
	       !objects_are_waiting(engine->objects) && engine->trusted == engine->told;
}

static void tell(struct engine *engine)
{
	const char *trouble = setup_trouble(engine->setup);
	if (trouble == NULL)
		trouble = feed_trouble(engine->feed);
	if (engine->has_told)
		local_set_missing(engine->local, probe_trouble(engine->probe));
	if (!engine->is_complete)
		return;
	probe_listeners(engine);
	if (trouble == NULL && is_served(engine) && probe_is_heard(engine->probe))
		proxy_serves(engine->proxy, wanted_ports(engine->wanted));
	if (trouble == NULL)
		trouble = probe_trouble(engine->probe);
	if (engine->repair.is_folder_gone)
		trouble = "the state folder was removed, and cannot be made again";
	/* Workers of the previous configuration no longer accept connections. */
	if (engine->kept_routes.are_kept && setup_is_settled(engine->setup) &&
		conf_is_generation(setup_file(engine->setup), engine->trusted))
		kept_routes_end(&engine->kept_routes);
	if (trouble != NULL)
		local_failed(engine->local, trouble);
	else if (!is_served(engine) || probe_is_pending(engine->probe))
		local_pending(engine->local, NULL);
	else if (feed_disk_trouble(engine->feed) != NULL)
		local_pending(engine->local, feed_disk_trouble(engine->feed));
	else
		local_applied(engine->local);
	/* Not setup_is_settled(): a tenant whose ports come and go could keep it going for ever. */
	local_set_served(engine->local,
		feed_is_settled(engine->feed) && !objects_are_waiting(engine->objects) &&
			probe_is_heard(engine->probe) && probe_trouble(engine->probe) == NULL);
}

/* Its parts may have something to say before all of them are there. */
static void step(struct engine *engine)
{
	if (engine->probe != NULL)
		tell(engine);
}

static void on_change(void *ctx)
{
	engine_wake(ctx);
}

/* ---- rows ---- */

static void on_told(void *ctx, const struct control_answer *answer)
{
	struct engine *engine = ctx;
	late_checks_set(engine->late_checks, local_state(engine->local), answer->late);
	proxy_is_well(engine->proxy);
	probe_control_answered(engine->probe);
	engine->has_told = true;
	engine->has_ports = true;
	generation_on_told(engine, answer->generation);
	if (setup_is_settled(engine->setup) && wanted_is_leaving(engine->wanted))
		setup_touch(engine->setup);
	engine_wake(engine);
}

static void on_full(void *ctx)
{
	struct engine *engine = ctx;
	if (engine->options.dictionary_mb >= DICTIONARY_MB_MAX) {
		log_event(&EV_DICTIONARY_LIMIT);
		return;
	}
	engine->options.dictionary_mb *= 2;
	setup_touch(engine->setup);
}

/* The socket was removed, or is unreachable for another reason: a new one is made under the alternative name. */
static void on_lost(void *ctx)
{
	struct engine *engine = ctx;
	if (!engine->is_up || !engine->is_complete)
		return;
	log_event(&EV_CONTROL_MOVED);
	engine->has_told = true;
	engine->options.control = engine->options.control == 'a' ? 'b' : 'a';
	setup_touch(engine->setup);
}

/* ---- the configuration ---- */

static const struct conf *collect(void *ctx)
{
	struct engine *engine = ctx;
	if (!engine->is_complete || !proxy_is_known(engine->proxy) ||
		(engine->is_up && !engine->has_told))
		return NULL;
	struct ports_proxy nginx = {
		.held = engine->is_up || engine->has_ports ? wanted_held(engine->wanted) : NULL,
		.inherited = proxy_inherited(engine->proxy),
		.master = proxy_pid(engine->proxy),
	};
	const struct conf *conf = wanted_collect(engine->wanted, &nginx);
	local_set_ports(engine->local, conf->ports);
	/* On failure nginx reports what is missing, and we try again. */
	(void)trust_files_write(engine->config->local.state_dir, objects_trusts(engine->objects));
	probe_want_rows(engine->probe, conf->ports);
	feed_kick(engine->feed, local_state(engine->local));
	return conf;
}

static bool reload(void *ctx)
{
	struct engine *engine = ctx;
	wanted_keep(engine->wanted, setup_candidate(engine->setup));
	char *path = conf_control_path(&engine->options);
	feed_set_socket(engine->feed, path);
	free(path);
	if (engine->is_elsewhere) {
		log_event(&EV_PROXY_MOVED);
		proxy_replace(engine->proxy);
		return true;
	}
	if (engine->is_up)
		return proxy_reload(engine->proxy) == 0;
	/* The file has all routes when nginx starts: it may get connections at once, on sockets taken over from another proxy. */
	feed_prepare(engine->feed);
	proxy_start(engine->proxy);
	return true;
}

static void ask(void *ctx)
{
	const struct engine *engine = ctx;
	feed_ask(engine->feed);
}

static const char *last_output(void *ctx)
{
	const struct engine *engine = ctx;
	return proxy_last_output(engine->proxy);
}

static void check(void *ctx, command_done *on_done, void *done_ctx)
{
	const struct engine *engine = ctx;
	proxy_check(engine->proxy, engine->config->local.check_timeout, on_done, done_ctx);
}

/* Whether ports have become available, or unavailable. */
static void on_ports_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = watcher->data;
	if (!engine->is_complete || !ports_have_changed(wanted_ports(engine->wanted)))
		return;
	local_pending(engine->local, NULL);
	setup_touch(engine->setup);
}

/* ---- the translator ---- */

static void on_commit(void *ctx, const struct state_commit *commit)
{
	struct engine *engine = ctx;
	engine->is_complete = engine->repair.is_complete =
		engine->is_complete || commit->is_snapshot;
	objects_on_commit(engine->objects, local_state(engine->local), commit);
	bool is_changed =
		wanted_is_changed(engine->wanted, commit) || engine->repair.has_substitutes;
	engine->options.reloads += engine->repair.has_substitutes;
	engine->repair.has_substitutes = false;
	is_changed = trusts_take_change(objects_trusts(engine->objects)) || is_changed;
	if (is_changed) {
		if (ports_names_former(setup_file(engine->setup), local_state(engine->local)))
			kept_routes_begin(&engine->kept_routes);
		setup_touch(engine->setup);
	}
	feed_kick(engine->feed, local_state(engine->local));
	engine_wake(engine);
}

static void on_pool(void *ctx, struct object *pool)
{
	struct engine *engine = ctx;
	objects_on_pool(engine->objects, local_state(engine->local), pool);
	feed_kick(engine->feed, local_state(engine->local));
	if (wanted_has_pool(engine->wanted, pool))
		setup_touch(engine->setup);
	engine_wake(engine);
}

/* ---- life ---- */

static char *control_socket(void *ctx)
{
	const struct engine *engine = ctx;
	return conf_control_path(&engine->options);
}

/* What is wanted, from the translator. False: it cannot be had, and the reason is told. */
static bool start_local(struct engine *engine, char **ret_problem, bool *ret_usage)
{
	static const struct local_ops ops = {
		.on_commit = on_commit, .on_pool = on_pool, .drops_unusable = true};
	const struct config *config = engine->config;
	engine->writer = rule_text_writer;
	engine->writer.ctx = &engine->ways;
	struct local_config local_config = {
		.daemon = engine->daemon,
		.options = &config->local,
		.name = "nginx",
		.software = "sluice-provider-nginx " SLUICE_VERSION,
		.proxy = {config->nginx, config->lua_dir, config->modules_dir,
			config->trusted_certificates},
		.folder_mode = folders_mode(),
		.capabilities = nginx_capabilities(),
		.writer = &engine->writer,
		.ops = &ops,
		.ctx = engine,
	};
	engine->local = local_start(&local_config, ret_problem, ret_usage);
	return engine->local != NULL;
}

static void make_wanted(struct engine *engine)
{
	struct local *local = engine->local;
	engine->objects = objects_new(local_notices(local), local_externals(local),
		!str_is_empty(engine->options.system_ca));
	engine->late_checks = late_checks_new(local_notices(local), engine->objects);
	engine->wanted = wanted_new(&(struct wanted_parts){
		.state = local_state(local),
		.rows = local_rows(local),
		.routes = local_routes(local),
		.notices = local_notices(local),
		.externals = local_externals(local),
		.publish = local_publish(local),
		.objects = engine->objects,
		.options = &engine->options,
		.ways = &engine->ways,
	});
}

static void make_feed(struct engine *engine)
{
	static const struct feed_ops ops = {on_change, on_told, on_full, on_lost};
	char *state_file = local_path(engine->local, "state");
	engine->options.control = 'a';
	char *socket = conf_control_path(&engine->options);
	struct feed_config feed_config = {
		.loop = engine->loop,
		.state_file = state_file,
		.socket_path = socket,
		.routes = local_rows(engine->local),
		.objects = engine->objects,
		.ops = &ops,
		.ctx = engine,
	};
	engine->feed = feed_new(&feed_config);
	free(state_file);
	free(socket);
	kept_routes_init(&engine->kept_routes, engine->loop, engine->feed);
}

static void make_setup(struct engine *engine)
{
	static const struct setup_ops ops = {collect, check, reload, ask, on_change, last_output};
	const struct config *config = engine->config;
	struct setup_config setup_config = {
		.loop = engine->loop,
		.state_dir = config->local.state_dir,
		.interval_s = {config->reload_interval, config->local.reload_interval_max},
		.notices = local_notices(engine->local),
		.ops = &ops,
		.ctx = engine,
	};
	engine->setup = setup_new(&setup_config);
	engine->repair = (struct repair){
		.local = engine->local,
		.config = config,
		.on_change = on_change,
		.ctx = engine,
		.setup = engine->setup,
		.feed = engine->feed,
		.trusts = objects_trusts(engine->objects),
	};
	engine->is_former = folders_are_former(engine->local, config, setup_file(engine->setup));
	ev_timer_init(&engine->ports_look, on_ports_look, ports_look_s, ports_look_s);
	engine->ports_look.data = engine;
	ev_timer_start(engine->loop, &engine->ports_look);
}

static void start_liveness(struct engine *engine)
{
	engine->liveness = (struct liveness){
		.local = engine->local,
		.feed = engine->feed,
		.proxy = engine->proxy,
		.timeout_s = engine->config->local.proxy_timeout,
		.on_change = on_change,
		.ctx = engine,
	};
	engine->probe = liveness_start(&engine->liveness);
}

/* nginx listens where its file says, until it gets another one. */
static void find_control(struct engine *engine, struct str file)
{
	struct str control = conf_read_control(file);
	if (str_is_empty(control))
		return;
	char *path = str_dup(control);
	engine->options.control = str_ends_with(control, STR("-b.sock")) ? 'b' : 'a';
	feed_set_socket(engine->feed, path);
	free(path);
}

/* What nginx has, as far as the files tell. */
static void read_files(struct engine *engine)
{
	struct str file = setup_file(engine->setup);
	engine->options.reloads = conf_read_reloads(file);
	wanted_assume(engine->wanted, file);
	(void)objects_set_live(engine->objects, local_state(engine->local), file);
	find_control(engine, file);
	repair_load_state(&engine->repair);
	/* Rows need several times their size in memory; a restart must not undo an enlargement. */
	while (engine->options.dictionary_mb < DICTIONARY_MB_MAX &&
		(uint64_t)engine->options.dictionary_mb * 1024 * 1024 / 3 < feed_size(engine->feed))
		engine->options.dictionary_mb *= 2;
}

void engine_read_trusted(struct engine *engine)
{
	if (config_read_trusted(engine->config, &engine->options))
		setup_touch(engine->setup);
}

struct engine *engine_new(
	struct daemon *daemon, const struct config *config, char **ret_problem, bool *ret_usage)
{
	struct engine *engine = xcalloc(1, sizeof(*engine));
	engine->wake = step;
	engine->daemon = daemon;
	engine->loop = daemon_loop(daemon);
	engine->config = config;
	config_fill(config, &engine->options);
	(void)config_read_trusted(config, &engine->options);
	if (!start_local(engine, ret_problem, ret_usage)) {
		free(engine);
		return NULL;
	}
	char *problem = folders_make(engine->local, config);
	if (problem != NULL) {
		local_free(engine->local);
		free(engine);
		*ret_problem = problem;
		return NULL;
	}
	make_wanted(engine);
	make_feed(engine);
	make_setup(engine);
	generation_init(engine);
	lifecycle_init(engine);
	start_liveness(engine);
	read_files(engine);
	lifecycle_start(engine);
	engine->now = now_new(daemon, engine->local, &config->local, control_socket, engine);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	ev_timer_stop(engine->loop, &engine->ports_look);
	ev_timer_stop(engine->loop, &engine->trust_again);
	repair_unwatch(&engine->repair);
	kept_routes_fini(&engine->kept_routes);
	probe_free(engine->probe);
	proxy_cancel_check(engine->proxy);
	setup_free(engine->setup);
	feed_free(engine->feed);
	wanted_free(engine->wanted);
	late_checks_free(engine->late_checks);
	now_free(engine->now);
	objects_free(engine->objects);
	local_free(engine->local);
	if (engine->config->local.stop_proxy && !daemon_has_failed(engine->daemon))
		lifecycle_end(engine);
	proxy_free(engine->proxy);
	free(engine);
}
