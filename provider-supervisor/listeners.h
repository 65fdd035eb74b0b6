// SPDX-License-Identifier: Apache-2.0
/*
 * Listening TCP sockets, taken from a running proxy and handed to the next one: either can accept the connections waiting in such a socket's
 * queue, so none is refused between the two. Everything here waits for a second or two at most.
 */
#pragma once

#include "provider-supervisor/transfer.h"

#include <sys/types.h>

struct listeners {
	int *fds;     /* close-on-exec */
	size_t count; /* at most TRANSFER_SOCKETS_MAX */
};

/* Closes them all. */
void listeners_fini(struct listeners *listeners);

/* Those of an HAProxy, handed out by its stats socket. 0 or a negative errno. */
int listeners_of_haproxy(const char *socket_path, struct listeners *ret_listeners);
/* Those of a process that we may inspect, such as a child of ours. 0 or a negative errno; -EPERM: the kernel does not let us. */
int listeners_of_process(pid_t pid, int pidfd, struct listeners *ret_listeners);

/* Answers one HAProxy that is connected to `fd`, as in transfer.h. 0 or a negative errno. */
int listeners_answer(int fd, const struct listeners *listeners);

/* "ADDRESS<tab>PORT"; false when it has none. */
enum { LISTENERS_ADDRESS_MAX = 64 };
bool listeners_describe(int fd, char text[LISTENERS_ADDRESS_MAX]);

/* A message with descriptors: `count` at most TRANSFER_BATCH_MAX. 0 or a negative errno. */
int listeners_send(int fd, struct str bytes, const int *fds, size_t count);
/* Appends the bytes received to `in`, and the descriptors received to the list; those that are not listening TCP sockets are closed. Returns how
 * many bytes, 0 at the end, or a negative errno; -E2BIG: more than TRANSFER_SOCKETS_MAX. `*received` counts all descriptors. */
ssize_t listeners_receive(int fd, struct buf *in, struct listeners *listeners, size_t *received);
/* A connected socket that waits for a second at most, or a negative errno. */
int listeners_connect(const char *path);
void listeners_make_patient(int fd);
