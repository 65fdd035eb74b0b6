// SPDX-License-Identifier: Apache-2.0
/*
 * sluice-proxy: runs one HAProxy or nginx on this machine, whose life must not depend on any process but the proxy itself.
 *
 * In: commands from a provider on supervisor.sock (README.md). Out: a proxy, started from the files that the provider has written, and
 * reports about it to everybody connected.
 *
 * Trusted with: the ports of the proxy, and starting programs. It opens no network socket and holds no credential. Of tenants' texts it reads passwords
 * and certificates of clients and what they have to fit, one at a time (checks.h).
 *
 * When a neighbour dies:
 *   provider    the proxy goes on serving; if it dies meanwhile it is restarted from the existing files.
 *   the master  its workers are drained, and it is restarted.
 *   a worker    its master starts another one, or ends, which is the case above.
 *   this one    the proxy goes on serving, if its container or unit permits; the next supervisor finds it.
 *
 * Read next: master.h, then orphans.h for what a killed master leaves behind.
 */
#include "common/command.h"
#include "common/files.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "proto/proxy_folder.h"
#include "provider-supervisor/access_lines.h"
#include "provider-supervisor/access_log.h"
#include "provider-supervisor/config.h"
#include "provider-supervisor/control.h"
#include "provider-supervisor/log_events.h"
#include "provider-supervisor/master.h"
#include "provider-supervisor/output.h"
#include "provider-supervisor/check_socket.h"
#include "provider-supervisor/predecessor.h"
#include "provider-supervisor/take_over.h"
#include "provider-supervisor/traffic_socket.h"
#include "provider-supervisor/workers.h"

#include <signal.h>
#include <sys/prctl.h>

static const double workers_every_s = 10;
static const double folder_every_s = 1;

static struct config config;

static struct supervisor {
	struct daemon *daemon;
	const struct kind *kind;
	struct kind_folders folders;
	struct master *master;
	struct control *control;
	struct output *output;
	struct access_log *access_log;
	struct access_lines *access_lines;
	struct check_socket *checks;
	struct traffic_counts *counts;
	struct traffic_socket *traffic_socket;
	struct take_over *take_over;
	struct command *check;
	struct client *asker; /* who asked for the check; NULL: gone */
	ev_timer look;        /* for old workers */
	ev_timer look_folder;
	int folder;        /* the state folder, held; negative: not seen yet */
	bool is_outside;   /* it was made anew before we saw it */
	ev_signal release; /* another proxy takes our place */
	bool is_draining;
	bool is_released;
	double stop_timeout;
} supervisor = {.folder = -1};

/* ---- state of the proxy ---- */

static void tell_up(struct client *client, const char *how)
{
	control_tell(supervisor.control, client, "up\t%d\t%s\t%s",
		(int)master_pid(supervisor.master), how, master_dir(supervisor.master));
}

static void on_launch(void *ctx, struct listeners *listeners)
{
	take_over_fetch(supervisor.take_over, listeners);
	if (supervisor.kind->lines_file != NULL)
		access_lines_renew(supervisor.access_lines);
}

static void on_up(void *ctx, pid_t pid, bool is_found, const char *dir)
{
	if (!is_found)
		output_mark(supervisor.output);
	daemon_set_missing(supervisor.daemon, NULL);
	tell_up(NULL, is_found ? "found" : "started");
}

static void on_down(void *ctx, const char *why, double again_s)
{
	output_look(supervisor.output);
	daemon_set_missing(supervisor.daemon, "the proxy");
	control_tell(supervisor.control, NULL, "down\t%.3f\t%s\t%s", again_s, why,
		output_last(supervisor.output));
}

static void on_words(void *ctx)
{
	control_tell(supervisor.control, NULL, "words\t%s", output_last(supervisor.output));
}

static void end_old_workers(size_t reloads_max)
{
	pid_t master = master_pid(supervisor.master);
	size_t ended = master != 0 ? workers_end_old(supervisor.kind, master, reloads_max) : 0;
	if (ended != 0)
		log_event(&EV_WORKER_ENDED, LOG_INT("ended", (int64_t)ended));
}

static void on_look(struct ev_loop *loop, ev_timer *watcher, int events)
{
	end_old_workers(WORKERS_OLD_MAX);
}

/* A folder re-created under the same name is not covered by the sandbox that the proxy inherits from us, as we did from our provider: it may have died, and its
 * folder have gone, before we have seen either. */
