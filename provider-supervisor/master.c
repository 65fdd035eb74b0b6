// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/master.h"

#include "common/backoff.h"
#include "common/files.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "provider-supervisor/launch.h"
#include "provider-supervisor/log_events.h"
#include "provider-supervisor/orphans.h"
#include "provider-supervisor/pid_file.h"
#include "provider-supervisor/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const double end_within_s = 5; /* after SIGTERM */
static const double remind_every_s = 1;

struct master {
	struct ev_loop *loop;
	const struct kind *kind;
	struct kind_folders folders;
	const struct master_ops *ops;
	void *ctx;
	char *pid_file;
	/* Pid file of a proxy started by a release without proxy folders; NULL: none. */
	char *former_pid_file;
	struct launch *launch;
	char *dir;              /* with its sockets */
	struct process process; /* pid 0: not running */
	pid_t ending;           /* of an earlier supervisor; must not be adopted; 0: none */
	int pidfd;
	ev_child own;
	ev_io found;
	ev_timer again;
	ev_timer limit;  /* for its end */
	ev_timer remind; /* until then */
	struct backoff backoff;
	struct orphans *orphans;
	bool is_wanted;
	bool is_adopted; /* it was started before we were */
	bool is_due;     /* to be started once no orphan serves */
};

/* ---- exit ---- */

static void stop_watching(struct master *master)
{
	ev_child_stop(master->loop, &master->own);
	ev_io_stop(master->loop, &master->found);
	ev_timer_stop(master->loop, &master->again);
	if (master->pidfd >= 0)
		close(master->pidfd);
	master->pidfd = -1;
}

static void handle_exit(struct master *master, const char *why)
{
	struct process former = master->process;
	stop_watching(master);
	master->process = (struct process){0};
	if (former.pid == 0 || !orphans_end(master->orphans, former.pid, former.started))
		(void)files_remove(master->pid_file);
	if (!master->is_wanted) {
		ev_break(master->loop, EVBREAK_ALL);
		return;
	}
	double again_s = backoff_next(&master->backoff);
	ev_timer_set(&master->again, again_s, 0.);
	ev_timer_start(master->loop, &master->again);
	log_event(&EV_MASTER_DOWN, LOG_INT("pid", former.pid), LOG_STR("reason", why),
		LOG_SECONDS("again_s", again_s));
	master->ops->on_down(master->ctx, why, again_s);
}

static void on_own(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct master *master = watcher->data;
	char why[64];
	int status = watcher->rstatus;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "killed by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "exit status %d", WEXITSTATUS(status));
	handle_exit(master, why);
}

static void on_found_end(struct ev_loop *loop, ev_io *watcher, int events)
{
	handle_exit(watcher->data, "it ended");
}

/* ---- finding a running one ---- */

static bool is_leader_from(const struct process *process, const void *ctx)
{
	const struct master *master = ctx;
	struct buf words;
	bool is_it = false;
	if (process->session != process->pid || !process_is_called(process, master->kind->name))
		return false;
	buf_init(&words, PROCESSES_WORDS_LEN_MAX);
	if (process_read_words(process->pid, &words))
		is_it = kind_starts_from(master->kind, buf_str(&words).p, buf_len(&words),
			master->folders.state_dir);
	buf_fini(&words);
	return is_it;
}

/* The master owns HAProxy's socket, and keeps its pid through all reloads. */
static pid_t owner_of_socket(const char *dir)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	char *path = xasprintf("%s/haproxy.sock", dir);
	int fd = unix_connect(path);
	free(path);
	if (fd < 0)
		return 0;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0)
		peer.pid = 0;
	close(fd);
	return peer.pid;
}

static bool is_ours(
	const struct master *master, pid_t pid, uint64_t started, struct process *ret_process)
{
	return pid > 1 && process_read(pid, ret_process) &&
	       (started == 0 || ret_process->started == started) &&
	       process_is_called(ret_process, master->kind->name);
}

static bool find_running(struct master *master, struct process *ret_process)
{
	struct pid_file own = pid_file_read(master->pid_file);
	if (own.is_ending && is_ours(master, own.pid, own.started, ret_process))
		return false;
	if (is_ours(master, own.pid, own.started, ret_process))
		return true;
	if (master->former_pid_file != NULL) {
		struct pid_file former = pid_file_read(master->former_pid_file);
		if (!former.is_ending && is_ours(master, former.pid, former.started, ret_process))
			return true;
	}
	pid_t owner = owner_of_socket(master->folders.proxy_dir);
	if (owner == 0 && master->former_pid_file != NULL)
		owner = owner_of_socket(master->folders.state_dir);
	if (owner != master->ending && is_ours(master, owner, 0, ret_process))
		return true;
	/* Somebody has removed our folder while it runs. */
	size_t count = 0;
	struct process *list = processes_list(is_leader_from, master, &count);
	bool is_found = count != 0 && list[0].pid != master->ending;
	if (is_found)
		*ret_process = list[0];
	free(list);
	return is_found;
}

