// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-provider-nginx: runs nginx on this machine so that it serves what the translator wants, and tells where traffic enters.
 *
 * In: load balancers, virtual hosts, pools and certificates (with their keys) from the translator by provider.sock. Out: rows to
 * nginx over its control socket, and the same to the state file; nginx.conf, for what rows cannot say; statuses to the translator.
 *
 * Trusted with: the private keys of certificates, which stand in the state file (mode 0600), and with the ports that nginx listens on. Started
 * as root only for ports below 1024; nginx's workers then run as another user. It opens no network socket of its own but to try
 * whether a port is free, and to ask for the addresses of host names that are backends.
 *
 * When a neighbour dies:
 *   translator  nothing changes; what was wanted last stays in force. After it is back its snapshot is compared.
 *   nginx       is started again, with the state file, and then gets what that may lack.
 *   this one    nginx goes on serving. The next one finds it by its pid, asks what it has, and changes only what differs.
 *   the disk    nginx gets every change all the same; the file follows when it can.
 *
 * Read next: feed.h for what needs no reload, setup.h for what does, lua/sluice/request.lua for the way of a request.
 */
#include "common/version.h"
#include "common/xalloc.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/proxy.h"
#include "provider-nginx/config.h"
#include "provider-nginx/feed.h"
#include "provider-nginx/folders.h"
#include "provider-nginx/filter.h"
#include "provider-nginx/liveness.h"
#include "provider-nginx/kept_routes.h"
#include "provider-nginx/late_checks.h"
#include "provider-nginx/log_events.h"
#include "provider-nginx/repair.h"
#include "provider-nginx/setup.h"
#include "provider-nginx/temp_folders.h"
#include "provider-nginx/trust_files.h"
#include "provider-nginx/wanted.h"

#include <signal.h>
#include <unistd.h>

enum { DICTIONARY_MB_MAX = 16384 };
static const double ports_look_s = 2;
static const double trust_again_s = 0.02;
/* A worker that hangs does not leave; then the new CAs are used all the same. */
enum { TRUSTED_TRIES_MAX = 100 };

static struct config config;

static struct control_room {
	struct daemon *daemon;
	struct local *local;
	struct objects *objects;
	struct late_checks *late_checks;
	struct feed *feed;
	struct setup *setup;
	struct wanted *wanted;
	struct proxy *proxy;
	struct repair repair;
	struct liveness liveness;
	struct probe *probe;
	uint64_t heard; /* generation whose listeners are asked */
	struct conf_options options;
	/* The file that was found names sockets in the state folder, as without --proxy-dir. nginx keeps them as long as it lives: its sandbox
	 * knows no other folder. */
	bool is_former;
	ev_timer ports_look;
	struct kept_routes kept_routes;
	bool is_up;
	bool is_elsewhere; /* its sandbox knows a state folder that was removed: it cannot load from ours */
	bool has_told; /* what it runs is known, or there is no hope to hear it */
	bool has_ports; /* those of the configuration: it ran with them last, and has not failed to start since */
	bool is_complete; /* a snapshot has been committed */
	uint64_t trusted; /* generation whose CAs are known to be there */
	uint64_t told;    /* one that a worker has told; others may not have it yet */
	unsigned trusted_tries;
	ev_timer trust_again;
} room;

/* ---- statuses ---- */

static void listen_in(void)
{
	if (!setup_is_settled(room.setup) || room.heard == room.told)
		return;
	room.heard = room.told;
	liveness_on_loaded(room.probe, wanted_ports(room.wanted), setup_file(room.setup));
}

static bool is_served(void)
{
	return setup_is_settled(room.setup) && feed_is_settled(room.feed) &&
	       !objects_are_waiting(room.objects) && room.trusted == room.told;
}

