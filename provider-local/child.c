// SPDX-License-Identifier: Apache-2.0
#include "provider-local/child.h"

#include "common/backoff.h"
#include "common/buf.h"
#include "common/xalloc.h"
#include "provider-local/files.h"
#include "provider-local/metrics.h"
#include "provider-local/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static const double end_within_s = 5; /* after SIGTERM */
static const double remind_every_s = 1;

enum { LOG_LEN_MAX = 1024 * 1024, LAST_WORDS_MAX = 2048, STAT_LEN_MAX = 4096 };

struct child {
	struct ev_loop *loop;
	char *pid_file;
	char *former_pid_file;
	char *log_file;
	char *executable;
	const struct child_ops *ops;
	void *ctx;
	int end_signal;
	pid_t pid;    /* 0: does not run */
	pid_t ending; /* one of a former life of ours, which must not be taken up; 0: none */
	int pidfd;    /* of one that was found */
	ev_child own;
	ev_io found;
	ev_timer again;
	ev_timer limit;  /* of its end */
	ev_timer remind; /* until then */
	struct backoff backoff;
	off_t log_start;
	bool is_wanted;
};

/* What follows pid and time in the pid file. */
static const char serving_mark[] = "\n";
static const char ending_mark[] = " ending\n";

/* ---- who is who ---- */

/* Field 22 of /proc/PID/stat: when it was started, in clock ticks since the boot; 0: there is none. */
static uint64_t start_time_of(pid_t pid, const char *executable)
{
	struct buf stat;
	uint64_t time = 0;
	char *path = xasprintf("/proc/%d/stat", (int)pid);
	buf_init(&stat, STAT_LEN_MAX + 16 * 1024);
	if (files_read(path, &stat) == 0 && buf_append(&stat, "", 1) == 0) {
		const char *text = buf_str(&stat).p;
		const char *name = strchr(text, '(');
		const char *rest = strrchr(text, ')');
		/* The kernel keeps 15 bytes of the name. */
		if (name != NULL && rest != NULL &&
			strncmp(name + 1, executable, strnlen(executable, 15)) == 0 &&
			rest[2] != 'Z') {
			for (int field = 2; rest != NULL && field < 22; field++)
				rest = strchr(rest + 1, ' ');
			time = rest != NULL ? strtoull(rest + 1, NULL, 10) : 0;
		}
	}
	buf_fini(&stat);
	free(path);
	return time;
}

static pid_t read_pid_file(const struct child *child, const char *path, bool *ret_ending)
{
	*ret_ending = false;
	struct buf content;
	long pid = 0;
	/* One read asks for 16 kB, and the one that finds the end asks again. */
	buf_init(&content, STAT_LEN_MAX + 16 * 1024);
	if (files_read(path, &content) == 0 && buf_append(&content, "", 1) == 0) {
		char *end;
		pid = strtol(buf_str(&content).p, &end, 10);
		unsigned long long time = *end == ' ' ? strtoull(end + 1, &end, 10) : 0;
		if (pid <= 1 || pid > INT32_MAX || time == 0 ||
			start_time_of((pid_t)pid, child->executable) != time)
			pid = 0;
		*ret_ending = pid != 0 && strcmp(end, ending_mark) == 0;
	}
	buf_fini(&content);
	return (pid_t)pid;
}

static void write_pid_file(const struct child *child, const char *mark)
{
	/* The name in /proc is ours until the program has been loaded; the time stays. */
	unsigned long long time = start_time_of(child->pid, "");
	char *content = xasprintf("%d %llu%s", (int)child->pid, time, mark);
	files_write_loose(child->pid_file, str_from(content), 0644);
	if (child->former_pid_file != NULL)
		files_remove(child->former_pid_file);
	free(content);
}

/* ---- life of the proxy ---- */

static void stop_watching(struct child *child)
{
	ev_child_stop(child->loop, &child->own);
	ev_io_stop(child->loop, &child->found);
	ev_timer_stop(child->loop, &child->again);
	if (child->pidfd >= 0)
		close(child->pidfd);
	child->pidfd = -1;
}

