// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-provider-nginx: runs nginx on this machine so that it serves what the translator wants, and reports where traffic enters.
 *
 * In: load balancers, virtual hosts, pools and certificates (with their keys) from the translator over provider.sock. Out: rows to nginx
 * over its control socket, and the same to the state file; nginx.conf, for what rows cannot express; statuses to the translator.
 *
 * Trusted with: the private keys of certificates, which are in the state file (mode 0600), and with the ports that nginx listens on.
 * Started as root only for ports below 1024; nginx's workers then run as another user. It opens network sockets only to check whether a
 * port is free, and to resolve host names that are backends.
 *
 * When a neighbour dies:
 *   translator  nothing changes; the last wanted state stays in force. When it is back its snapshot is compared.
 *   nginx       is restarted with the state file, and then sent whatever that lacks.
 *   this one    nginx goes on serving. The next one finds it by its pid, asks for its state, and changes only what differs.
 *   the disk    nginx gets every change all the same; the file follows when it can.
 *
 * Read next: feed.h for changes without a reload, setup.h for those with one, lua/sluice/request.lua for the path of a request.
 */
#include "common/version.h"
#include "common/xalloc.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/proxy.h"
#include "provider-proxy/capabilities.h"
#include "provider-nginx/config.h"
#include "provider-nginx/feed.h"
#include "provider-nginx/folders.h"
#include "provider-nginx/filter.h"
#include "provider-nginx/liveness.h"
#include "provider-nginx/kept_routes.h"
#include "provider-nginx/late_checks.h"
#include "provider-nginx/log_events.h"
#include "provider-nginx/now.h"
#include "provider-nginx/repair.h"
#include "provider-nginx/rule_text.h"
#include "provider-nginx/setup.h"
#include "provider-nginx/temp_folders.h"
#include "provider-nginx/trust_files.h"
#include "provider-nginx/wanted.h"

#include <signal.h>
#include <unistd.h>

enum { DICTIONARY_MB_MAX = 16384 };
static const double ports_look_s = 2;
static const double trust_again_s = 0.02;
/* A hung worker does not exit; after this many tries the new CAs are used all the same. */
enum { TRUSTED_TRIES_MAX = 100 };

static struct config config;

static struct nginx_provider {
	struct daemon *daemon;
	struct local *local;
	struct objects *objects;
	struct late_checks *late_checks;
	struct now *now;
	struct feed *feed;
	struct setup *setup;
	struct wanted *wanted;
	struct proxy *proxy;
	struct repair repair;
	struct liveness liveness;
	struct probe *probe;
	uint64_t heard; /* generation whose listeners are probed */
	struct conf_options options;
	struct ways ways; /* of all policies so far */
	struct route_writer writer;
	/* The configuration found at the start has its sockets in the state folder, as without --proxy-dir. nginx uses them as long as it
	 * runs: its sandbox allows no other folder. */
	bool is_former;
	ev_timer ports_look;
	struct kept_routes kept_routes;
	bool is_up;
	bool is_elsewhere; /* its state folder was removed: its sandbox cannot load from the new one */
	bool has_told;     /* its configuration is known, or cannot be found out */
	bool has_ports;    /* its last successful start was with the ports of the configuration */
	bool is_complete; /* a snapshot has been committed */
	uint64_t trusted; /* generation whose CAs have been loaded */
	uint64_t told;    /* generation reported by a worker; other workers may not have it yet */
	unsigned trusted_tries;
	ev_timer trust_again;
} self;

/* ---- statuses ---- */

static void probe_listeners(void)
{
	if (!setup_is_settled(self.setup) || self.heard == self.told)
		return;
	self.heard = self.told;
	liveness_on_loaded(self.probe, wanted_ports(self.wanted), setup_file(self.setup));
}

static bool is_served(void)
{
	return setup_is_settled(self.setup) && feed_is_settled(self.feed) &&
	       !objects_are_waiting(self.objects) && self.trusted == self.told;
}