static void judge(void)
{
	const char *trouble = setup_trouble(room.setup);
	if (trouble == NULL)
		trouble = feed_trouble(room.feed);
	if (room.has_told)
		local_set_missing(room.local, probe_trouble(room.probe));
	if (!room.is_complete)
		return;
	listen_in();
	if (trouble == NULL && is_served() && probe_is_heard(room.probe))
		proxy_serves(room.proxy, wanted_ports(room.wanted));
	if (trouble == NULL)
		trouble = probe_trouble(room.probe);
	if (room.repair.is_folder_gone)
		trouble = "the state folder was removed, and cannot be made again";
	/* The workers of the configuration before take no connections any more. */
	if (setup_is_settled(room.setup) &&
		conf_is_generation(setup_file(room.setup), room.trusted))
		kept_routes_end(&room.kept_routes);
	if (trouble != NULL)
		local_failed(room.local, trouble);
	else if (!is_served() || probe_is_pending(room.probe))
		local_pending(room.local, NULL);
	else if (feed_disk_trouble(room.feed) != NULL)
		local_pending(room.local, feed_disk_trouble(room.feed));
	else
		local_applied(room.local);
}

static void on_change(void *ctx)
{
	(void)ctx;
	if (room.probe != NULL)
		judge();
}

/* ---- rows ---- */

/* nginx runs with the CAs of its file. What pools have waited for can be told now; and what they need no more goes. */
static void use_trusts(uint64_t generation)
{
	struct state *state = local_state(room.local);
	ev_timer_stop(local_loop(room.local), &room.trust_again);
	room.trusted_tries = 0;
	room.trusted = generation;
	if (objects_set_live(room.objects, state, setup_file(room.setup)) && room.is_complete)
		feed_kick(room.feed, state);
	/* Before the first snapshot nobody knows who is needed. */
	if (room.is_complete)
		trust_files_sweep(config.local.state_dir, objects_trusts(room.objects));
	if (trusts_take_change(objects_trusts(room.objects)))
		setup_touch(room.setup);
	judge();
}

/* nginx tells its old workers to leave 100 ms after it has made the new ones, and until then both take connections. The old ones know
 * nothing of new CAs, and would answer 503 where a pool wants one. So its workers are counted first. */
static void trust_when_alone(uint64_t generation)
{
	if (generation == room.trusted || !conf_is_generation(setup_file(room.setup), generation))
		return;
	room.told = generation;
	if (!room.is_up || room.trusted_tries++ >= TRUSTED_TRIES_MAX) {
		use_trusts(generation);
		return;
	}
	proxy_count_workers(room.proxy);
	ev_timer_again(local_loop(room.local), &room.trust_again);
}

static void on_workers(void *ctx, size_t taking)
{
	long usual = config.workers != 0 ? (long)config.workers : sysconf(_SC_NPROCESSORS_ONLN);
	(void)ctx;
	if (room.told != room.trusted && taking <= (size_t)usual &&
		conf_is_generation(setup_file(room.setup), room.told))
		use_trusts(room.told);
}

static void on_trust_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)events;
	ev_timer_stop(loop, watcher);
	trust_when_alone(room.told);
}

static void on_told(void *ctx, const struct control_answer *answer)
{
	uint64_t generation = answer->generation;
	(void)ctx;
	late_checks_set(room.late_checks, local_state(room.local), answer->late);
	proxy_is_well(room.proxy);
	probe_control_answered(room.probe);
	room.has_told = true;
	room.has_ports = true;
	room.told = generation;
	setup_told(room.setup, generation);
	trust_when_alone(generation);
	if (setup_is_settled(room.setup) && wanted_is_leaving(room.wanted))
		setup_touch(room.setup);
	judge();
}

static void on_full(void *ctx)
{
	(void)ctx;
	if (room.options.dictionary_mb >= DICTIONARY_MB_MAX) {
		log_event(&EV_DICTIONARY_LIMIT);
		return;
	}
	room.options.dictionary_mb *= 2;
	setup_touch(room.setup);
}