static void gone(struct child *child, const char *why)
{
	stop_watching(child);
	child->pid = 0;
	files_remove(child->pid_file);
	if (!child->is_wanted) {
		ev_break(child->loop, EVBREAK_ALL);
		return;
	}
	double again_s = backoff_next(&child->backoff);
	ev_timer_set(&child->again, again_s, 0.);
	ev_timer_start(child->loop, &child->again);
	metric_set(&proxy_metrics[PROXY_UP], 0, 0);
	metric_add(&proxy_metrics[PROXY_ENDS], 0, 1);
	child->ops->on_down(child->ctx, why, again_s);
}

static void on_own(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct child *child = watcher->data;
	char why[64];
	int status = watcher->rstatus;
	(void)loop;
	(void)events;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "killed by signal %d", WTERMSIG(status));
	else
		snprintf(why, sizeof(why), "exit status %d", WEXITSTATUS(status));
	gone(child, why);
}

static void on_found(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	(void)events;
	gone(watcher->data, "it ended");
}

static pid_t look(const struct child *child)
{
	bool is_ending = false;
	pid_t pid = read_pid_file(child, child->pid_file, &is_ending);
	if (is_ending)
		return 0;
	if (pid == 0 && child->former_pid_file != NULL)
		pid = read_pid_file(child, child->former_pid_file, &is_ending);
	if (pid == 0 && child->ops->find != NULL)
		pid = child->ops->find(child->ctx);
	if (pid == child->ending)
		return 0;
	return pid > 1 && start_time_of(pid, child->executable) != 0 ? pid : 0;
}

/* We may have died between the mark and the signal; a second one does no harm. */
static void end_former(struct child *child)
{
	bool is_ending = false;
	pid_t pid = read_pid_file(child, child->pid_file, &is_ending);
	if (!is_ending)
		return;
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Its number may have been given away before it was opened. */
	if (pidfd >= 0 && read_pid_file(child, child->pid_file, &is_ending) == pid) {
		child->ending = pid;
		(void)syscall(SYS_pidfd_send_signal, pidfd, child->end_signal, NULL, 0);
	}
	if (pidfd >= 0)
		close(pidfd);
}

static bool find(struct child *child)
{
	pid_t pid = look(child);
	if (pid == 0)
		return false;
	child->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* Between the two looks it may have gone and its number may have been given away. */
	if (child->pidfd < 0 || look(child) != pid) {
		if (child->pidfd >= 0)
			close(child->pidfd);
		child->pidfd = -1;
		return false;
	}
	fcntl(child->pidfd, F_SETFD, FD_CLOEXEC);
	child->pid = pid;
	child->log_start = 0;
	write_pid_file(child, serving_mark);
	ev_io_set(&child->found, child->pidfd, EV_READ);
	ev_io_start(child->loop, &child->found);
	return true;
}

static int open_log(struct child *child)
{
	struct stat st;
	int fd = open(child->log_file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	child->log_start = 0;
	if (fd < 0)
		return open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (fstat(fd, &st) == 0 && st.st_size > LOG_LEN_MAX && ftruncate(fd, 0) == 0)
		st.st_size = 0;
	child->log_start = st.st_size;
	return fd;
}

static void launch(struct child *child)
{
	char *const *argv = child->ops->command(child->ctx);
	if (argv == NULL)
		return;
	int log = open_log(child);
	child->pid = fork();
	if (child->pid == 0) {
		/* A session of its own: what is sent to our terminal or group is not meant for it. */
		setsid();
		program_become(argv, log);
	}
	if (log >= 0)
		close(log);
	if (child->pid < 0) {
		child->pid = 0;
		gone(child, "no process can be started");
		return;
	}
	write_pid_file(child, serving_mark);
	ev_child_set(&child->own, child->pid, 0);
	ev_child_start(child->loop, &child->own);
	metric_set(&proxy_metrics[PROXY_UP], 0, 1);
	metric_add(&proxy_metrics[PROXY_STARTS], 0, 1);
	child->ops->on_up(child->ctx, false);
}

static void on_again(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	launch(watcher->data);
}

void child_start(struct child *child)
{
	child->is_wanted = true;
	if (child->pid != 0)
		return;
	ev_timer_stop(child->loop, &child->again);
	end_former(child);
	if (find(child)) {
		metric_set(&proxy_metrics[PROXY_UP], 0, 1);
		child->ops->on_up(child->ctx, true);
	} else {
		launch(child);
	}
}

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)watcher;
	(void)events;
	ev_break(loop, EVBREAK_ALL);
}