static void update_status(void)
{
	const char *trouble = setup_trouble(self.setup);
	if (trouble == NULL)
		trouble = feed_trouble(self.feed);
	if (self.has_told)
		local_set_missing(self.local, probe_trouble(self.probe));
	if (!self.is_complete)
		return;
	probe_listeners();
	if (trouble == NULL && is_served() && probe_is_heard(self.probe))
		proxy_serves(self.proxy, wanted_ports(self.wanted));
	if (trouble == NULL)
		trouble = probe_trouble(self.probe);
	if (self.repair.is_folder_gone)
		trouble = "the state folder was removed, and cannot be made again";
	/* Workers of the previous configuration no longer accept connections. */
	if (self.kept_routes.are_kept && setup_is_settled(self.setup) &&
		conf_is_generation(setup_file(self.setup), self.trusted))
		kept_routes_end(&self.kept_routes);
	if (trouble != NULL)
		local_failed(self.local, trouble);
	else if (!is_served() || probe_is_pending(self.probe))
		local_pending(self.local, NULL);
	else if (feed_disk_trouble(self.feed) != NULL)
		local_pending(self.local, feed_disk_trouble(self.feed));
	else
		local_applied(self.local);
	/* Not setup_is_settled(): a tenant whose ports come and go could keep it going for ever. */
	local_set_served(self.local,
		feed_is_settled(self.feed) && !objects_are_waiting(self.objects) &&
			probe_is_heard(self.probe) && probe_trouble(self.probe) == NULL);
}

static void on_change(void *ctx)
{
	if (self.probe != NULL)
		update_status();
}

/* ---- rows ---- */

/* nginx has loaded the CAs of its file: waiting pools can be sent now, and unused CAs removed. */
static void use_trusts(uint64_t generation)
{
	struct state *state = local_state(self.local);
	ev_timer_stop(local_loop(self.local), &self.trust_again);
	self.trusted_tries = 0;
	self.trusted = generation;
	if (objects_set_live(self.objects, state, setup_file(self.setup)) && self.is_complete)
		feed_kick(self.feed, state);
	/* Before the first snapshot it is unknown which are needed. */
	if (self.is_complete)
		trust_files_sweep(config.local.state_dir, objects_trusts(self.objects));
	if (trusts_take_change(objects_trusts(self.objects)))
		setup_touch(self.setup);
	update_status();
}

/* nginx stops its old workers 100 ms after it has started new ones, and until then both accept connections. Old workers do not have
 * new CAs, and would answer 503 for a pool that needs one. So the workers are counted first. */
static void trust_when_alone(uint64_t generation)
{
	if (generation == self.trusted || !conf_is_generation(setup_file(self.setup), generation))
		return;
	self.told = generation;
	if (!self.is_up || self.trusted_tries++ >= TRUSTED_TRIES_MAX) {
		use_trusts(generation);
		return;
	}
	proxy_count_workers(self.proxy);
	ev_timer_again(local_loop(self.local), &self.trust_again);
}

static void on_workers(void *ctx, size_t taking)
{
	long usual = config.workers != 0 ? (long)config.workers : sysconf(_SC_NPROCESSORS_ONLN);
	if (self.told != self.trusted && taking <= (size_t)usual &&
		conf_is_generation(setup_file(self.setup), self.told))
		use_trusts(self.told);
}

static void on_trust_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	ev_timer_stop(loop, watcher);
	trust_when_alone(self.told);
}

static void on_told(void *ctx, const struct control_answer *answer)
{
	uint64_t generation = answer->generation;
	late_checks_set(self.late_checks, local_state(self.local), answer->late);
	proxy_is_well(self.proxy);
	probe_control_answered(self.probe);
	self.has_told = true;
	self.has_ports = true;
	self.told = generation;
	setup_told(self.setup, generation);
	trust_when_alone(generation);
	if (setup_is_settled(self.setup) && wanted_is_leaving(self.wanted))
		setup_touch(self.setup);
	update_status();
}

static void on_full(void *ctx)
{
	if (self.options.dictionary_mb >= DICTIONARY_MB_MAX) {
		log_event(&EV_DICTIONARY_LIMIT);
		return;
	}
	self.options.dictionary_mb *= 2;
	setup_touch(self.setup);
}

/* The socket was removed, or is unreachable for another reason: a new one is made under the alternative name. */
static void on_lost(void *ctx)
{
	if (!self.is_up || !self.is_complete)
		return;
	log_event(&EV_CONTROL_MOVED);
	self.has_told = true;
	self.options.control = self.options.control == 'a' ? 'b' : 'a';
	setup_touch(self.setup);
}