static bool has_lost_folder(void)
{
	if (supervisor.folder < 0) {
		supervisor.folder = files_hold_folder(supervisor.folders.state_dir);
		supervisor.is_outside = files_is_denied(supervisor.folders.state_dir);
	}
	return supervisor.folder >= 0 &&
	       (supervisor.is_outside ||
		       files_is_replaced(supervisor.folder, supervisor.folders.state_dir));
}

/* Ends with a failure, so that another one is started, and leaves the proxy to that. */
static void leave_to_next(void)
{
	supervisor.is_released = true;
	daemon_fail(supervisor.daemon);
}

static void end_if_lost(void)
{
	if (supervisor.is_draining || supervisor.is_released || !has_lost_folder())
		return;
	log_event(&EV_FOLDER_REPLACED, LOG_STR("folder", supervisor.folders.state_dir));
	leave_to_next();
}

static void on_socket_gone(void *ctx, const char *path, bool is_inherited)
{
	log_event(&EV_SOCKET_GONE, LOG_STR("socket", path));
	/* The next one would get one of the service manager's as it is. */
	if (!is_inherited && !supervisor.is_draining && !supervisor.is_released)
		leave_to_next();
}

/* Nobody serves, and perhaps no provider is there to write new files: the existing ones are better than nothing. */
static void end_if_alone(void)
{
	if (take_over_is_pending(supervisor.take_over) && master_pid(supervisor.master) == 0 &&
		!supervisor.is_draining && !take_over_is_there(supervisor.take_over))
		master_start(supervisor.master, false);
}

/* Our provider is connected, and needs the other one's connection to the translator. */
static void ask_to_yield(void)
{
	if (!supervisor.is_draining && take_over_ask(supervisor.take_over) != 0)
		daemon_fail(supervisor.daemon);
}

static void on_look_folder(struct ev_loop *loop, ev_timer *watcher, int events)
{
	end_if_lost();
	end_if_alone();
	if (control_has_clients(supervisor.control))
		ask_to_yield();
}

/* ---- commands ---- */

static void refuse(struct client *client, const char *command, const char *why)
{
	log_event(&EV_COMMAND_REFUSED, LOG_STR("command", command), LOG_STR("reason", why));
	control_tell(supervisor.control, client, "refused\t%s\t%s", command, why);
}

static void on_checked(void *ctx, enum command_outcome outcome, struct str output)
{
	static const char *const words[] = {
		[COMMAND_SUCCEEDED] = "good",
		[COMMAND_FAILED] = "bad",
		[COMMAND_KILLED] = "killed",
		[COMMAND_TIMEOUT] = "late",
		[COMMAND_UNSTARTED] = "unstarted",
	};
	supervisor.check = NULL;
	if (supervisor.asker == NULL)
		return;
	control_tell(supervisor.control, supervisor.asker, "checked\t%s\t%zu", words[outcome],
		output.len);
	control_tell_bytes(supervisor.control, supervisor.asker, output);
}

/* The newest check counts: earlier clients no longer wait for theirs. */
static void check(struct client *client, double limit_s)
{
	struct kind_command command;
	command_cancel(supervisor.check);
	supervisor.asker = client;
	kind_check_command(supervisor.kind, &supervisor.folders, &command);
	supervisor.check = command_start(daemon_loop(supervisor.daemon), command.argv,
		limit_s > 0 ? limit_s : 1, on_checked, NULL);
	kind_command_fini(&command);
}

static void start_proxy(struct client *client)
{
	if (master_pid(supervisor.master) == 0 && !master_has_configuration(supervisor.master))
		refuse(client, "start", "there are no files to start from");
	else
		master_start(supervisor.master, true);
}

static void reload(struct client *client)
{
	/* The workers that serve now become old ones. */
	end_old_workers(WORKERS_OLD_MAX - 1);
	int err = master_reload(supervisor.master);
	if (err != 0)
		refuse(client, "reload", strerrordesc_np(-err));
}

/* ---- being replaced by another proxy ---- */

static void hand_over(struct client *client)
{
	struct listeners listeners = {0};
	int err = master_listeners(supervisor.master, &listeners);
	if (err != 0 && err != -ESRCH)
		refuse(client, "listeners", strerrordesc_np(-err));
	else
		control_hand_over(client, &listeners);
	listeners_fini(&listeners);
}

static void stop_soon(double limit_s)
{
	supervisor.stop_timeout = limit_s;
	ev_break(daemon_loop(supervisor.daemon), EVBREAK_ALL);
}

static void on_taken(struct str by)
{
	const char *name = str_eq_c(by, "haproxy") ? "HAProxy"
			   : str_eq_c(by, "nginx") ? "nginx"
						   : "a proxy";
	log_event(&EV_TAKEN_OVER, LOG_STR("by", name));
	control_tell(supervisor.control, NULL, "taken\t%s", name);
	stop_soon(config.stop_timeout);
}

