// SPDX-License-Identifier: Apache-2.0
/* Listening sockets that the service manager passed (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES as in sd_listen_fds(3)). */
#pragma once

/* The next one called `name`, or that is a Unix socket whose bound path ends in "/name"; it is made non-blocking. *position is 0 at first,
 * and is advanced. -ENOENT: none left. */
int inherited_listener(const char *name, int *position);
/* The first that is not a Unix socket, whatever its name; it is left unchanged. -ENOENT: none. */
int inherited_network_socket(void);