static const struct feed_ops feed_ops = {on_change, on_told, on_full, on_lost};

/* ---- the configuration ---- */

static const struct conf *collect(void *ctx)
{
	if (!self.is_complete || !proxy_is_known(self.proxy) || (self.is_up && !self.has_told))
		return NULL;
	struct ports_proxy nginx = {
		.held = self.is_up || self.has_ports ? wanted_held(self.wanted) : NULL,
		.inherited = proxy_inherited(self.proxy),
		.master = proxy_pid(self.proxy),
	};
	const struct conf *conf = wanted_collect(self.wanted, &nginx);
	local_set_ports(self.local, conf->ports);
	/* On failure nginx reports what is missing, and we try again. */
	(void)trust_files_write(config.local.state_dir, objects_trusts(self.objects));
	probe_want_rows(self.probe, conf->ports);
	feed_kick(self.feed, local_state(self.local));
	return conf;
}

static bool reload(void *ctx)
{
	wanted_keep(self.wanted, setup_candidate(self.setup));
	char *path = conf_control_path(&self.options);
	feed_set_socket(self.feed, path);
	free(path);
	if (self.is_elsewhere) {
		log_event(&EV_PROXY_MOVED);
		proxy_replace(self.proxy);
		return true;
	}
	if (self.is_up)
		return proxy_reload(self.proxy) == 0;
	/* The file has all routes when nginx starts: it may get connections at once, on sockets taken over from another proxy. */
	feed_prepare(self.feed);
	proxy_start(self.proxy);
	return true;
}

static void ask(void *ctx)
{
	feed_ask(self.feed);
}

static const char *last_output(void *ctx)
{
	return proxy_last_output(self.proxy);
}

static void check(void *ctx, command_done *on_done, void *done_ctx)
{
	proxy_check(self.proxy, config.local.check_timeout, on_done, done_ctx);
}

static const struct setup_ops setup_ops = {collect, check, reload, ask, on_change, last_output};

/* Whether ports have become available, or unavailable. */
static void on_ports_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	if (!self.is_complete || !ports_have_changed(wanted_ports(self.wanted)))
		return;
	local_pending(self.local, NULL);
	setup_touch(self.setup);
}

/* ---- nginx ---- */

static void on_up(void *ctx, enum proxy_origin origin, const char *dir)
{
	self.is_up = true;
	self.has_told = false;
	self.is_elsewhere = origin != PROXY_STARTED && local_has_new_folder(self.local);
	self.options.proxy_dir =
		str_from(origin == PROXY_FOUND && self.is_former ? config.local.state_dir
								 : local_proxy_dir(&config.local));
	log_event(&EV_NGINX_UP, LOG_INT("pid", proxy_pid(self.proxy)),
		LOG_STR("how", origin == PROXY_STARTED ? "started" : "found"));
	/* The supervisor may have started it before we read the files. */
	if (!setup_has_file(self.setup))
		wanted_assume_any(self.wanted);
	probe_set_proxy(self.probe, true);
	feed_set_nginx(self.feed, true);
}

static void on_down(void *ctx, const char *why, const char *words, double again_s)
{
	self.is_up = false;
	/* A dead master may leave workers that still listen for a moment; a failed start may mean that a port was taken. */
	self.has_ports = self.has_ports && self.has_told;
	log_event(&EV_NGINX_DOWN, LOG_STR("reason", why), LOG_SECONDS("again_s", again_s),
		LOG_STR("words", words));
	local_set_missing(self.local, "nginx");
	probe_set_proxy(self.probe, false);
	feed_set_nginx(self.feed, false);
	/* nginx restarts with what is wanted now, not with what was wanted when it died. */
	feed_prepare(self.feed);
	(void)repair_files(&self.repair);
	setup_nginx_down(self.setup);
}

static void on_none(void *ctx)
{
	if (self.is_complete)
		setup_touch(self.setup);
}

static void on_unreachable(void *ctx, const char *socket)
{
	log_event(&EV_SUPERVISOR_MISSING, LOG_STR("socket", socket));
	local_set_missing(self.local, "sluice-proxy, which runs nginx");
}

/* ---- the translator ---- */

