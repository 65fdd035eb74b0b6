// SPDX-License-Identifier: Apache-2.0
/*
 * The socket on which a link awaits its peer: inherited from the service manager or created here. Only certain users may connect. Others,
 * and those that the owner refuses, are sent the reason and disconnected.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

enum { LISTENER_UIDS_MAX = 16 };

struct listener;

struct listener_config {
	struct ev_loop *loop;
	const char *path;          /* of the socket, when none is inherited; copied */
	const char *socket_name;   /* its name with the service manager, such as "source.sock" */
	const char *peer;          /* what connects, for the log; not copied */
	const uid_t *allowed_uids; /* root and our own are always allowed */
	size_t allowed_count;      /* at most LISTENER_UIDS_MAX */
	const char
		*allow_option; /* name of the option that adds to them, for the log; not copied */
	/* Takes the connection and returns NULL, or returns why it is refused; then it is closed. The text is valid until the next
	 * call. */
	const char *(*take)(void *ctx, int fd);
	/* Sends the peer the reason before it is closed. NULL: nothing is sent. */
	void (*refused)(int fd, const char *reason);
	/* The file of the socket, `path`, was removed or replaced: nobody can connect any more. `is_inherited`: the service manager created it, and
	 * a restart would get the same one again. */
	void (*gone)(void *ctx, const char *path, bool is_inherited);
	void *ctx;
};

/* NULL and a negative errno in *ret_err if the socket cannot be created. */
struct listener *listener_new(const struct listener_config *config, int *ret_err);
void listener_free(struct listener *listener);
/* Likewise, and removes the file, unless it is the service manager's. */
void listener_remove(struct listener *listener);