/* A HAProxy that has only just started may miss the first one; to whoever ends already another one says nothing new. */
static void on_remind(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct child *child = watcher->data;
	(void)loop;
	(void)events;
	child_signal(child, child->end_signal);
}

/* Whether it has ended within the time, and nobody has broken the loop. */
static bool await_end(struct child *child, double limit_s)
{
	ev_now_update(child->loop);
	ev_timer_set(&child->limit, limit_s, 0.);
	ev_timer_start(child->loop, &child->limit);
	ev_run(child->loop, 0);
	ev_timer_stop(child->loop, &child->limit);
	return child->pid == 0;
}

bool child_drain(struct child *child, double limit_s)
{
	child->is_wanted = false;
	ev_timer_stop(child->loop, &child->again);
	if (child->pid == 0)
		return true;
	/* Before the signal: whoever finds the mark sends the signal again. */
	write_pid_file(child, ending_mark);
	child_signal(child, child->end_signal);
	ev_timer_again(child->loop, &child->remind);
	bool is_done = await_end(child, limit_s);
	ev_timer_stop(child->loop, &child->remind);
	if (is_done)
		return true;
	child_signal(child, SIGTERM);
	(void)await_end(child, end_within_s);
	return false;
}

bool child_is_waiting(const struct child *child)
{
	return ev_is_active(&child->again);
}

int child_signal(struct child *child, int signal)
{
	if (child->pid == 0)
		return -ESRCH;
	if (child->pidfd >= 0)
		return syscall(SYS_pidfd_send_signal, child->pidfd, signal, NULL, 0) == 0 ? 0
											  : -errno;
	return kill(child->pid, signal) == 0 ? 0 : -errno;
}

void child_kill(struct child *child)
{
	/* Its workers are in its session; without their master they would keep its ports. */
	if (child->pid > 1 && getpgid(child->pid) == child->pid)
		(void)kill(-child->pid, SIGKILL);
	(void)child_signal(child, SIGKILL);
}

pid_t child_pid(const struct child *child)
{
	return child->pid;
}

void child_is_well(struct child *child)
{
	backoff_succeeded(&child->backoff);
}

char *child_last_words(const struct child *child)
{
	char text[LAST_WORDS_MAX + 1];
	ssize_t got = -1;
	int fd = open(child->log_file, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (fd >= 0 && fstat(fd, &st) == 0) {
		off_t from = st.st_size > LAST_WORDS_MAX ? st.st_size - LAST_WORDS_MAX : 0;
		got = pread(fd, text, LAST_WORDS_MAX,
			from > child->log_start ? from : child->log_start);
	}
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	for (char *c = text; *c != 0; c++)
		*c = *c == '\n' || *c == '\r' || *c == '\t' ? ' ' : *c;
	return xstrdup(text);
}

/* ---- */

struct child *child_new(const struct child_config *config)
{
	struct child *child = xcalloc(1, sizeof(*child));
	child->loop = config->loop;
	child->pid_file = xstrdup(config->pid_file);
	if (config->former_pid_file != NULL)
		child->former_pid_file = xstrdup(config->former_pid_file);
	child->log_file = xstrdup(config->log_file);
	child->executable = xstrdup(config->executable);
	child->ops = config->ops;
	child->ctx = config->ctx;
	child->end_signal = config->end_signal;
	child->pidfd = -1;
	backoff_init(&child->backoff, 0.1, 5);
	ev_init(&child->own, on_own);
	ev_init(&child->found, on_found);
	ev_init(&child->again, on_again);
	ev_init(&child->limit, on_limit);
	ev_timer_init(&child->remind, on_remind, 0., remind_every_s);
	child->remind.data = child;
	child->own.data = child->found.data = child->again.data = child;
	return child;
}

void child_free(struct child *child)
{
	if (child == NULL)
		return;
	stop_watching(child);
	free(child->pid_file);
	free(child->former_pid_file);
	free(child->log_file);
	free(child->executable);
	free(child);
}