static void on_commit(void *ctx, const struct state_commit *commit)
{
	self.is_complete = self.repair.is_complete = self.is_complete || commit->is_snapshot;
	objects_on_commit(self.objects, local_state(self.local), commit);
	bool is_changed = wanted_is_changed(self.wanted, commit) || self.repair.has_substitutes;
	self.options.reloads += self.repair.has_substitutes;
	self.repair.has_substitutes = false;
	is_changed = trusts_take_change(objects_trusts(self.objects)) || is_changed;
	if (is_changed) {
		if (ports_names_former(setup_file(self.setup), local_state(self.local)))
			kept_routes_begin(&self.kept_routes);
		setup_touch(self.setup);
	}
	feed_kick(self.feed, local_state(self.local));
	update_status();
}

static void on_pool(void *ctx, struct object *pool)
{
	objects_on_pool(self.objects, local_state(self.local), pool);
	feed_kick(self.feed, local_state(self.local));
	if (wanted_has_pool(self.wanted, pool))
		setup_touch(self.setup);
	update_status();
}

static const struct local_ops local_ops = {
	.on_commit = on_commit, .on_pool = on_pool, .drops_unusable = true};

/* ---- lifecycle ---- */

static void make_proxy(struct ev_loop *loop)
{
	static const struct proxy_ops ops = {
		.on_up = on_up,
		.on_down = on_down,
		.on_none = on_none,
		.on_unreachable = on_unreachable,
		.on_workers = on_workers,
	};
	struct proxy_config proxy_config = {
		.loop = loop,
		.kind = "nginx",
		.program = config.nginx,
		.supervisor = local_supervisor(self.local),
		.state_dir = config.local.state_dir,
		.proxy_dir = local_proxy_dir(&config.local),
		.take_over = config.local.take_over,
		.access_log_to = config.local.access_log != ACCESS_LOG_OFF
					 ? config.local.access_log_to
					 : NULL,
		.local = self.local,
		.ops = &ops,
	};
	self.proxy = proxy_new(&proxy_config);
}

static void make_modules(struct ev_loop *loop)
{
	char *state_file = local_path(self.local, "state");
	self.options.control = 'a';
	char *socket = conf_control_path(&self.options);
	struct feed_config feed_config = {
		.loop = loop,
		.state_file = state_file,
		.socket_path = socket,
		.routes = local_rows(self.local),
		.objects = self.objects,
		.ops = &feed_ops,
	};
	struct setup_config setup_config = {
		.loop = loop,
		.state_dir = config.local.state_dir,
		.interval_s = {config.reload_interval, config.local.reload_interval_max},
		.notices = local_notices(self.local),
		.ops = &setup_ops,
	};
	self.feed = feed_new(&feed_config);
	kept_routes_init(&self.kept_routes, loop, self.feed);
	self.setup = setup_new(&setup_config);
	self.repair = (struct repair){.local = self.local,
		.config = &config,
		.on_change = update_status,
		.setup = self.setup,
		.feed = self.feed,
		.trusts = objects_trusts(self.objects)};
	self.is_former = folders_are_former(self.local, &config, setup_file(self.setup));
	make_proxy(loop);
	self.liveness = (struct liveness){.local = self.local,
		.feed = self.feed,
		.proxy = self.proxy,
		.timeout_s = config.local.proxy_timeout,
		.on_change = update_status};
	self.probe = liveness_start(&self.liveness);
	free(state_file);
	free(socket);
}

/* nginx listens where its file says, until it gets another one. */
static void find_control(struct str file)
{
	struct str control = conf_read_control(file);
	if (str_is_empty(control))
		return;
	char *path = str_dup(control);
	self.options.control = str_ends_with(control, STR("-b.sock")) ? 'b' : 'a';
	feed_set_socket(self.feed, path);
	free(path);
}

static void start_all(struct ev_loop *loop)
{
	make_modules(loop);
	struct str file = setup_file(self.setup);
	self.options.reloads = conf_read_reloads(file);
	wanted_assume(self.wanted, file);
	(void)objects_set_live(self.objects, local_state(self.local), file);
	find_control(file);
	repair_load_state(&self.repair);
	/* Rows need several times their size in memory; a restart must not undo an enlargement. */
	while (self.options.dictionary_mb < DICTIONARY_MB_MAX &&
		(uint64_t)self.options.dictionary_mb * 1024 * 1024 / 3 < feed_size(self.feed))
		self.options.dictionary_mb *= 2;
	ev_timer_init(&self.ports_look, on_ports_look, ports_look_s, ports_look_s);
	ev_timer_start(loop, &self.ports_look);
	ev_timer_init(&self.trust_again, on_trust_again, 0., trust_again_s);
	local_set_missing(self.local, "nginx");
	repair_watch(&self.repair);
	/* Before the supervisor, which we may be about to start, reads the files. */
	if (repair_files(&self.repair))
		proxy_start_from_files(self.proxy);
}