/* We may have died between writing the mark and sending the signal; a second signal is harmless. */
static void end_former(struct master *master)
{
	struct process process;
	struct pid_file own = pid_file_read(master->pid_file);
	if (!own.is_ending || !is_ours(master, own.pid, own.started, &process))
		return;
	master->ending = own.pid;
	(void)process_signal(&process, master->kind->drain_signal);
}

/* Ends the workers of a master that died while no supervisor ran. */
static void end_orphans(struct master *master)
{
	struct process process;
	struct pid_file own = pid_file_read(master->pid_file);
	if (own.pid != 0 && !is_ours(master, own.pid, own.started, &process))
		(void)orphans_end(master->orphans, own.pid, own.started);
}

static void write_pid_file(struct master *master, bool is_ending)
{
	struct pid_file content = {master->process.pid, master->process.started, is_ending};
	pid_file_write(master->pid_file, &content);
	if (master->former_pid_file != NULL)
		(void)files_remove(master->former_pid_file);
}

/* A proxy that was started without a folder of its own keeps using the state folder: its sandbox allows no other. */
static void find_dir(struct master *master)
{
	struct buf words;
	free(master->dir);
	master->dir = NULL;
	buf_init(&words, PROCESSES_WORDS_LEN_MAX);
	if (process_read_words(master->process.pid, &words))
		master->dir = kind_find_proxy_dir(master->kind, buf_str(&words).p, buf_len(&words));
	buf_fini(&words);
	if (master->dir == NULL)
		master->dir = xstrdup(master->folders.proxy_dir);
}

static bool find(struct master *master)
{
	struct process process;
	struct process again;
	if (!find_running(master, &process))
		return false;
	master->pidfd = (int)syscall(SYS_pidfd_open, process.pid, 0);
	/* In the meantime it may have exited and its pid been reused. */
	if (master->pidfd < 0 || !process_read(process.pid, &again) ||
		again.started != process.started) {
		if (master->pidfd >= 0)
			close(master->pidfd);
		master->pidfd = -1;
		return false;
	}
	fcntl(master->pidfd, F_SETFD, FD_CLOEXEC);
	ev_timer_stop(master->loop, &master->again);
	master->process = process;
	master->is_adopted = true;
	find_dir(master);
	write_pid_file(master, false);
	ev_io_set(&master->found, master->pidfd, EV_READ);
	ev_io_start(master->loop, &master->found);
	log_event(&EV_MASTER_UP, LOG_INT("pid", process.pid), LOG_STR("how", "found"));
	master->ops->on_up(master->ctx, process.pid, true, master->dir);
	return true;
}

/* ---- start ---- */

bool master_has_configuration(const struct master *master)
{
	char *path = xasprintf("%s/%s", master->folders.state_dir, master->kind->main_file);
	bool is_there = files_exist(path);
	free(path);
	return is_there;
}

/* If it replaces another proxy, it gets that one's listening sockets. */
static pid_t spawn(struct master *master)
{
	struct listeners listeners = {0};
	master->ops->on_launch(master->ctx, &listeners);
	return launch_run(master->launch, &listeners);
}

static void start(struct master *master)
{
	master->is_due = false;
	if (master->process.pid != 0 || !master_has_configuration(master))
		return;
	pid_t pid = spawn(master);
	if (pid < 0 || !process_read(pid, &master->process)) {
		/* It exited before it was inspected, or no process could be created. */
		master->process = (struct process){0};
		handle_exit(master, "no process can be started");
		return;
	}
	master->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (master->pidfd >= 0)
		fcntl(master->pidfd, F_SETFD, FD_CLOEXEC);
	free(master->dir);
	master->dir = xstrdup(master->folders.proxy_dir);
	master->is_adopted = false;
	write_pid_file(master, false);
	ev_child_set(&master->own, pid, 0);
	ev_child_start(master->loop, &master->own);
	log_event(&EV_MASTER_UP, LOG_INT("pid", pid), LOG_STR("how", "started"));
	master->ops->on_up(master->ctx, pid, false, master->dir);
}

static void start_when_clear(struct master *master)
{
	if (orphans_are_serving(master->orphans))
		master->is_due = true;
	else
		start(master);
}

static void on_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	start_when_clear(watcher->data);
}

static void on_clear(void *ctx)
{
	struct master *master = ctx;
	if (master->is_due)
		start(master);
}

bool master_find(struct master *master)
{
	master->is_wanted = true;
	if (master->process.pid != 0)
		return true;
	end_former(master);
	return find(master);
}

void master_start(struct master *master, bool is_urgent)
{
	if (master->process.pid == 0 && ev_is_active(&master->again) && !is_urgent) {
		master->is_wanted = true;
		return;
	}
	if (master_find(master))
		return;
	ev_timer_stop(master->loop, &master->again);
	end_orphans(master);
	start_when_clear(master);
}