/* ---- dispatch ---- */

static double seconds_of(struct str argument)
{
	char text[CONTROL_COMMAND_LEN_MAX + 1];
	str_put(text, argument);
	text[argument.len] = 0;
	return strtod(text, NULL);
}

static void on_command(void *ctx, struct client *client, struct str word, struct str argument)
{
	end_if_lost();
	if (supervisor.is_released)
		return;
	if (str_eq_c(word, "start"))
		start_proxy(client);
	else if (str_eq_c(word, "well"))
		master_is_well(supervisor.master);
	else if (str_eq_c(word, "check"))
		check(client, seconds_of(argument));
	else if (str_eq_c(word, "reload"))
		reload(client);
	else if (str_eq_c(word, "workers"))
		control_tell(supervisor.control, client, "workers\t%zu",
			workers_count_taking(master_pid(supervisor.master)));
	else if (str_eq_c(word, "replace"))
		master_replace(supervisor.master);
	else if (str_eq_c(word, "stop"))
		stop_soon(seconds_of(argument));
	else if (str_eq_c(word, "listeners"))
		hand_over(client);
	else if (str_eq_c(word, "yield"))
		control_tell(supervisor.control, NULL, "yield\t%d", TAKE_OVER_YIELD_S);
	else if (str_eq_c(word, "take-over"))
		take_over_finish(supervisor.take_over, supervisor.kind->name);
	else if (str_eq_c(word, "leave"))
		take_over_leave(supervisor.take_over);
	else if (str_eq_c(word, "taken"))
		on_taken(argument);
	else
		refuse(client, "?", "there is no such command");
}

static void tell_inherited(struct client *client)
{
	struct listeners listeners;
	char address[LISTENERS_ADDRESS_MAX];
	take_over_fetch(supervisor.take_over, &listeners);
	for (size_t i = 0; i < listeners.count; i++) {
		if (listeners_describe(listeners.fds[i], address))
			control_tell(supervisor.control, client, "inherits\t%s", address);
	}
	listeners_fini(&listeners);
}

static void on_client(void *ctx, struct client *client)
{
	control_tell(supervisor.control, client, "sluice-proxy\t%s\t%s", SLUICE_VERSION,
		supervisor.kind->name);
	tell_inherited(client);
	ask_to_yield();
	if (master_pid(supervisor.master) != 0)
		tell_up(client, master_is_adopted(supervisor.master) ? "found" : "running");
	else
		control_tell(supervisor.control, client, "none");
	control_tell(supervisor.control, client, "words\t%s", output_last(supervisor.output));
}

static void on_gone(void *ctx, struct client *client)
{
	if (supervisor.asker == client)
		supervisor.asker = NULL;
}

static void on_release(struct ev_loop *loop, ev_signal *watcher, int events)
{
	/* The limit of a drain is kept by whoever began it. */
	if (supervisor.is_draining)
		return;
	log_event(&EV_RELEASED);
	supervisor.is_released = true;
	ev_break(loop, EVBREAK_ALL);
}

/* ---- lifecycle ---- */

static char *make_folder(const char *path)
{
	int err = files_make_dir(path, supervisor.kind->dir_mode);
	return err == 0 || files_exist(path) ? NULL
					     : xasprintf("the folder %.400s cannot be made: %s",
						       path, files_problem(err));
}

static char *listen_for_commands(void)
{
	static const struct control_ops ops = {on_client, on_command, on_gone, on_socket_gone};
	int err = 0;
	char *path = xasprintf("%s/" SUPERVISOR_SOCKET, supervisor.folders.proxy_dir);
	char *problem = NULL;
	supervisor.control = control_new(daemon_loop(supervisor.daemon), path, &ops, NULL, &err);
	if (supervisor.control == NULL)
		problem = xasprintf("%.400s: %s", path,
			err == -EADDRINUSE ? "another sluice-proxy serves this folder"
					   : strerrordesc_np(-err));
	free(path);
	return problem;
}

static void start_access_log(void)
{
	struct ev_loop *loop = daemon_loop(supervisor.daemon);
	const char *dir = supervisor.folders.proxy_dir;
	const char *name = supervisor.kind->lines_file;
	char *file = xasprintf("%s/%s", dir, supervisor.kind->access_log_file);
	char *path = xasprintf("%s/%s", dir, name != NULL ? name : supervisor.kind->traffic_file);
	supervisor.access_log = access_log_new(loop, file, config.access_log_to);
	supervisor.access_lines =
		access_lines_new(loop, path, name != NULL ? file : NULL, supervisor.counts);
	free(path);
	free(file);
}

