// SPDX-License-Identifier: Apache-2.0
#include "common/daemon_admin.h"

#include "common/inherited.h"
#include "common/log_events.h"
#include "common/users.h"
#include "common/xalloc.h"

#include <errno.h>

static void tell(const char *place, int err)
{
	if (err == 0)
		log_event(&EV_ADMIN_LISTENING, LOG_STR("address", place));
	else
		log_event(&EV_ADMIN_UNAVAILABLE, LOG_STR("address", place), LOG_ERRNO(err));
}

static char *listen_where_asked(struct admin_server *admin, const char *address, bool *ret_usage)
{
	int err = admin_listen_tcp(admin, address);
	if (err == 0) {
		log_event(&EV_ADMIN_LISTENING, LOG_STR("address", address),
			LOG_INT("port", admin_port(admin)));
		return NULL;
	}
	*ret_usage = err == -EINVAL;
	if (err == -EINVAL)
		return xasprintf(
			"--admin-address %s: ADDRESS:PORT is expected, with an IP address, or "
			"[ADDRESS]:PORT, or off",
			address);
	return xasprintf("--admin-address %s: %s", address, strerror(-err));
}

static char *listen_tcp(struct admin_server *admin, const struct daemon_options *options,
	bool is_inherited, const char *default_port, bool *ret_usage)
{
	char address[32];
	if (default_port == NULL)
		return NULL;
	if (options->admin_address != NULL && strcmp(options->admin_address, "off") == 0)
		return NULL;
	if (options->admin_address != NULL)
		return listen_where_asked(admin, options->admin_address, ret_usage);
	if (is_inherited)
		return NULL;
	snprintf(address, sizeof(address), "127.0.0.1:%s", default_port);
	tell(address, admin_listen_tcp(admin, address));
	return NULL;
}

static const char *short_name(const char *program)
{
	static const char family[] = "sluice-";
	return program + (strncmp(program, family, strlen(family)) == 0 ? strlen(family) : 0);
}

/* For a process without network that was passed a network socket. */
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
	struct admin_server *admin, const struct daemon_options *options, const char *program)
{
	const char *dir = options->admin_dir != NULL ? options->admin_dir : options->runtime_dir;
	char *path = xasprintf("%s/%s.admin", dir, short_name(program));
	tell(path, admin_listen_unix(admin, path));
	free(path);
}

struct admin_server *daemon_admin_open(struct ev_loop *loop, const struct daemon_options *options,
	const char *program, const char *default_port, char **ret_problem, bool *ret_usage)
{
	uid_t uids[ADMIN_UIDS_MAX];
	char *problem = users_read("admin-allow-uid", &options->admin_uids, ADMIN_UIDS_MAX, uids);
	if (problem == NULL && default_port == NULL)
		problem = refuse_network(program);
	if (problem != NULL) {
		*ret_usage = true;
		*ret_problem = problem;
		return NULL;
	}
	struct admin_server *admin = admin_server_new(loop, uids, options->admin_uids.count);
	unsigned inherited = admin_listen_inherited(admin);
	if (inherited != 0)
		tell("from the service manager", 0);
	if ((inherited & ADMIN_UNIX) == 0)
		listen_unix(admin, options, program);
	problem = listen_tcp(admin, options, (inherited & ADMIN_TCP) != 0, default_port, ret_usage);
	if (problem != NULL) {
		admin_server_free(admin);
		*ret_problem = problem;
		return NULL;
	}
	return admin;
}
