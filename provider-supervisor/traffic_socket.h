// SPDX-License-Identifier: Apache-2.0
/*
 * Tells what traffic_counts.h has counted: GET /v1/traffic over HTTP, on a socket in the proxy's folder for root and our own user. The provider makes metrics of it (provider-proxy/traffic_server.h).
 */
#pragma once

#include "provider-supervisor/traffic_counts.h"

#include <ev.h>

struct traffic_socket;

/* `path` is copied, `counts` must live as long. NULL and a negative errno in *ret_err if the socket cannot be made. on_gone(): as `gone` of
 * proto/listener.h, but never with a socket of the service manager. */
struct traffic_socket *traffic_socket_new(struct ev_loop *loop, const char *path,
	struct traffic_counts *counts,
	void (*on_gone)(void *ctx, const char *path, bool is_inherited), void *ctx, int *ret_err);
void traffic_socket_free(struct traffic_socket *socket);
