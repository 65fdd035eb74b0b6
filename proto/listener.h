// SPDX-License-Identifier: Apache-2.0
/*
 * The socket on which a link awaits its peer: inherited from the service manager or made here. Only certain users may connect. Whoever else
 * does, or is not taken by the owner, is told why, and closed.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

enum { LISTENER_UIDS_MAX = 16 };

struct listener;

struct listener_config {
	struct ev_loop *loop;
	const char *path;          /* of the socket, when none is inherited */
	const char *socket_name;   /* its name with the service manager, such as "source.sock" */
	const char *peer;          /* what connects, for the log; kept */
	const uid_t *allowed_uids; /* root and our own are always allowed */
	size_t allowed_count;      /* at most LISTENER_UIDS_MAX */
	const char *allow_option;  /* name of the option that adds to them, for the log; kept */
	/* Takes the connection and returns NULL, or says why it is refused; then it is closed. The text is good until the next call. */
	const char *(*take)(void *ctx, int fd);
	/* Tells the peer why, before it is closed. NULL: it is told nothing. */
	void (*refused)(int fd, const char *reason);
	/* The file of the socket was removed or replaced: nobody can connect any more. `is_inherited`: the service manager made it. */
	void (*gone)(void *ctx, bool is_inherited);
	void *ctx;
};

/* NULL and a negative errno in *ret_err when the socket cannot be made. */
struct listener *listener_new(const struct listener_config *config, int *ret_err);
void listener_free(struct listener *listener);
