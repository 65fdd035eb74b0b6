// SPDX-License-Identifier: Apache-2.0
/* Opens the admin server of a process on the addresses in its options. */
#pragma once

#include "common/daemon.h"

/* On the Unix socket and, unless default_port is NULL, by TCP. What the service manager hands over stands for the default; a default that is not to be had is logged, and gone without. NULL: *ret_problem
 * says what is wrong with what was asked for (the caller frees it), and *ret_usage = true that it can never work. */
struct admin_server *daemon_admin_open(struct ev_loop *loop, const struct daemon_options *options,
	const char *program, const char *default_port, char **ret_problem, bool *ret_usage);