/* Somebody has removed the socket, or it cannot be reached for another reason: it is made anew under its other name. */
static void on_lost(void *ctx)
{
	(void)ctx;
	if (!room.is_up || !room.is_complete)
		return;
	log_event(&EV_CONTROL_MOVED);
	room.has_told = true;
	room.options.control = room.options.control == 'a' ? 'b' : 'a';
	setup_touch(room.setup);
}

static const struct feed_ops feed_ops = {on_change, on_told, on_full, on_lost};

/* ---- the configuration ---- */

static const struct conf *collect(void *ctx)
{
	(void)ctx;
	if (!room.is_complete || !proxy_is_known(room.proxy) || (room.is_up && !room.has_told))
		return NULL;
	struct ports_proxy nginx = {
		.held = room.is_up || room.has_ports ? wanted_held(room.wanted) : NULL,
		.inherited = proxy_inherited(room.proxy),
		.master = proxy_pid(room.proxy),
	};
	const struct conf *conf = wanted_collect(room.wanted, &nginx);
	local_set_ports(room.local, conf->ports);
	/* nginx says what is missing, and it is tried again. */
	(void)trust_files_write(config.local.state_dir, objects_trusts(room.objects));
	probe_want_rows(room.probe, conf->ports);
	feed_kick(room.feed, local_state(room.local));
	return conf;
}

static bool reload(void *ctx)
{
	(void)ctx;
	wanted_keep(room.wanted, setup_candidate(room.setup));
	char *path = conf_control_path(&room.options);
	feed_set_socket(room.feed, path);
	free(path);
	if (room.is_elsewhere) {
		log_event(&EV_PROXY_MOVED);
		proxy_replace(room.proxy);
		return true;
	}
	if (room.is_up)
		return proxy_reload(room.proxy) == 0;
	/* All routes are in the file that it starts with: it may have connections at once, out of sockets that another one has opened. */
	feed_prepare(room.feed);
	proxy_start(room.proxy);
	return true;
}

static void ask(void *ctx)
{
	(void)ctx;
	feed_ask(room.feed);
}

static const char *last_output(void *ctx)
{
	(void)ctx;
	return proxy_last_output(room.proxy);
}

static void check(void *ctx, command_done *on_done, void *done_ctx)
{
	(void)ctx;
	proxy_check(room.proxy, config.local.check_timeout, on_done, done_ctx);
}

static const struct setup_ops setup_ops = {collect, check, reload, ask, on_change, last_output};

/* Whether ports can still be had, or again. */
static void on_ports_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)watcher;
	(void)events;
	if (!room.is_complete || !ports_have_changed(wanted_ports(room.wanted)))
		return;
	local_pending(room.local, NULL);
	setup_touch(room.setup);
}

/* ---- nginx ---- */

static void on_up(void *ctx, enum proxy_origin origin, const char *dir)
{
	(void)ctx;
	(void)dir;
	room.is_up = true;
	room.has_told = false;
	room.is_elsewhere = origin != PROXY_STARTED && local_has_new_folder(room.local);
	room.options.proxy_dir =
		str_from(origin == PROXY_FOUND && room.is_former ? config.local.state_dir
								 : local_proxy_dir(&config.local));
	log_event(&EV_NGINX_UP, LOG_INT("pid", proxy_pid(room.proxy)),
		LOG_STR("how", origin == PROXY_STARTED ? "started" : "found"));
	/* Its supervisor may have started it before we have looked at the files. */
	if (!setup_has_file(room.setup))
		wanted_assume_any(room.wanted);
	probe_set_proxy(room.probe, true);
	feed_set_nginx(room.feed, true);
}

static void on_down(void *ctx, const char *why, const char *words, double again_s)
{
	(void)ctx;
	room.is_up = false;
	/* One that ran may leave workers that die a moment later, and still listen; one that could not start may lack a port. */
	room.has_ports = room.has_ports && room.has_told;
	log_event(&EV_NGINX_DOWN, LOG_STR("reason", why), LOG_SECONDS("again_s", again_s),
		LOG_STR("words", words));
	local_set_missing(room.local, "nginx");
	probe_set_proxy(room.probe, false);
	feed_set_nginx(room.feed, false);
	/* nginx comes back with what is wanted now, and not with what was when it died. */
	feed_prepare(room.feed);
	(void)repair_files(&room.repair);
	setup_nginx_down(room.setup);
}

