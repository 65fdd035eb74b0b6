// SPDX-License-Identifier: Apache-2.0
/* Unix stream sockets: listen, connect, accept, and who the peer is. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A non-blocking listening socket at path, mode 0660. A socket of a listener that died is replaced;
 * a living one gives -EADDRINUSE. Returns the descriptor or a negative errno. */
int unix_listen(const char *path);
/* A non-blocking connected socket or a negative errno. Unix sockets connect at once or not at all.
 */
int unix_connect(const char *path);
/* A non-blocking accepted socket or a negative errno (-EAGAIN: nobody waits). */
int unix_accept(int listener);
/* The user id of the peer (SO_PEERCRED), 0 or a negative errno. */
int unix_peer_uid(int fd, uid_t *ret_uid);
