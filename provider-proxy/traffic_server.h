// SPDX-License-Identifier: Apache-2.0
/*
 * /metrics/ingresses of the admin server: sluice-proxy, which counts, is asked for its counts when somebody asks for them, and at no other
 * time. While it is away the answer is empty.
 */
#pragma once

#include "provider-proxy/local.h"
#include "provider-proxy/traffic_now.h"

struct traffic_server;

/* Who tells counts (traffic.h), and what is being served. */
struct traffic_source {
	char *(*socket)(void *ctx); /* where sluice-proxy listens at the moment, allocated */
	/* Asks the proxy for lines of traffic_now.h, when the counts are there: puts them into `now`, and calls `on_done`, though not during the
	 * call. What is returned is given to `cancel`, when they are not wanted any more, or after `on_done`. */
	void *(*ask)(
		void *ctx, struct traffic_now *now, void (*on_done)(void *ctx), void *done_ctx);
	void (*cancel)(void *asked);
	void *ctx;
};

/* The source is copied; the others must live as long. NULL: the options want no metrics. */
struct traffic_server *traffic_server_new(struct daemon *daemon, struct local *local,
	const struct local_options *options, const struct traffic_source *source);
/* When the admin server has gone. */
void traffic_server_free(struct traffic_server *server);
