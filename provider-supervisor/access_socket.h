// SPDX-License-Identifier: Apache-2.0
/*
 * Where HAProxy, which writes no files, sends the lines of its access log: a stream socket in its folder. They are appended to the file from which
 * access_log.h takes them, as those of nginx are. HAProxy keeps lines in a ring in memory while nobody listens, and never waits.
 *
 * Lines are read now and then, not as they come: to be woken for each, and to wake, would cost as much as a third of the request that it is about. The longer
 * nobody reads, the more lines does HAProxy send at a time.
 *
 * A line about what was no request begins with a mark, the number of the connection's error and a blank, which are taken away; unless that is 0 the line
 * is left out. What a line has for traffic_counts.h is counted and taken away.
 */
#pragma once

#include "provider-supervisor/traffic_counts.h"

#include <ev.h>

enum {
	ACCESS_SOCKET_LINE_MAX = 256 * 1024, /* who sends a longer one is cut off */
	ACCESS_SOCKET_SENDERS_MAX =
		64, /* workers of HAProxy, of which a reload makes another one */
	ACCESS_SOCKET_ERROR_MARK = '!', /* access_log.cfg.tmpl of provider-haproxy */
};

struct access_socket;

/* `path`: of the socket, for root and our own user. `file`: where lines are appended, at once. Both are copied. `counts` must live as long. NULL and a negative
 * errno in *ret_err if the socket cannot be made. */
struct access_socket *access_socket_new(struct ev_loop *loop, const char *path, const char *file,
	struct traffic_counts *counts, int *ret_err);
void access_socket_free(struct access_socket *socket);
