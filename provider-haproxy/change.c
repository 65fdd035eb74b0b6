// SPDX-License-Identifier: Apache-2.0
/*
 * Changes that need a start or a reload: written into the folder `staged` (links to the files in use, and the new ones in place of the old),
 * checked there by `haproxy -c`, then moved, and loaded. What is in use is never touched before the check.
 */
#include "provider-haproxy/change.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/flush.h"
#include "provider-haproxy/idle.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/pools.h"
#include "provider-haproxy/repair.h"
#include "provider-haproxy/sync.h"
#include "provider-proxy/checksum.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/metrics.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { LEFT_OUT_MAX = 1000 };

static const double reload_deadline_s = 60;

void change_update_main(struct engine *engine)
{
	pools_provide(engine);
	engine->had_default = certs_has_default(&engine->certs);
	struct render_input input = {
		.state_dir = engine->config->local.state_dir,
		.proxy_dir = engine->proxy_dir,
		.socket = engine->socket,
		.system_ca = engine->config->trusted_certificates,
		.system_ca_digest = engine->trusted_digest,
		.ports = engine->ports,
		.group_count = engine->slots.group_count,
		.groups_layout = slots_layout(&engine->slots),
		.has_default = engine->had_default,
		.hard_stop_after_s = (unsigned)engine->config->hard_stop_after,
	};
	buf_clear(&engine->main);
	render_main(&engine->main, &input, engine->description);
	engine->is_main_stale = false;
}

bool change_is_needed(const struct engine *engine)
{
	bool is_down = engine->proxy != NULL && !proxy_is_up(engine->proxy);
	if (engine->proxy != NULL &&
		(!proxy_is_known(engine->proxy) || proxy_is_starting(engine->proxy)))
		return false;
	/* One that has died is started again from its files at first; when that does not help they are made anew, with the ports that can be
	 * had, see engine.c. */
	if (is_down)
		return engine->deaths == 0 || buf_len(&engine->installed) == 0 ||
		       (engine->deaths > 1 && !engine->are_ports_unsettled);
	if (engine->connection != CONNECTION_READY)
		return engine->config->socket != NULL && engine->connection == CONNECTION_DOWN &&
		       engine->running[0] == 0;
	return engine->is_reload_forced || strcmp(engine->running, engine->description) != 0;
}

static void fail(struct engine *engine, const char *why)
{
	engine_set_problem(engine, xstrdup(why));
	engine->change = CHANGE_NONE;
	ev_timer_stop(engine->loop, &engine->deadline);
	ev_timer_set(&engine->deadline, backoff_next(&engine->change_backoff), 0.);
	ev_timer_start(engine->loop, &engine->deadline);
	local_failed(engine->local, why);
}

static void disk_fail(struct engine *engine, int err, const char *what)
{
	char *why = xasprintf("%s: %s", what, files_problem(err));
	disk_failed(engine, err, what);
	fail(engine, why);
	free(why);
}

/* ---- the staged folder ---- */

static int clear_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;
	if (folder == NULL)
		return -errno;
	while ((entry = readdir(folder)) != NULL) {
		if (entry->d_name[0] != '.')
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
	closedir(folder);
	return 0;
}

static int link_all(const char *from, const char *to)
{
	DIR *folder = opendir(from);
	DIR *target = opendir(to);
	struct dirent *entry;
	int err = folder == NULL || target == NULL ? -errno : 0;
	while (folder != NULL && target != NULL && err == 0 && (entry = readdir(folder)) != NULL) {
		if (str_ends_with(str_from(entry->d_name), STR(".cfg")) &&
			linkat(dirfd(folder), entry->d_name, dirfd(target), entry->d_name, 0) != 0)
			err = -errno;
	}
	if (folder != NULL)
		closedir(folder);
	if (target != NULL)
		closedir(target);
	return err;
}

