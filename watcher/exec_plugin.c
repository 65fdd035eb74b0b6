// SPDX-License-Identifier: Apache-2.0
#include "watcher/exec_plugin.h"

#include "common/buf.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ERRORS_MAX = 4096, READ_LEN = 4096 };

struct pipe_end {
	ev_io reader;
	struct buf content;
	bool is_full; /* the rest is read and discarded */
	bool ended;
};

struct exec_plugin {
	struct ev_loop *loop;
	pid_t pid;
	ev_child child;
	ev_timer timeout;
	struct pipe_end output;
	struct pipe_end errors;
	bool exited;
	bool timed_out;
	int status;
	void (*on_done)(void *ctx, const char *problem, struct str output);
	void *ctx;
};

/* ---- exit ---- */

static void close_end(struct exec_plugin *plugin, struct pipe_end *end)
{
	if (end->reader.fd >= 0) {
		ev_io_stop(plugin->loop, &end->reader);
		close(end->reader.fd);
	}
	end->reader.fd = -1;
	end->ended = true;
}

static void free_plugin(struct exec_plugin *plugin)
{
	close_end(plugin, &plugin->output);
	close_end(plugin, &plugin->errors);
	ev_timer_stop(plugin->loop, &plugin->timeout);
	ev_child_stop(plugin->loop, &plugin->child);
	/* It prints credentials. */
	buf_wipe_fini(&plugin->output.content);
	buf_wipe_fini(&plugin->errors.content);
	free(plugin);
}

static const char *problem_of(const struct exec_plugin *plugin, char *text, size_t room)
{
	if (plugin->timed_out)
		return "took too long";
	if (WIFSIGNALED(plugin->status))
		snprintf(text, room, "died of signal %d", WTERMSIG(plugin->status));
	else if (WEXITSTATUS(plugin->status) == 127)
		snprintf(text, room, "cannot be run (exit code 127)");
	else if (WEXITSTATUS(plugin->status) != 0)
		snprintf(text, room, "ended with exit code %d", WEXITSTATUS(plugin->status));
	else
		return plugin->output.is_full ? "prints too much" : NULL;
	return text;
}

/* A grandchild may keep the pipes open for ever: after the exit only buffered output counts, but that must be read. */
static void finish_if_over(struct exec_plugin *plugin)
{
	char text[64];
	if (!plugin->exited || (!plugin->timed_out && !plugin->output.ended))
		return;
	const char *problem = problem_of(plugin, text, sizeof(text));
	struct buf *told = problem == NULL ? &plugin->output.content : &plugin->errors.content;
	plugin->on_done(plugin->ctx, problem, buf_len(told) != 0 ? buf_str(told) : STR(""));
	free_plugin(plugin);
}

static void on_exit_of_child(struct ev_loop *loop, ev_child *child, int events)
{
	struct exec_plugin *plugin = child->data;
	(void)events;
	ev_child_stop(loop, child);
	plugin->exited = true;
	plugin->status = child->rstatus;
	finish_if_over(plugin);
}

static void on_timeout(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct exec_plugin *plugin = timer->data;
	(void)loop;
	(void)events;
	plugin->timed_out = true;
	kill(-plugin->pid, SIGKILL);
	/* If the child is dead already, a grandchild holds the pipe. */
	finish_if_over(plugin);
}

static void take_bytes(struct pipe_end *end, const char *bytes, size_t len)
{
	if (!end->is_full && buf_append(&end->content, bytes, len) != 0)
		end->is_full = true;
}

static void on_readable(struct ev_loop *loop, ev_io *reader, int events)
{
	struct exec_plugin *plugin = reader->data;
	struct pipe_end *end = reader == &plugin->output.reader ? &plugin->output : &plugin->errors;
	char bytes[READ_LEN];
	(void)loop;
	(void)events;
	ssize_t got = read(reader->fd, bytes, sizeof(bytes));
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got > 0) {
		take_bytes(end, bytes, (size_t)got);
		explicit_bzero(bytes, sizeof(bytes));
		return;
	}
	close_end(plugin, end);
	finish_if_over(plugin);
}

/* ---- start ---- */

static bool same_name(const char *a, const char *b)
{
	size_t len = strcspn(a, "=");
	return len == strcspn(b, "=") && memcmp(a, b, len) == 0;
}

