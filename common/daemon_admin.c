// SPDX-License-Identifier: Apache-2.0
#include "common/daemon_admin.h"

#include "common/inherited.h"
#include "common/log_events.h"
#include "common/must.h"
#include "common/users.h"
#include "common/xalloc.h"

#include <errno.h>

static void add_place(struct daemon_admin *admin, const char *address, int port, int err)
{
	must(admin->place_count < DAEMON_ADMIN_PLACES_MAX);
	admin->places[admin->place_count++] =
		(struct daemon_admin_place){.address = xstrdup(address), .port = port, .err = err};
}

static void tell_place(const struct daemon_admin_place *place)
{
	if (place->err != 0)
		log_event(&EV_ADMIN_UNAVAILABLE, LOG_STR("address", place->address),
			LOG_ERRNO(place->err));
	else if (place->port != 0)
		log_event(&EV_ADMIN_LISTENING, LOG_STR("address", place->address),
			LOG_INT("port", place->port));
	else
		log_event(&EV_ADMIN_LISTENING, LOG_STR("address", place->address));
}

void daemon_admin_forget(struct daemon_admin *admin)
{
	for (size_t i = 0; i < admin->place_count; i++)
		free(admin->places[i].address);
	admin->place_count = 0;
}

void daemon_admin_tell(struct daemon_admin *admin)
{
	for (size_t i = 0; i < admin->place_count; i++)
		tell_place(&admin->places[i]);
	daemon_admin_forget(admin);
}

static char *listen_where_asked(struct daemon_admin *admin, const char *address, bool *ret_usage)
{
	int err = admin_listen_tcp(admin->server, address);
	if (err == 0) {
		add_place(admin, address, admin_port(admin->server), 0);
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

static char *listen_tcp(struct daemon_admin *admin, const struct daemon_options *options,
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
	add_place(admin, address, 0, admin_listen_tcp(admin->server, address));
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
	struct daemon_admin *admin, const struct daemon_options *options, const char *program)
{
	const char *dir = options->admin_dir != NULL ? options->admin_dir : options->runtime_dir;
	char *path = xasprintf("%s/%s.admin", dir, short_name(program));
	add_place(admin, path, 0, admin_listen_unix(admin->server, path));
	free(path);
}

static char *listen_everywhere(struct daemon_admin *admin, const struct daemon_options *options,
	const char *program, const char *default_port, bool *ret_usage)
{
	unsigned inherited = admin_listen_inherited(admin->server);
	if (inherited != 0)
		add_place(admin, "from the service manager", 0, 0);
	if ((inherited & ADMIN_UNIX) == 0)
		listen_unix(admin, options, program);
	return listen_tcp(admin, options, (inherited & ADMIN_TCP) != 0, default_port, ret_usage);
}

char *daemon_admin_open(struct daemon_admin *ret_admin, struct ev_loop *loop,
	const struct daemon_options *options, const char *program, const char *default_port,
	bool *ret_usage)
{
	uid_t uids[ADMIN_UIDS_MAX];
	*ret_admin = (struct daemon_admin){0};
	char *problem = users_read("admin-allow-uid", &options->admin_uids, ADMIN_UIDS_MAX, uids);
	if (problem == NULL && default_port == NULL)
		problem = refuse_network(program);
	if (problem != NULL) {
		*ret_usage = true;
		return problem;
	}
	ret_admin->server = admin_server_new(loop, uids, options->admin_uids.count);
	problem = listen_everywhere(ret_admin, options, program, default_port, ret_usage);
	if (problem != NULL) {
		daemon_admin_forget(ret_admin);
		admin_server_free(ret_admin->server);
		ret_admin->server = NULL;
	}
	return problem;
}