static int write_staged(struct engine *engine, const char *name, struct str content)
{
	char *file = xasprintf("staged/%s", name);
	char *path = engine_path(engine, file);
	/* Of a linked file the other name keeps the old content: the new one is renamed over this name. */
	int err = checksum_write(path, content, 0600);
	free(path);
	free(file);
	return err;
}

static void group_name(const struct group *group, char name[32])
{
	snprintf(name, 32, "slots-%05u.cfg", group->number);
}

static int stage_groups(struct engine *engine, bool is_all)
{
	int err = 0;
	for (size_t i = 0; i < engine->slots.group_count && err == 0; i++) {
		struct group *group = engine->slots.groups[i];
		struct buf content;
		char name[32];
		group->is_staged = !group->is_written || is_all;
		if (!group->is_staged)
			continue;
		group_name(group, name);
		buf_init(&content, RENDER_LEN_MAX);
		render_group(&content, group);
		err = write_staged(engine, name, buf_str(&content));
		buf_fini(&content);
	}
	return err;
}

/* Files beside the configuration that it names. */
static int write_rest(struct engine *engine, bool is_offline)
{
	int err = trust_files_write(&engine->trust);
	for (int table = 0; table < ROW_TABLE_COUNT && err == 0; table++) {
		if (is_offline || !rowfile_is_written(engine->files[table]))
			err = rowfile_write(engine->files[table]);
	}
	if (err == 0 && is_offline) {
		err = certs_write_all(&engine->certs);
		/* The default certificate may be in the list now. */
		change_update_main(engine);
	}
	return err;
}

static int stage(struct engine *engine, bool is_offline)
{
	char *live = engine_path(engine, "haproxy.d");
	char *staged = engine_path(engine, "staged");
	int err = write_rest(engine, is_offline);
	if (err == 0)
		err = clear_folder(staged);
	if (err == 0)
		err = link_all(live, staged);
	if (err == 0)
		err = stage_groups(engine, is_offline);
	if (err == 0)
		err = write_staged(engine, "00-main.cfg", buf_str(&engine->main));
	free(live);
	free(staged);
	return err;
}

void change_read_held(struct engine *engine)
{
	free(engine->held.items);
	engine->held = ports_read_sockets(buf_str(&engine->installed), RENDER_BIND);
}

static int move_one(struct engine *engine, const char *name)
{
	char *from_name = xasprintf("staged/%s", name);
	char *to_name = xasprintf("haproxy.d/%s", name);
	char *from = engine_path(engine, from_name);
	char *to = engine_path(engine, to_name);
	int err = rename(from, to) == 0 || errno == ENOENT ? 0 : -errno;
	free(from_name);
	free(to_name);
	free(from);
	free(to);
	return err;
}

/* Slots first: a main file never names what is not there. */
static int install(struct engine *engine)
{
	int err = 0;
	for (size_t i = 0; i < engine->slots.group_count && err == 0; i++) {
		struct group *group = engine->slots.groups[i];
		char name[32];
		group_name(group, name);
		/* One that was made while the check ran waits for the next. */
		if (!group->is_staged)
			continue;
		err = move_one(engine, name);
		group->is_written = group->is_written || err == 0;
		group->is_staged = false;
	}
	if (err == 0)
		err = move_one(engine, "00-main.cfg");
	if (err != 0)
		return err;
	buf_clear(&engine->installed);
	err = buf_append_str(&engine->installed, buf_str(&engine->main));
	engine->are_held_unknown = false;
	change_read_held(engine);
	return err;
}

/* ---- reload ---- */

/* The one that started the worker. */
static pid_t parent_of(long pid)
{
	struct buf stat;
	pid_t parent = 0;
	char *path = xasprintf("/proc/%ld/stat", pid);
	buf_init(&stat, 32 * 1024);
	if (files_read(path, &stat) == 0 && buf_append(&stat, "", 1) == 0) {
		/* "PID (NAME) STATE PARENT ...", where the name may hold anything. */
		const char *rest = strrchr(buf_str(&stat).p, ')');
		if (rest != NULL && strlen(rest) > 4)
			parent = (pid_t)strtol(rest + 4, NULL, 10);
	}
	buf_fini(&stat);
	free(path);
	return parent;
}