static void reload_files(void)
{
	if (config_read_trusted(&config, &self.options))
		setup_touch(self.setup);
}

static char *control_socket(void *ctx)
{
	return conf_control_path(&self.options);
}

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	char *problem = config_check(&config);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	self.daemon = daemon;
	/* Exceeding the file size limit must be an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	self.writer = rule_text_writer;
	self.writer.ctx = &self.ways;
	struct local_config local_config = {
		.daemon = daemon,
		.options = &config.local,
		.name = "nginx",
		.software = "sluice-provider-nginx " SLUICE_VERSION,
		.proxy = {config.nginx, config.lua_dir, config.modules_dir,
			config.trusted_certificates},
		.folder_mode = folders_mode(),
		.capabilities = nginx_capabilities(),
		.writer = &self.writer,
		.ops = &local_ops,
	};
	config_fill(&config, &self.options);
	(void)config_read_trusted(&config, &self.options);
	self.local = local_start(&local_config, &problem, ret_usage);
	if (self.local == NULL)
		return problem;
	self.objects = objects_new(local_notices(self.local), local_externals(self.local),
		!str_is_empty(self.options.system_ca));
	self.late_checks = late_checks_new(local_notices(self.local), self.objects);
	self.wanted = wanted_new(&(struct wanted_parts){
		.state = local_state(self.local),
		.rows = local_rows(self.local),
		.routes = local_routes(self.local),
		.notices = local_notices(self.local),
		.externals = local_externals(self.local),
		.publish = local_publish(self.local),
		.objects = self.objects,
		.options = &self.options,
		.ways = &self.ways,
	});
	problem = folders_make(self.local, &config);
	if (problem == NULL)
		start_all(daemon_loop(daemon));
	self.now = now_new(daemon, self.local, &config.local, control_socket, NULL);
	return problem;
}

static void end_nginx(void)
{
	double limit_s = config.local.stop_timeout;
	if (!proxy_is_up(self.proxy))
		return;
	log_event(&EV_NGINX_ENDING, LOG_INT("pid", proxy_pid(self.proxy)),
		LOG_SECONDS("limit_s", limit_s));
	if (!proxy_stop(self.proxy, limit_s))
		log_event(&EV_NGINX_CUT);
}

static void stop(void)
{
	struct ev_loop *loop = local_loop(self.local);
	ev_timer_stop(loop, &self.ports_look);
	repair_unwatch(&self.repair);
	kept_routes_fini(&self.kept_routes);
	probe_free(self.probe);
	proxy_cancel_check(self.proxy);
	setup_free(self.setup);
	feed_free(self.feed);
	wanted_free(self.wanted);
	late_checks_free(self.late_checks);
	now_free(self.now);
	objects_free(self.objects);
	local_free(self.local);
	if (config.local.stop_proxy && !daemon_has_failed(self.daemon))
		end_nginx();
	proxy_free(self.proxy);
}

static bool is_filter(const void *ctx)
{
	const struct config *given = ctx;
	return filter_is_wanted(&given->filter);
}

static char *run_filter(const void *ctx, bool *ret_usage)
{
	const struct config *given = ctx;
	char *problem = given->filter.hello ? NULL : config_check(&config);
	*ret_usage = problem != NULL;
	return problem != NULL
		       ? problem
		       : filter_run(&nginx_filter, &given->filter,
				 (enum sandbox_mode)given->local.common.sandbox, given, ret_usage);
}

int main(int argc, char **argv)
{
	static const struct daemon_spec spec = {
		.options = &config_table,
		.common_offset = offsetof(struct config, local.common),
		.admin_port = ADMIN_PORT,
		.start = start,
		.stop = stop,
		.reload = reload_files,
		.is_filter = is_filter,
		.filter = run_filter,
	};
	return daemon_main(&spec, &config, argc, argv);
}
