// SPDX-License-Identifier: Apache-2.0
/* Listening sockets that the service manager passed (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES as in sd_listen_fds(3)). */
#pragma once

/* The next one whose name is `name`, or that is a Unix socket whose bound path ends in "/name"; non-blocking from now on. *position is 0 at
 * first, and moves on. -ENOENT when there is none left. */
int inherited_listener(const char *name, int *position);
/* The first that is no Unix socket, whatever its name; it stays as it is. -ENOENT: there is none. */
int inherited_network_socket(void);
