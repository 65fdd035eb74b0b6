// SPDX-License-Identifier: Apache-2.0
#include "common/daemon_window.h"

#include "common/inherited.h"
#include "common/log_events.h"
#include "common/users.h"
#include "common/xalloc.h"

#include <errno.h>

static void tell(const char *place, int err)
{
	if (err == 0)
		log_event(&EV_WINDOW_LISTENING, LOG_STR("address", place));
	else
		log_event(&EV_WINDOW_UNAVAILABLE, LOG_STR("address", place), LOG_ERRNO(err));
}

static char *listen_where_asked(struct window *window, const char *address, bool *ret_usage)
{
	int err = window_listen_tcp(window, address);
	if (err == 0) {
		log_event(&EV_WINDOW_LISTENING, LOG_STR("address", address),
			LOG_INT("port", window_port(window)));
		return NULL;
	}
	*ret_usage = err == -EINVAL;
	if (err == -EINVAL)
		return xasprintf("--window %s: ADDRESS:PORT is expected, with an IP address, or "
				 "[ADDRESS]:PORT, or off",
			address);
	return xasprintf("--window %s: %s", address, strerror(-err));
}

static char *listen_tcp(struct window *window, const struct daemon_options *options,
	bool is_inherited, const char *default_port, bool *ret_usage)
{
	char address[32];
	if (default_port == NULL)
		return NULL;
	if (options->window != NULL && strcmp(options->window, "off") == 0)
		return NULL;
	if (options->window != NULL)
		return listen_where_asked(window, options->window, ret_usage);
	if (is_inherited)
		return NULL;
	snprintf(address, sizeof(address), "127.0.0.1:%s", default_port);
	tell(address, window_listen_tcp(window, address));
	return NULL;
}

static const char *short_name(const char *program)
{
	static const char family[] = "sluice-";
	return program + (strncmp(program, family, strlen(family)) == 0 ? strlen(family) : 0);
}

/* A process without network, which was handed a socket of it nevertheless. */
static char *refuse_network(const char *program)
{
	int fd = inherited_network_socket();
	return fd < 0 ? NULL
		      : xasprintf("the service manager has handed over a socket of the network "
				  "(descriptor %d), and %s has none; hand it to `sluicectl serve "
				  "%s`",
				fd, program, short_name(program));
}

static void listen_unix(
	struct window *window, const struct daemon_options *options, const char *program)
{
	const char *dir = options->window_dir != NULL ? options->window_dir : options->runtime_dir;
	char *path = xasprintf("%s/%s.window", dir, short_name(program));
	tell(path, window_listen_unix(window, path));
	free(path);
}

struct window *daemon_window_open(struct ev_loop *loop, const struct daemon_options *options,
	const char *program, const char *default_port, char **ret_problem, bool *ret_usage)
{
	uid_t uids[WINDOW_UIDS_MAX];
	char *problem =
		users_read("window-allow-uid", &options->window_uids, WINDOW_UIDS_MAX, uids);
	if (problem == NULL && default_port == NULL)
		problem = refuse_network(program);
	if (problem != NULL) {
		*ret_usage = true;
		*ret_problem = problem;
		return NULL;
	}
	struct window *window = window_new(loop, uids, options->window_uids.count);
	unsigned inherited = window_listen_inherited(window);
	if (inherited != 0)
		tell("from the service manager", 0);
	if ((inherited & WINDOW_UNIX) == 0)
		listen_unix(window, options, program);
	problem =
		listen_tcp(window, options, (inherited & WINDOW_TCP) != 0, default_port, ret_usage);
	if (problem != NULL) {
		window_free(window);
		*ret_problem = problem;
		return NULL;
	}
	return window;
}