static bool is_replaced(const struct exec_plugin_call *call, const char *info, const char *entry)
{
	if (same_name(info, entry))
		return true;
	for (size_t i = 0; i < call->env_count; i++) {
		if (same_name(call->env[i], entry))
			return true;
	}
	return false;
}

/* The info, the kubeconfig's variables, and the rest of our environment, NULL-terminated. The texts are not copied. */
static char **make_env(const struct exec_plugin_call *call, char *info)
{
	size_t own = 0;
	while (environ[own] != NULL)
		own++;
	char **env = xcalloc(own + call->env_count + 2, sizeof(*env));
	size_t count = 0;
	env[count++] = info;
	for (size_t i = 0; i < call->env_count; i++)
		env[count++] = call->env[i];
	for (size_t i = 0; i < own; i++) {
		if (!is_replaced(call, info, environ[i]))
			env[count++] = environ[i];
	}
	return env;
}

static int set_up(
	posix_spawn_file_actions_t *actions, posix_spawnattr_t *attributes, int output, int errors)
{
	sigset_t defaults;
	sigemptyset(&defaults);
	sigaddset(&defaults, SIGPIPE);
	int err = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (err == 0)
		err = posix_spawn_file_actions_adddup2(actions, output, STDOUT_FILENO);
	if (err == 0)
		err = posix_spawn_file_actions_adddup2(actions, errors, STDERR_FILENO);
	if (err == 0)
		err = posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1);
	if (err == 0)
		err = posix_spawnattr_setsigdefault(attributes, &defaults);
	if (err == 0)
		err = posix_spawnattr_setpgroup(attributes, 0);
	if (err == 0)
		err = posix_spawnattr_setflags(
			attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
	return err;
}

static int spawn(const struct exec_plugin_call *call, int output, int errors, pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	char *info = xasprintf("KUBERNETES_EXEC_INFO=%s", call->info);
	char **env = make_env(call, info);
	char **argv = xcalloc(call->arg_count + 2, sizeof(*argv));
	char *command = xstrdup(call->command);
	argv[0] = command;
	for (size_t i = 0; i < call->arg_count; i++)
		argv[i + 1] = call->args[i];
	must(posix_spawn_file_actions_init(&actions) == 0 &&
		posix_spawnattr_init(&attributes) == 0);
	int err = set_up(&actions, &attributes, output, errors);
	if (err == 0)
		err = posix_spawnp(ret_pid, command, &actions, &attributes, argv, env);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attributes);
	free(command);
	free(argv);
	free(env);
	free(info);
	return -err;
}

static void watch_end(struct exec_plugin *plugin, struct pipe_end *end, int fd, size_t max)
{
	buf_init(&end->content, max);
	ev_io_init(&end->reader, on_readable, fd, EV_READ);
	end->reader.data = plugin;
	ev_io_start(plugin->loop, &end->reader);
}

struct exec_plugin *exec_plugin_start(const struct exec_plugin_call *call, int *ret_err)
{
	int output[2];
	int errors[2];
	pid_t pid = 0;
	if (pipe2(output, O_CLOEXEC) != 0) {
		*ret_err = -errno;
		return NULL;
	}
	if (pipe2(errors, O_CLOEXEC) != 0) {
		*ret_err = -errno;
		close(output[0]);
		close(output[1]);
		return NULL;
	}
	int err = spawn(call, output[1], errors[1], &pid);
	close(output[1]);
	close(errors[1]);
	if (err != 0) {
		close(output[0]);
		close(errors[0]);
		*ret_err = err;
		return NULL;
	}
	struct exec_plugin *plugin = xcalloc(1, sizeof(*plugin));
	plugin->loop = call->loop;
	plugin->pid = pid;
	plugin->on_done = call->on_done;
	plugin->ctx = call->ctx;
	ev_child_init(&plugin->child, on_exit_of_child, pid, 0);
	ev_timer_init(&plugin->timeout, on_timeout, call->timeout_s, 0.);
	plugin->child.data = plugin->timeout.data = plugin;
	ev_child_start(plugin->loop, &plugin->child);
	ev_timer_start(plugin->loop, &plugin->timeout);
	watch_end(plugin, &plugin->output, output[0], call->output_max);
	watch_end(plugin, &plugin->errors, errors[0], ERRORS_MAX);
	return plugin;
}

void exec_plugin_cancel(struct exec_plugin *plugin)
{
	if (plugin == NULL)
		return;
	kill(-plugin->pid, SIGKILL);
	free_plugin(plugin);
}
