// SPDX-License-Identifier: Apache-2.0
#include "common/command.h"

#include "common/buf.h"
#include "common/xalloc.h"
#include "common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

struct command {
	struct ev_loop *loop;
	ev_child child;
	ev_io readable;
	ev_timer timeout;
	ev_timer unstarted;
	struct buf output;
	int fd;
	pid_t pid; /* 0: it has ended */
	int status;
	bool is_late;
	command_done *on_done;
	void *ctx;
};

static void stop_watching(struct command *command)
{
	ev_child_stop(command->loop, &command->child);
	ev_io_stop(command->loop, &command->readable);
	ev_timer_stop(command->loop, &command->timeout);
	ev_timer_stop(command->loop, &command->unstarted);
}

static void free_command(struct command *command)
{
	stop_watching(command);
	if (command->fd >= 0)
		close(command->fd);
	buf_fini(&command->output);
	free(command);
}

static void finish(struct command *command, enum command_outcome outcome)
{
	stop_watching(command);
	command->on_done(command->ctx, outcome, buf_str(&command->output));
	free_command(command);
}

/* The output need not have ended: a grandchild may hold it open, so the command's end counts. */
static void finish_ended(struct command *command)
{
	bool is_good = WIFEXITED(command->status) && WEXITSTATUS(command->status) == 0;
	if (command->is_late) {
		finish(command, COMMAND_TIMEOUT);
		return;
	}
	if (WIFSIGNALED(command->status)) {
		char words[64];
		int len = snprintf(words, sizeof(words), "it was killed by signal %d",
			WTERMSIG(command->status));
		/* If there is no room for both, the reason matters more than the output. */
		if (buf_len(&command->output) + (size_t)len > COMMAND_OUTPUT_MAX)
			buf_clear(&command->output);
		if (buf_append(&command->output, words, (size_t)len) != 0)
			buf_clear(&command->output);
		finish(command, COMMAND_KILLED);
	} else {
		finish(command, is_good ? COMMAND_SUCCEEDED : COMMAND_FAILED);
	}
}

/* Returns false at the end of the output. The rest is read and discarded. */
static bool read_output(struct command *command)
{
	char piece[4096];
	for (;;) {
		ssize_t got = read(command->fd, piece, sizeof(piece));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		size_t room = COMMAND_OUTPUT_MAX - buf_len(&command->output);
		if (buf_append(&command->output, piece, (size_t)got < room ? (size_t)got : room) !=
			0)
			return false;
	}
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct command *command = watcher->data;
	(void)events;
	if (!read_output(command))
		ev_io_stop(loop, watcher);
}

static void on_child(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct command *command = watcher->data;
	(void)events;
	ev_child_stop(loop, watcher);
	command->pid = 0;
	command->status = watcher->rstatus;
	read_output(command);
	finish_ended(command);
}

static void kill_group(struct command *command)
{
	if (command->pid != 0)
		kill(-command->pid, SIGKILL);
}

static void on_timeout(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct command *command = watcher->data;
	(void)loop;
	(void)events;
	command->is_late = true;
	kill_group(command);
}

static void on_unstarted(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	finish(watcher->data, COMMAND_UNSTARTED);
}

static void start_watching(struct command *command, double timeout_s)
{
	ev_child_init(&command->child, on_child, command->pid, 0);
	command->child.data = command;
	ev_child_start(command->loop, &command->child);
	ev_io_init(&command->readable, on_readable, command->fd, EV_READ);
	command->readable.data = command;
	ev_io_start(command->loop, &command->readable);
	ev_timer_init(&command->timeout, on_timeout, timeout_s, 0.);
	command->timeout.data = command;
	ev_timer_start(command->loop, &command->timeout);
}

struct command *command_start(
	struct ev_loop *loop, char *const *argv, double timeout_s, command_done *on_done, void *ctx)
{
	struct command *command = xcalloc(1, sizeof(*command));
	int ends[2] = {-1, -1};
	command->loop = loop;
	command->on_done = on_done;
	command->ctx = ctx;
	command->fd = -1;
	buf_init(&command->output, COMMAND_OUTPUT_MAX);
	ev_init(&command->child, on_child);
	ev_init(&command->readable, on_readable);
	ev_init(&command->timeout, on_timeout);
	ev_timer_init(&command->unstarted, on_unstarted, 0., 0.);
	command->unstarted.data = command;
	if (pipe2(ends, O_CLOEXEC) == 0)
		command->pid = fork();
	else
		command->pid = -1;
	if (command->pid == 0) {
		setpgid(0, 0);
		program_become(argv, ends[1]);
	}
	int err = errno;
	if (ends[1] >= 0)
		close(ends[1]);
	command->fd = ends[0];
	if (command->pid > 0) {
		/* Set on both sides, so that the group exists before it can be killed. */
		setpgid(command->pid, command->pid);
		fcntl(command->fd, F_SETFL, O_NONBLOCK);
		start_watching(command, timeout_s);
		return command;
	}
	command->pid = 0;
	if (buf_printf(&command->output, "no process can be started: %s", strerrordesc_np(err)) !=
		0)
		buf_clear(&command->output);
	ev_timer_start(loop, &command->unstarted);
	return command;
}

void command_cancel(struct command *command)
{
	if (command == NULL)
		return;
	kill_group(command);
	free_command(command);
}
