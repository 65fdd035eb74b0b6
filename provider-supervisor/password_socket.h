// SPDX-License-Identifier: Apache-2.0
/*
 * Where HAProxy, whose event loop cannot wait for a hash, asks whether a password fits: a stream socket in its folder, for root and our own user. One question
 * and one answer for each connection, which ends with it:
 *
 *   LIST HASH PASSWORD    the name of a list of users, and hash and password in hexadecimal digits
 *   yes | no | busy       busy: too many are being checked
 *
 * What is no question is not answered. Nothing of a question is kept or logged.
 */
#pragma once

#include <ev.h>

enum { PASSWORD_SOCKET_ASKERS_MAX = 1024 }; /* connections; further ones are refused */

struct password_socket;

/* `path` is copied. NULL and a negative errno in *ret_err if the socket cannot be made. */
struct password_socket *password_socket_new(struct ev_loop *loop, const char *path, int *ret_err);
void password_socket_free(struct password_socket *socket);
