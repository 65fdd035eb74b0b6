// SPDX-License-Identifier: Apache-2.0
/*
 * Changes that need a start or a reload are written into the folder `staged`, checked there by `haproxy -c`, moved into place, and loaded.
 * Files in use are not touched before the check. The very first start goes without it.
 */
#include "provider-haproxy/change.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/binds.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/flush.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/pools.h"
#include "provider-haproxy/repair.h"
#include "provider-haproxy/staged.h"
#include "common/files.h"
#include "provider-proxy/log_events.h"
#include "provider-proxy/metrics.h"
#include "provider-proxy/pace.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

enum { LEFT_OUT_MAX = 1000 };

static const double reload_deadline_s = 60;

enum change_state { CHANGE_NONE, CHANGE_CHECKING, CHANGE_RELOADING };

struct change {
	struct engine *engine;
	enum change_state state;
	struct command *check; /* with --socket we run it ourselves */
	ev_timer deadline;     /* of a reload; otherwise when to retry a change */
	struct backoff backoff;
	struct pace pace;     /* of reloads */
	ev_timer next_reload; /* the earliest time of the next one */
	unsigned left_out;    /* certificates left out so far */
	int sync_error;       /* of the files that are being checked; 0: none */
	bool is_unchecked; /* it was started from files that no check has seen, and has not answered */
};

bool change_is_needed(const struct engine *engine)
{
	bool is_down = engine->proxy != NULL && !proxy_is_up(engine->proxy);
	if (engine->proxy != NULL &&
		(!proxy_is_known(engine->proxy) || proxy_is_starting(engine->proxy)))
		return false;
	/* A dead HAProxy is first restarted from its files; if that does not help they are rewritten, with the ports that are available,
	 * see engine.c. */
	if (is_down)
		return engine->deaths == 0 || !main_file_is_installed(engine->main_file) ||
		       engine->change->is_unchecked ||
		       (engine->deaths > 1 && !binds_are_unsettled(engine->binds));
	const char *running = connection_running(engine->connection);
	if (!connection_is_ready(engine->connection))
		return engine->config->socket != NULL &&
		       connection_state(engine->connection) == CONNECTION_DOWN && running[0] == 0;
	return engine->is_reload_forced ||
	       strcmp(running, main_file_description(engine->main_file)) != 0;
}

static void end_change(struct engine *engine)
{
	engine->change->state = CHANGE_NONE;
	connection_expect_any_worker(engine->connection);
}

static void fail(struct engine *engine, const char *why)
{
	engine_set_problem(engine, xstrdup(why));
	end_change(engine);
	ev_timer_stop(engine->loop, &engine->change->deadline);
	ev_timer_set(&engine->change->deadline, backoff_next(&engine->change->backoff), 0.);
	ev_timer_start(engine->loop, &engine->change->deadline);
	local_failed(engine->local, why);
}

static void disk_fail(struct engine *engine, int err, const char *what)
{
	char *why = xasprintf("%s: %s", what, files_problem(err));
	disk_failed(engine->disk, err, what);
	fail(engine, why);
	free(why);
}

/* ---- reload ---- */