/* Without the socket the proxy serves as before, but for those who need a password or a certificate. */
static void start_checks(void)
{
	const char *name = supervisor.kind->check_socket;
	int err = 0;
	if (name == NULL)
		return;
	char *path = xasprintf("%s/%s", supervisor.folders.proxy_dir, name);
	supervisor.checks =
		check_socket_new(daemon_loop(supervisor.daemon), path, on_socket_gone, NULL, &err);
	if (err != 0)
		log_event(&EV_CHECKS_FAILED, LOG_STR("file", path), LOG_ERRNO(err));
	free(path);
}

/* For the provider. */
static void start_counting(void)
{
	int err = 0;
	supervisor.counts = traffic_counts_new();
	char *path = xasprintf("%s/" TRAFFIC_SOCKET, supervisor.folders.proxy_dir);
	supervisor.traffic_socket = traffic_socket_new(daemon_loop(supervisor.daemon), path,
		supervisor.counts, on_socket_gone, NULL, &err);
	if (err != 0)
		log_event(&EV_TRAFFIC_SOCKET_FAILED, LOG_STR("file", path), LOG_ERRNO(err));
	free(path);
}

static void start_master(void)
{
	static const struct master_ops ops = {on_launch, on_up, on_down};
	struct ev_loop *loop = daemon_loop(supervisor.daemon);
	struct master_config master_config = {
		.loop = loop,
		.kind = supervisor.kind,
		.folders = supervisor.folders,
		.ops = &ops,
	};
	char *log_file =
		xasprintf("%s/%s", supervisor.folders.proxy_dir, supervisor.kind->log_file);
	supervisor.output = output_new(loop, log_file, config.show_output, on_words, NULL);
	free(log_file);
	start_counting();
	start_access_log();
	start_checks();
	supervisor.master = master_new(&master_config);
	ev_timer_init(&supervisor.look, on_look, workers_every_s, workers_every_s);
	ev_timer_start(loop, &supervisor.look);
	(void)has_lost_folder();
	ev_timer_init(&supervisor.look_folder, on_look_folder, folder_every_s, folder_every_s);
	ev_timer_start(loop, &supervisor.look_folder);
}

static char *start(struct daemon *daemon, void *configuration, bool *ret_usage)
{
	supervisor.daemon = daemon;
	supervisor.kind = kind_get((enum kind_id)config.proxy);
	supervisor.folders = config_folders(&config);
	supervisor.stop_timeout = config.stop_timeout;
	ev_signal_init(&supervisor.release, on_release, SIGUSR1);
	ev_signal_start(daemon_loop(daemon), &supervisor.release);
	predecessor_end(supervisor.folders.state_dir);
	char *problem = make_folder(supervisor.folders.proxy_dir);
	if (problem == NULL)
		problem = listen_for_commands();
	if (problem != NULL)
		return problem;
	/* Workers of a dead master become our children, so that we can wait for them. */
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1);
	supervisor.take_over = take_over_new(config.take_over, supervisor.folders.proxy_dir);
	start_master();
	daemon_set_missing(daemon, "a configuration, which the provider writes");
	/* The files may be old, and the other proxy serves. */
	if (take_over_is_pending(supervisor.take_over))
		(void)master_find(supervisor.master);
	else
		master_start(supervisor.master, false);
	return NULL;
}

static void stop(void)
{
	control_stop_listening(supervisor.control);
	supervisor.is_draining = true;
	if (!supervisor.is_released)
		master_drain(supervisor.master, supervisor.stop_timeout);
	command_cancel(supervisor.check);
	ev_timer_stop(daemon_loop(supervisor.daemon), &supervisor.look);
	ev_timer_stop(daemon_loop(supervisor.daemon), &supervisor.look_folder);
	if (supervisor.folder >= 0)
		(void)close(supervisor.folder);
	control_free(supervisor.control);
	master_free(supervisor.master);
	output_free(supervisor.output);
	access_lines_free(supervisor.access_lines);
	check_socket_free(supervisor.checks);
	access_log_free(supervisor.access_log);
	traffic_socket_free(supervisor.traffic_socket);
	traffic_counts_free(supervisor.counts);
	take_over_free(supervisor.take_over);
}

int main(int argc, char **argv)
{
	static const struct daemon_spec spec = {
		.options = &config_table,
		.common_offset = offsetof(struct config, common),
		.admin_port = ADMIN_PORT,
		.start = start,
		.stop = stop,
	};
	return daemon_main(&spec, &config, argc, argv);
}
