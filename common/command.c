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

/* What it writes to one end of a pipe. */
struct stream_end {
	ev_io readable;
	struct buf content;
	int fd; /* -1: there is none */
	bool is_cut;
};

struct command {
	struct ev_loop *loop;
	ev_child child;
	ev_timer timeout;
	ev_timer unstarted;
	struct stream_end output;
	struct stream_end errors; /* if it is not part of the output */
	pid_t pid;                /* 0: it has ended */
	int status;
	bool is_late;
	command_done *on_done;
	void *ctx;
};

static void stop_watching(struct command *command)
{
	ev_child_stop(command->loop, &command->child);
	ev_io_stop(command->loop, &command->output.readable);
	ev_io_stop(command->loop, &command->errors.readable);
	ev_timer_stop(command->loop, &command->timeout);
	ev_timer_stop(command->loop, &command->unstarted);
}

static void close_end(struct stream_end *end)
{
	if (end->fd >= 0)
		close(end->fd);
	buf_wipe_fini(&end->content);
}

static void free_command(struct command *command)
{
	stop_watching(command);
	close_end(&command->output);
	close_end(&command->errors);
	free(command);
}

static void finish(struct command *command, enum command_outcome outcome)
{
	stop_watching(command);
	command->on_done(command->ctx, outcome, buf_str(&command->output.content));
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
		/* Of an output without an end the last words are not worth more. */
		if (buf_append(&command->output.content, words, (size_t)len) != 0) {
			buf_clear(&command->output.content);
			(void)buf_append(&command->output.content, words, (size_t)len);
		}
		finish(command, COMMAND_KILLED);
	} else {
		finish(command, is_good ? COMMAND_SUCCEEDED : COMMAND_FAILED);
	}
}

/* More than a pipe holds, so that all is had that was written before the program ended; but who writes without an end gets no longer turn. */
enum { TURN_LEN_MAX = 1024 * 1024 };

/* Returns false at its end. What does not fit is read and dropped. */
static bool read_end(struct stream_end *end)
{
	char piece[4096];
	for (size_t i = 0; i < TURN_LEN_MAX / sizeof(piece); i++) {
		ssize_t got = read(end->fd, piece, sizeof(piece));
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			explicit_bzero(piece, sizeof(piece));
			return got < 0 && errno == EAGAIN;
		}
		size_t room = end->content.max - buf_len(&end->content);
		end->is_cut = end->is_cut || (size_t)got > room;
		if (buf_append(&end->content, piece, (size_t)got < room ? (size_t)got : room) != 0)
			return false;
	}
	return true;
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	if (!read_end(watcher->data))
		ev_io_stop(loop, watcher);
}

static void on_child(struct ev_loop *loop, ev_child *watcher, int events)
{
	struct command *command = watcher->data;
	ev_child_stop(loop, watcher);
	command->pid = 0;
	command->status = watcher->rstatus;
	read_end(&command->output);
	if (command->errors.fd >= 0)
		read_end(&command->errors);
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
	command->is_late = true;
	kill_group(command);
}

static void on_unstarted(struct ev_loop *loop, ev_timer *watcher, int events)
{
	finish(watcher->data, COMMAND_UNSTARTED);
}

static void watch_end(struct command *command, struct stream_end *end)
{
	fcntl(end->fd, F_SETFL, O_NONBLOCK);
	ev_io_set(&end->readable, end->fd, EV_READ);
	ev_io_start(command->loop, &end->readable);
}

static void start_watching(struct command *command, double timeout_s)
{
	ev_child_set(&command->child, command->pid, 0);
	ev_child_start(command->loop, &command->child);
	watch_end(command, &command->output);
	if (command->errors.fd >= 0)
		watch_end(command, &command->errors);
	ev_timer_set(&command->timeout, timeout_s, 0.);
	ev_timer_start(command->loop, &command->timeout);
}

static void init_end(struct stream_end *end, size_t max)
{
	buf_init(&end->content, max);
	ev_init(&end->readable, on_readable);
	end->readable.data = end;
	end->fd = -1;
}

static struct command *make(const struct command_call *call)
{
	struct command *command = xcalloc(1, sizeof(*command));
	command->loop = call->loop;
	command->on_done = call->on_done;
	command->ctx = call->ctx;
	init_end(&command->output, call->output_max);
	init_end(&command->errors, COMMAND_OUTPUT_MAX);
	ev_init(&command->child, on_child);
	ev_init(&command->timeout, on_timeout);
	ev_timer_init(&command->unstarted, on_unstarted, 0., 0.);
	command->child.data = command->timeout.data = command->unstarted.data = command;
	return command;
}

static _Noreturn void run(const struct command_call *call, int output, int errors)
{
	setpgid(0, 0);
	if (call->env != NULL)
		environ = call->env;
	program_become_with(call->argv, output, errors, NULL, 0, NULL);
}

struct command *command_start_call(const struct command_call *call)
{
	struct command *command = make(call);
	int output[2] = {-1, -1};
	int errors[2] = {-1, -1};
	if (pipe2(output, O_CLOEXEC) == 0 &&
		(!call->has_own_errors || pipe2(errors, O_CLOEXEC) == 0))
		command->pid = fork();
	else
		command->pid = -1;
	if (command->pid == 0)
		run(call, output[1], call->has_own_errors ? errors[1] : output[1]);
	int err = errno;
	if (output[1] >= 0)
		close(output[1]);
	if (errors[1] >= 0)
		close(errors[1]);
	command->output.fd = output[0];
	command->errors.fd = errors[0];
	if (command->pid > 0) {
		/* Whoever comes first: the group is there before it is killed. */
		setpgid(command->pid, command->pid);
		start_watching(command, call->timeout_s);
		return command;
	}
	command->pid = 0;
	(void)buf_printf(
		&command->output.content, "no process can be started: %s", strerrordesc_np(err));
	ev_timer_start(call->loop, &command->unstarted);
	return command;
}

struct command *command_start(
	struct ev_loop *loop, char *const *argv, double timeout_s, command_done *on_done, void *ctx)
{
	return command_start_call(&(struct command_call){
		.loop = loop,
		.argv = argv,
		.timeout_s = timeout_s,
		.output_max = COMMAND_OUTPUT_MAX,
		.on_done = on_done,
		.ctx = ctx,
	});
}

struct str command_errors(const struct command *command)
{
	return buf_str(&command->errors.content);
}

int command_exit_status(const struct command *command)
{
	return WIFSIGNALED(command->status) ? WTERMSIG(command->status)
					    : WEXITSTATUS(command->status);
}

bool command_is_cut(const struct command *command)
{
	return command->output.is_cut;
}

void command_cancel(struct command *command)
{
	if (command == NULL)
		return;
	kill_group(command);
	free_command(command);
}