/* The master process. */
static pid_t parent_of(long pid)
{
	struct buf stat;
	pid_t parent = 0;
	char *path = xasprintf("/proc/%ld/stat", pid);
	buf_init(&stat, 32 * 1024);
	if (files_read(path, &stat) == 0 && buf_append(&stat, "", 1) == 0) {
		/* "PID (NAME) STATE PARENT ..."; the name may contain anything. */
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
	pid_t master = parent_of(connection_worker(engine->connection));
	if (master <= 1)
		return -ESRCH;
	return kill(master, SIGUSR2) == 0 ? 0 : -errno;
}

static void reload(struct engine *engine)
{
	log_event(&EV_RELOAD, LOG_STR("from", connection_running(engine->connection)),
		LOG_STR("to", main_file_description(engine->main_file)));
	engine->change->state = CHANGE_RELOADING;
	connection_expect_other_worker(engine->connection);
	pace_step(&engine->change->pace, clock_monotonic_s());
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
	connection_close(engine->connection, NULL);
	ev_timer_stop(engine->loop, &engine->change->deadline);
	ev_timer_set(&engine->change->deadline, reload_deadline_s, 0.);
	ev_timer_start(engine->loop, &engine->change->deadline);
	connection_open(engine->connection);
}

void change_on_worker(struct engine *engine, long worker)
{
	ev_timer_stop(engine->loop, &engine->change->deadline);
	end_change(engine);
	if (worker == 0)
		return;
	metric_add(&proxy_metrics[PROXY_RELOADS], 0, 1);
	slots_note_verified(&engine->slots);
	log_event(&EV_RELOADED, LOG_INT("pid", worker),
		LOG_STR("running", connection_running(engine->connection)));
	engine->is_reload_forced = false;
	connection_set_fresh(engine->connection);
	disk_remove_former(engine->disk, engine->proxy_dir);
	disk_remove_former_maps(engine->disk);
	backoff_succeeded(&engine->change->backoff);
	engine_set_problem(engine, NULL);
}

static void on_deadline(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = ((struct change *)watcher->data)->engine;
	ev_timer_stop(loop, watcher);
	if (engine->change->state == CHANGE_RELOADING) {
		const char *words = engine->proxy != NULL ? proxy_last_output(engine->proxy) : "";
		metric_add(&proxy_metrics[PROXY_RELOADS], 1, 1);
		char *why = xasprintf(
			"HAProxy did not come back with the new configuration: %s", words);
		log_event(&EV_RELOAD_FAILED, LOG_STR("reason", why));
		fail(engine, why);
		free(why);
		connection_close(engine->connection, NULL);
		connection_open(engine->connection);
	}
	engine_wake(engine);
}

/* ---- the check ---- */

static void start_or_reload(struct engine *engine)
{
	if (engine->proxy != NULL && !proxy_is_up(engine->proxy)) {
		engine->change->state = CHANGE_NONE;
		engine->deaths = 0;
		/* All files have been written for it. */
		engine->is_reload_forced = false;
		slots_note_verified(&engine->slots);
		proxy_start(engine->proxy);
	} else if (connection_is_ready(engine->connection) && engine->is_elsewhere) {
		engine->change->state = CHANGE_NONE;
		log_event(&EV_PROXY_MOVED);
		proxy_replace(engine->proxy);
	} else if (connection_is_ready(engine->connection)) {
		reload(engine);
	} else {
		/* An HAProxy run by somebody else reads the files when it starts. */
		engine->change->state = CHANGE_NONE;
		slots_note_verified(&engine->slots);
		connection_set_running(
			engine->connection, main_file_description(engine->main_file));
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
	/* Certificates named in the output are left out, and the rest is tried again at once. */
	if (outcome == COMMAND_FAILED && engine->change->left_out < LEFT_OUT_MAX &&
		(certs_leave_out(&engine->certs, output) || pools_leave_out(engine, output))) {
		engine->change->left_out++;
		engine->change->state = CHANGE_NONE;
	} else {
		char *why = xasprintf("`haproxy -c` %s: %.500s", refusal_of(outcome), text);
		fail(engine, why);
		free(why);
	}
	free(text);
}

static bool put_in_place(struct engine *engine, bool is_unchanged)
{
	int err = staged_install(engine, is_unchanged);
	if (err == 0)
		err = flush_all(engine);
	if (err != 0)
		disk_fail(engine, err, "the configuration cannot be put in place");
	return err == 0;
}

static void on_checked(void *ctx, enum command_outcome outcome, struct str output)
{
	struct engine *engine = ctx;
	engine->change->check = NULL;
	engine->change->is_unchecked = false;
	if (outcome != COMMAND_SUCCEEDED) {
		on_refused(engine, outcome, output);
		engine_wake(engine);
		return;
	}
	engine->change->left_out = 0;
	if (engine->change->sync_error != 0) {
		disk_fail(engine, engine->change->sync_error, "the configuration cannot be stored");
	} else if (put_in_place(engine, false)) {
		start_or_reload(engine);
		engine_wake(engine);
	}
}

/* Uses the program that serves, wherever that is; with --socket we assume that it is installed here. */
static void start_check(struct engine *engine)
{
	double timeout_s = engine->config->local.check_timeout;
	engine->change->state = CHANGE_CHECKING;
	if (engine->proxy != NULL) {
		proxy_check(engine->proxy, timeout_s, on_checked, engine);
		return;
	}
	char *staged = engine_path(engine, "staged");
	char *argv[] = {engine->config->haproxy, (char *)(uintptr_t) "-c", (char *)(uintptr_t) "-f",
		staged, NULL};
	engine->change->check = command_start(engine->loop, argv, timeout_s, on_checked, engine);
	free(staged);
}

/* HAProxy reads the files meanwhile. */
static void check(struct engine *engine)
{
	start_check(engine);
	engine->change->sync_error = staged_sync(engine, "staged");
}

/* There is no older state that a crash of the machine could bring back by halves: the files are synced while HAProxy reads them. Nothing is told before. */
static void start_unchecked(struct engine *engine)
{
	engine->change->is_unchecked = true;
	if (!put_in_place(engine, true))
		return;
	start_or_reload(engine);
	int err = staged_sync(engine, "haproxy.d");
	if (err != 0)
		disk_fail(engine, err, "the configuration cannot be stored");
	engine_wake(engine);
}

static bool is_offline_now(const struct engine *engine)
{
	return engine->proxy != NULL ? !proxy_is_up(engine->proxy)
				     : connection_state(engine->connection) == CONNECTION_DOWN;
}

/* Nothing is served, and there is no older state to lose: a check would read the same files that HAProxy then reads once more. If it does
 * not come, they are checked, which tells what to leave out. */
static bool may_start_unchecked(const struct engine *engine)
{
	return engine->proxy != NULL && !proxy_is_up(engine->proxy) && engine->deaths == 0 &&
	       !main_file_is_installed(engine->main_file);
}

void change_on_answer(struct engine *engine)
{
	engine->change->is_unchecked = false;
}

bool change_may_begin(struct engine *engine)
{
	/* A start need not be paced. */
	double wait_s = is_offline_now(engine)
				? 0
				: pace_wait_s(&engine->change->pace, clock_monotonic_s());
	if (wait_s <= 0)
		return true;
	if (!ev_is_active(&engine->change->next_reload)) {
		ev_timer_set(&engine->change->next_reload, wait_s, 0.);
		ev_timer_start(engine->loop, &engine->change->next_reload);
	}
	return false;
}

static void on_next_reload(struct ev_loop *loop, ev_timer *watcher, int events)
{
	engine_wake(((struct change *)watcher->data)->engine);
}

void change_begin(struct engine *engine)
{
	bool is_offline = is_offline_now(engine);
	if (pools_release_idle(engine))
		staged_update_main(engine);
	certs_begin(&engine->certs, !is_offline);
	(void)repair_files(engine);
	int err = staged_write(engine, is_offline);
	if (err != 0) {
		disk_fail(engine, err, "the configuration cannot be written");
		return;
	}
	disk_worked(engine->disk);
	if (may_start_unchecked(engine))
		start_unchecked(engine);
	else
		check(engine);
}

bool change_is_under_way(const struct engine *engine)
{
	return engine->change->state != CHANGE_NONE;
}

bool change_is_reloading(const struct engine *engine)
{
	return engine->change->state == CHANGE_RELOADING;
}

bool change_is_waiting(const struct engine *engine)
{
	return ev_is_active(&engine->change->deadline);
}

struct change *change_new(struct engine *engine)
{
	struct change *change = xcalloc(1, sizeof(*change));
	change->engine = engine;
	ev_init(&change->deadline, on_deadline);
	change->deadline.data = change;
	backoff_init(&change->backoff, 1, 30);
	pace_init(&change->pace, engine->config->reload_interval,
		engine->config->local.reload_interval_max);
	ev_init(&change->next_reload, on_next_reload);
	change->next_reload.data = change;
	return change;
}

void change_free(struct change *change)
{
	struct engine *engine = change->engine;
	command_cancel(change->check);
	proxy_cancel_check(engine->proxy);
	ev_timer_stop(engine->loop, &change->deadline);
	ev_timer_stop(engine->loop, &change->next_reload);
	free(change);
}
