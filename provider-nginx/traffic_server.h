// SPDX-License-Identifier: Apache-2.0
/*
 * /metrics/ingresses of the admin server: nginx is asked for its counts when somebody asks for them, and at no other time. Without nginx the answer is empty.
 */
#pragma once

#include "common/admin_server.h"

struct traffic_server;

/* `socket` says where the control socket is at the moment, allocated. */
struct traffic_server *traffic_server_new(
	struct ev_loop *loop, struct admin_server *admin, char *(*socket)(void *ctx), void *ctx);
/* When the admin server has gone. */
void traffic_server_free(struct traffic_server *server);
