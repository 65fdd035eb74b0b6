// SPDX-License-Identifier: Apache-2.0
/*
 * /metrics/ingresses of the admin server: whoever counts (nginx, or sluice-proxy for HAProxy) is asked for its counts when somebody asks for them, and at no other
 * time. While it is away the answer is empty.
 */
#pragma once

#include "common/admin_server.h"

struct traffic_server;

/* Who tells counts (traffic.h), over HTTP. */
struct traffic_source {
	const char *url;            /* must live as long as the server */
	char *(*socket)(void *ctx); /* where it listens at the moment, allocated */
	void *ctx;
};

/* The source is copied. */
struct traffic_server *traffic_server_new(
	struct ev_loop *loop, struct admin_server *admin, const struct traffic_source *source);
/* When the admin server has gone. */
void traffic_server_free(struct traffic_server *server);