static void on_none(void *ctx)
{
	(void)ctx;
	if (room.is_complete)
		setup_touch(room.setup);
}

static void on_unreachable(void *ctx, const char *socket)
{
	(void)ctx;
	log_event(&EV_SUPERVISOR_MISSING, LOG_STR("socket", socket));
	local_set_missing(room.local, "sluice-proxy, which runs nginx");
}

/* ---- the translator ---- */

static void on_commit(void *ctx, const struct state_commit *commit)
{
	(void)ctx;
	room.is_complete = room.repair.is_complete = room.is_complete || commit->is_snapshot;
	objects_on_commit(room.objects, local_state(room.local), commit);
	bool is_changed = wanted_is_changed(room.wanted, commit) || room.repair.has_substitutes;
	room.options.reloads += room.repair.has_substitutes;
	room.repair.has_substitutes = false;
	is_changed = trusts_take_change(objects_trusts(room.objects)) || is_changed;
	if (is_changed) {
		if (ports_names_former(setup_file(room.setup), local_state(room.local)))
			kept_routes_begin(&room.kept_routes);
		setup_touch(room.setup);
	}
	feed_kick(room.feed, local_state(room.local));
	judge();
}

static void on_pool(void *ctx, struct object *pool)
{
	(void)ctx;
	objects_on_pool(room.objects, local_state(room.local), pool);
	feed_kick(room.feed, local_state(room.local));
	if (wanted_has_pool(room.wanted, pool))
		setup_touch(room.setup);
	judge();
}

static const struct local_ops local_ops = {
	.on_commit = on_commit, .on_pool = on_pool, .drops_unusable = true};

/* ---- life ---- */

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
		.supervisor = local_supervisor(room.local),
		.state_dir = config.local.state_dir,
		.proxy_dir = local_proxy_dir(&config.local),
		.take_over = config.local.take_over,
		.local = room.local,
		.ops = &ops,
	};
	room.proxy = proxy_new(&proxy_config);
}

static void make_rooms(struct ev_loop *loop)
{
	char *state_file = local_path(room.local, "state");
	room.options.control = 'a';
	char *socket = conf_control_path(&room.options);
	struct feed_config feed_config = {
		.loop = loop,
		.state_file = state_file,
		.socket_path = socket,
		.routes = local_rows(room.local),
		.objects = room.objects,
		.ops = &feed_ops,
	};
	struct setup_config setup_config = {
		.loop = loop,
		.state_dir = config.local.state_dir,
		.interval_s = {config.reload_interval, config.local.reload_interval_max},
		.notices = local_notices(room.local),
		.ops = &setup_ops,
	};
	room.feed = feed_new(&feed_config);
	kept_routes_init(&room.kept_routes, loop, room.feed);
	room.setup = setup_new(&setup_config);
	room.repair = (struct repair){.local = room.local,
		.config = &config,
		.on_change = judge,
		.setup = room.setup,
		.feed = room.feed,
		.trusts = objects_trusts(room.objects)};
	room.is_former = folders_are_former(room.local, &config, setup_file(room.setup));
	make_proxy(loop);
	room.liveness = (struct liveness){.local = room.local,
		.feed = room.feed,
		.proxy = room.proxy,
		.timeout_s = config.local.proxy_timeout,
		.on_change = judge};
	room.probe = liveness_start(&room.liveness);
	free(state_file);
	free(socket);
}