/* ---- commands ---- */

static int send_signal(const struct master *master, int signal)
{
	if (master->process.pid == 0)
		return -ESRCH;
	return syscall(SYS_pidfd_send_signal, master->pidfd, signal, NULL, 0) == 0 ? 0 : -errno;
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	ev_break(loop, EVBREAK_ALL);
}

/* A HAProxy that has only just started may miss the first signal; repeating it is harmless. */
static void on_remind(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct master *master = watcher->data;
	(void)send_signal(master, master->kind->drain_signal);
}

/* Whether it ended in time, and nobody has stopped the loop. */
static bool await_end(struct master *master, double limit_s)
{
	ev_now_update(master->loop);
	ev_timer_set(&master->limit, limit_s, 0.);
	ev_timer_start(master->loop, &master->limit);
	ev_run(master->loop, 0);
	ev_timer_stop(master->loop, &master->limit);
	return master->process.pid == 0;
}

void master_drain(struct master *master, double limit_s)
{
	master->is_wanted = false;
	ev_timer_stop(master->loop, &master->again);
	if (master->process.pid == 0)
		return;
	log_event(&EV_MASTER_DRAINING, LOG_INT("pid", master->process.pid),
		LOG_SECONDS("limit_s", limit_s));
	/* Before the signal: a supervisor that finds the mark sends the signal again. */
	write_pid_file(master, true);
	(void)send_signal(master, master->kind->drain_signal);
	ev_timer_again(master->loop, &master->remind);
	bool is_done = await_end(master, limit_s);
	ev_timer_stop(master->loop, &master->remind);
	if (is_done)
		return;
	log_event(&EV_MASTER_CUT);
	(void)send_signal(master, SIGTERM);
	(void)await_end(master, end_within_s);
}

static bool is_of_session(const struct process *process, const void *ctx)
{
	const struct process *leader = ctx;
	return process->session == leader->pid;
}

void master_replace(struct master *master)
{
	size_t count = 0;
	if (master->process.pid == 0)
		return;
	log_event(&EV_MASTER_REPLACED, LOG_INT("pid", master->process.pid));
	struct process *list = processes_list(is_of_session, &master->process, &count);
	for (size_t i = 0; i < count; i++)
		(void)process_signal(&list[i], SIGKILL);
	free(list);
	(void)send_signal(master, SIGKILL);
}

int master_listeners(const struct master *master, struct listeners *ret_listeners)
{
	if (master->process.pid == 0)
		return -ESRCH;
	if (!master->kind->fetches_listeners)
		return listeners_of_process(master->process.pid, master->pidfd, ret_listeners);
	char *path = xasprintf("%s/haproxy.sock", master->dir);
	int err = listeners_of_haproxy(path, ret_listeners);
	free(path);
	return err;
}

int master_reload(struct master *master)
{
	if (master->process.pid == 0)
		return -ESRCH;
	return kind_reload(master->kind, master->dir, master->pidfd);
}

void master_is_well(struct master *master)
{
	backoff_succeeded(&master->backoff);
}

pid_t master_pid(const struct master *master)
{
	return master->process.pid;
}

bool master_is_adopted(const struct master *master)
{
	return master->is_adopted;
}

const char *master_dir(const struct master *master)
{
	return master->dir;
}

/* ---- lifecycle ---- */

struct master *master_new(const struct master_config *config)
{
	struct master *master = xcalloc(1, sizeof(*master));
	const struct kind_folders *folders = &config->folders;
	bool has_folder = strcmp(folders->proxy_dir, folders->state_dir) != 0;
	master->loop = config->loop;
	master->kind = config->kind;
	master->folders = *folders;
	master->ops = config->ops;
	master->ctx = config->ctx;
	master->pid_file = xasprintf("%s/%s", folders->proxy_dir, config->kind->pid_file);
	if (has_folder)
		master->former_pid_file =
			xasprintf("%s/%s", folders->state_dir, config->kind->pid_file);
	master->launch = launch_new(&(struct launch_config){
		.loop = config->loop, .kind = config->kind, .folders = *folders});
	master->dir = xstrdup(folders->proxy_dir);
	master->pidfd = -1;
	backoff_init(&master->backoff, 0.1, 5);
	ev_init(&master->own, on_own);
	ev_init(&master->found, on_found_end);
	ev_init(&master->again, on_again);
	ev_init(&master->limit, on_limit);
	ev_timer_init(&master->remind, on_remind, 0., remind_every_s);
	master->remind.data = master;
	master->own.data = master->found.data = master->again.data = master;
	master->orphans = orphans_new(config->loop, config->kind, on_clear, master);
	return master;
}

void master_free(struct master *master)
{
	if (master == NULL)
		return;
	stop_watching(master);
	orphans_free(master->orphans);
	free(master->pid_file);
	free(master->former_pid_file);
	launch_free(master->launch);
	free(master->dir);
	free(master);
}
