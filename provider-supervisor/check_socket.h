// SPDX-License-Identifier: Apache-2.0
/*
 * Where HAProxy, whose event loop cannot wait for a hash, asks for checks: a stream socket in its folder, for root and our own user. One question and one answer, each
 * a line (checks.h), for each connection, which ends with it. What is no question is not answered; "busy" is the answer when too many are being checked. Nothing of a
 * question is kept or logged.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>

enum { CHECK_SOCKET_ASKERS_MAX = 1024 }; /* connections; further ones are refused */

struct check_socket;

/* `path` is copied. NULL and a negative errno in *ret_err if the socket cannot be made. on_gone(): as `gone` of proto/listener.h. */
struct check_socket *check_socket_new(struct ev_loop *loop, const char *path,
	void (*on_gone)(void *ctx, const char *path, bool is_inherited), void *ctx, int *ret_err);
void check_socket_free(struct check_socket *socket);
