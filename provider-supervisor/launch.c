// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/launch.h"

#include "common/files.h"
#include "common/program.h"
#include "common/sandbox.h"
#include "common/xalloc.h"
#include "proto/proxy_folder.h"
#include "provider-supervisor/log_events.h"
#include "provider-supervisor/offer.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct launch {
	struct ev_loop *loop;
	const struct kind *kind;
	struct kind_folders folders;
	struct offer *offer; /* to the most recently started HAProxy */
};

static int open_file(const struct launch *launch, const char *name)
{
	char *path = xasprintf("%s/%s", launch->folders.proxy_dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	free(path);
	return fd >= 0 ? fd : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

/* Left by a release in which the proxy had no folder of its own. */
static void remove_former_sockets(const struct launch *launch)
{
	const char *state_dir = launch->folders.state_dir;
	if (strcmp(launch->folders.proxy_dir, state_dir) == 0)
		return;
	static const char *const ours[] = {SUPERVISOR_SOCKET, TRAFFIC_SOCKET};
	kind_remove_sockets(launch->kind, state_dir);
	for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		char *socket = xasprintf("%s/%s", state_dir, ours[i]);
		(void)files_remove(socket);
		free(socket);
	}
}

/* Where HAProxy can fetch them; NULL: not at all. */
static char *offer_listeners(struct launch *launch, struct listeners *listeners)
{
	int err = 0;
	char *path = xasprintf("%s/listeners.sock", launch->folders.proxy_dir);
	launch->offer = offer_new(launch->loop, path, listeners, &err);
	if (launch->offer != NULL)
		return path;
	log_event(&EV_OFFER_FAILED, LOG_ERRNO(err));
	free(path);
	return NULL;
}

_Noreturn static void exec_proxy(
	char *const *argv, int lines, int log, const struct listeners *listeners, bool is_nginx)
{
	/* A reload may be asked for as soon as nginx has been started, and before it has a handler SIGHUP would end it. It unblocks the
	 * signal when it has one (sigsuspend(2) in its master, and its workers block none), and reloads then. */
	sigset_t held;
	sigemptyset(&held);
	if (is_nginx)
		sigaddset(&held, SIGHUP);
	/* In a session of its own: its workers are recognised by it, and signals to our terminal or group do not reach it. */
	setsid();
	if (is_nginx && listeners->count != 0)
		setenv("NGINX", transfer_nginx_variable(PROGRAM_FIRST_KEPT, listeners->count), 1);
	sandbox_forbid_descriptors();
	program_become_with(argv, lines, log, listeners->fds, listeners->count, &held);
}

pid_t launch_run(struct launch *launch, struct listeners *listeners)
{
	struct kind_command command;
	const bool is_fetching = launch->kind->fetches_listeners;
	int log = open_file(launch, launch->kind->log_file);
	int lines = launch->kind->lines_file != NULL ? open_file(launch, launch->kind->lines_file)
						     : fcntl(log, F_DUPFD_CLOEXEC, 0);
	kind_remove_sockets(launch->kind, launch->folders.proxy_dir);
	remove_former_sockets(launch);
	offer_free(launch->offer);
	launch->offer = NULL;
	char *offered =
		listeners->count != 0 && is_fetching ? offer_listeners(launch, listeners) : NULL;
	kind_start_command(launch->kind, &launch->folders, offered, &command);
	pid_t pid = fork();
	if (pid == 0)
		exec_proxy(command.argv, lines, log, listeners, !is_fetching);
	kind_command_fini(&command);
	free(offered);
	listeners_fini(listeners);
	if (log >= 0)
		close(log);
	if (lines >= 0)
		close(lines);
	return pid;
}

struct launch *launch_new(const struct launch_config *config)
{
	struct launch *launch = xcalloc(1, sizeof(*launch));
	launch->loop = config->loop;
	launch->kind = config->kind;
	launch->folders = config->folders;
	return launch;
}

void launch_free(struct launch *launch)
{
	if (launch == NULL)
		return;
	offer_free(launch->offer);
	free(launch);
}