static int ask_reload(struct engine *engine)
{
	if (engine->proxy != NULL)
		return proxy_reload(engine->proxy);
	pid_t master = parent_of(engine->worker);
	if (master <= 1)
		return -ESRCH;
	return kill(master, SIGUSR2) == 0 ? 0 : -errno;
}

static void reload(struct engine *engine)
{
	log_event(&EV_RELOAD, LOG_STR("from", engine->running), LOG_STR("to", engine->description));
	engine->change = CHANGE_RELOADING;
	engine->old_worker = engine->worker;
	pace_step(&engine->pace, clock_monotonic_s());
	int err = ask_reload(engine);
	if (err != 0) {
		char *why =
			xasprintf("HAProxy cannot be asked to reload: %s", strerrordesc_np(-err));
		metric_add(&proxy_metrics[PROXY_RELOADS], 1, 1);
		log_event(&EV_RELOAD_FAILED, LOG_STR("reason", why));
		fail(engine, why);
		free(why);
		return;
	}
	sync_disconnect(engine, NULL);
	ev_timer_stop(engine->loop, &engine->deadline);
	ev_timer_set(&engine->deadline, reload_deadline_s, 0.);
	ev_timer_start(engine->loop, &engine->deadline);
	sync_connect(engine);
}

void change_on_worker(struct engine *engine, long worker)
{
	ev_timer_stop(engine->loop, &engine->deadline);
	engine->change = CHANGE_NONE;
	if (worker == 0)
		return;
	metric_add(&proxy_metrics[PROXY_RELOADS], 0, 1);
	slots_note_verified(&engine->slots);
	log_event(&EV_RELOADED, LOG_INT("pid", worker), LOG_STR("running", engine->running));
	engine->is_reload_forced = false;
	engine->is_fresh = true;
	disk_remove_former(engine);
	backoff_succeeded(&engine->change_backoff);
	engine_set_problem(engine, NULL);
}

static void on_deadline(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = watcher->data;
	(void)events;
	ev_timer_stop(loop, watcher);
	if (engine->change == CHANGE_RELOADING) {
		const char *words = engine->proxy != NULL ? proxy_last_output(engine->proxy) : "";
		metric_add(&proxy_metrics[PROXY_RELOADS], 1, 1);
		char *why = xasprintf(
			"HAProxy did not come back with the new configuration: %.300s", words);
		log_event(&EV_RELOAD_FAILED, LOG_STR("reason", why));
		fail(engine, why);
		free(why);
		sync_disconnect(engine, NULL);
		sync_connect(engine);
	}
	engine_wake(engine);
}

/* ---- the check ---- */

static void start_or_reload(struct engine *engine)
{
	if (engine->proxy != NULL && !proxy_is_up(engine->proxy)) {
		engine->change = CHANGE_NONE;
		engine->deaths = 0;
		/* Everything was written for it. */
		engine->is_reload_forced = false;
		slots_note_verified(&engine->slots);
		proxy_start(engine->proxy);
	} else if (engine->connection == CONNECTION_READY && engine->is_elsewhere) {
		engine->change = CHANGE_NONE;
		log_event(&EV_PROXY_MOVED);
		proxy_replace(engine->proxy);
	} else if (engine->connection == CONNECTION_READY) {
		reload(engine);
	} else {
		/* Somebody else's HAProxy that is not up finds its files when it comes. */
		engine->change = CHANGE_NONE;
		slots_note_verified(&engine->slots);
		snprintf(engine->running, sizeof(engine->running), "%s", engine->description);
	}
}

static const char *refusal_of(enum command_outcome outcome)
{
	switch (outcome) {
	case COMMAND_TIMEOUT:
		return "did not end";
	case COMMAND_KILLED:
	case COMMAND_UNSTARTED:
		return "could not look at the configuration";
	default:
		return "refuses the configuration";
	}
}

