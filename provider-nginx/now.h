// SPDX-License-Identifier: Apache-2.0
/*
 * Metrics of the traffic of each Ingress (provider-proxy/traffic_server.h): sluice-proxy is asked for its counts, and nginx for what it says of this moment
 * (provider-proxy/traffic_now.h): how many requests of each Ingress are being served, and which endpoints its checks have found not to answer, or have refused a
 * connection. nginx is asked at its control socket, over a connection of its own, so that no batch waits for it.
 */
#pragma once

#include "provider-proxy/local.h"

struct now;

/* `control_socket` is called with each question, for the path of the control socket (allocated). All must live as long. NULL: the options want no metrics. */
struct now *now_new(struct daemon *daemon, struct local *local, const struct local_options *options,
	char *(*control_socket)(void *ctx), void *ctx);
/* When the admin server has gone. */
void now_free(struct now *now);