/* nginx listens where its file says, until it has another one. */
static void find_control(struct str file)
{
	struct str control = conf_read_control(file);
	if (str_is_empty(control))
		return;
	char *path = str_dup(control);
	room.options.control = str_ends_with(control, STR("-b.sock")) ? 'b' : 'a';
	feed_set_socket(room.feed, path);
	free(path);
}

static void start_all(struct ev_loop *loop)
{
	make_rooms(loop);
	struct str file = setup_file(room.setup);
	room.options.reloads = conf_read_reloads(file);
	wanted_assume(room.wanted, file);
	(void)objects_set_live(room.objects, local_state(room.local), file);
	find_control(file);
	repair_load_state(&room.repair);
	/* Rows need several times their size: an enlarged dictionary stays so after a start. */
	while (room.options.dictionary_mb < DICTIONARY_MB_MAX &&
		(uint64_t)room.options.dictionary_mb * 1024 * 1024 / 3 < feed_size(room.feed))
		room.options.dictionary_mb *= 2;
	ev_timer_init(&room.ports_look, on_ports_look, ports_look_s, ports_look_s);
	ev_timer_start(loop, &room.ports_look);
	ev_timer_init(&room.trust_again, on_trust_again, 0., trust_again_s);
	local_set_missing(room.local, "nginx");
	repair_watch(&room.repair);
	/* Before its supervisor, which we may be about to start, meets the files. */
	if (repair_files(&room.repair))
		proxy_start_from_files(room.proxy);
}

static void reload_files(void)
{
	if (config_read_trusted(&config, &room.options))
		setup_touch(room.setup);
}

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	(void)configuration;
	char *problem = config_check(&config);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	room.daemon = daemon;
	/* A file that may not grow is to be an error like a full disk. */
	signal(SIGXFSZ, SIG_IGN);
	struct local_config local_config = {
		.daemon = daemon,
		.options = &config.local,
		.name = "nginx",
		.software = "sluice-provider-nginx " SLUICE_VERSION,
		.proxy = {config.nginx, config.lua_dir, config.modules_dir,
			config.trusted_certificates},
		.folder_mode = folders_mode(),
		.ops = &local_ops,
	};
	config_fill(&config, &room.options);
	(void)config_read_trusted(&config, &room.options);
	room.local = local_start(&local_config, &problem, ret_usage);
	if (room.local == NULL)
		return problem;
	room.objects = objects_new(local_notices(room.local), local_externals(room.local),
		!str_is_empty(room.options.system_ca));
	room.late_checks = late_checks_new(local_notices(room.local), room.objects);
	room.wanted = wanted_new(&(struct wanted_parts){
		.state = local_state(room.local),
		.rows = local_rows(room.local),
		.routes = local_routes(room.local),
		.notices = local_notices(room.local),
		.externals = local_externals(room.local),
		.publish = local_publish(room.local),
		.objects = room.objects,
		.options = &room.options,
	});
	problem = folders_make(room.local, &config);
	if (problem == NULL)
		start_all(daemon_loop(daemon));
	return problem;
}

static void end_nginx(void)
{
	double limit_s = config.local.stop_timeout;
	if (!proxy_is_up(room.proxy))
		return;
	log_event(&EV_NGINX_ENDING, LOG_INT("pid", proxy_pid(room.proxy)),
		LOG_SECONDS("limit_s", limit_s));
	if (!proxy_stop(room.proxy, limit_s))
		log_event(&EV_NGINX_CUT);
}

static void stop(void)
{
	struct ev_loop *loop = local_loop(room.local);
	ev_timer_stop(loop, &room.ports_look);
	repair_unwatch(&room.repair);
	kept_routes_fini(&room.kept_routes);
	probe_free(room.probe);
	proxy_cancel_check(room.proxy);
	setup_free(room.setup);
	feed_free(room.feed);
	wanted_free(room.wanted);
	late_checks_free(room.late_checks);
	objects_free(room.objects);
	local_free(room.local);
	if (config.local.stop_proxy && !daemon_has_failed(room.daemon))
		end_nginx();
	proxy_free(room.proxy);
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