static void on_refused(struct engine *engine, enum command_outcome outcome, struct str output)
{
	char *text = str_dup_utf8((struct str){output.p, output.len < 1500 ? output.len : 1500});
	metric_add(&proxy_metrics[PROXY_RELOADS], 2, 1);
	log_event(&EV_CHECK_FAILED, LOG_STR("output", text));
	/* The certificates that are named are left out, and the rest is tried again at once. */
	if (outcome == COMMAND_FAILED && engine->left_out < LEFT_OUT_MAX &&
		(certs_leave_out(&engine->certs, output) || pools_leave_out(engine, output))) {
		engine->left_out++;
		engine->change = CHANGE_NONE;
	} else {
		char *why = xasprintf("`haproxy -c` %s: %.500s", refusal_of(outcome), text);
		fail(engine, why);
		free(why);
	}
	free(text);
}

static void on_checked(void *ctx, enum command_outcome outcome, struct str output)
{
	struct engine *engine = ctx;
	engine->check = NULL;
	if (outcome != COMMAND_SUCCEEDED) {
		on_refused(engine, outcome, output);
		engine_wake(engine);
		return;
	}
	int err = install(engine);
	if (err == 0)
		err = flush_files(engine);
	if (err != 0) {
		disk_fail(engine, err, "the configuration cannot be put in place");
		return;
	}
	engine->left_out = 0;
	start_or_reload(engine);
	engine_wake(engine);
}

/* By the program that serves, wherever that is; with --socket it is taken to be here. */
static void start_check(struct engine *engine)
{
	double timeout_s = engine->config->local.check_timeout;
	engine->change = CHANGE_CHECKING;
	if (engine->proxy != NULL) {
		proxy_check(engine->proxy, timeout_s, on_checked, engine);
		return;
	}
	char *staged = engine_path(engine, "staged");
	char *argv[] = {engine->config->haproxy, (char *)(uintptr_t) "-c", (char *)(uintptr_t) "-f",
		staged, NULL};
	engine->check = command_start(engine->loop, argv, timeout_s, on_checked, engine);
	free(staged);
}

static bool is_offline_now(const struct engine *engine)
{
	return engine->proxy != NULL ? !proxy_is_up(engine->proxy)
				     : engine->connection == CONNECTION_DOWN;
}

bool change_may_begin(struct engine *engine)
{
	/* Nobody waits for a start. */
	double wait_s =
		is_offline_now(engine) ? 0 : pace_wait_s(&engine->pace, clock_monotonic_s());
	if (wait_s <= 0)
		return true;
	if (!ev_is_active(&engine->next_reload)) {
		ev_timer_set(&engine->next_reload, wait_s, 0.);
		ev_timer_start(engine->loop, &engine->next_reload);
	}
	return false;
}

static void on_next_reload(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	engine_wake(watcher->data);
}

void change_begin(struct engine *engine)
{
	bool is_offline = is_offline_now(engine);
	if (idle_release(engine))
		change_update_main(engine);
	certs_begin(&engine->certs, !is_offline);
	(void)repair_files(engine);
	int err = stage(engine, is_offline);
	if (err != 0) {
		disk_fail(engine, err, "the configuration cannot be written");
		return;
	}
	disk_worked(engine);
	start_check(engine);
}

void change_init(struct engine *engine)
{
	ev_init(&engine->deadline, on_deadline);
	engine->deadline.data = engine;
	backoff_init(&engine->change_backoff, 1, 30);
	pace_init(&engine->pace, engine->config->reload_interval,
		engine->config->local.reload_interval_max);
	ev_init(&engine->next_reload, on_next_reload);
	engine->next_reload.data = engine;
}

void change_free(struct engine *engine)
{
	command_cancel(engine->check);
	proxy_cancel_check(engine->proxy);
	ev_timer_stop(engine->loop, &engine->deadline);
	ev_timer_stop(engine->loop, &engine->next_reload);
}
