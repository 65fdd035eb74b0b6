// SPDX-License-Identifier: Apache-2.0
/* Opens the admin server of a process on the addresses in its options. */
#pragma once

#include "common/daemon.h"

enum { DAEMON_ADMIN_PLACES_MAX = 3 }; /* the service manager's, the Unix socket, TCP */

struct daemon_admin_place {
	char *address;
	int port; /* 0: it says nothing that the address does not */
	int err;  /* -errno: it is gone without */
};

/* What is open, and what is to be said of it once the process has started: who gave wrong options wants to read of those alone. */
struct daemon_admin {
	struct admin_server *server; /* NULL: not open */
	struct daemon_admin_place places[DAEMON_ADMIN_PLACES_MAX];
	size_t place_count;
};

/* On the Unix socket and, unless default_port is NULL, by TCP. What the service manager hands over stands for the default; a default that is
 * not to be had is gone without. Returns NULL, or what is wrong with what was asked for (the caller frees it; nothing is open then), with
 * *ret_usage = true if it can never work. The caller frees ret_admin->server, and calls daemon_admin_tell() or daemon_admin_forget(). */
char *daemon_admin_open(struct daemon_admin *ret_admin, struct ev_loop *loop,
	const struct daemon_options *options, const char *program, const char *default_port,
	bool *ret_usage);
/* Logs where it listens, and where it does not, and forgets it. */
void daemon_admin_tell(struct daemon_admin *admin);
void daemon_admin_forget(struct daemon_admin *admin);
