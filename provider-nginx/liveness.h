// SPDX-License-Identifier: Apache-2.0
/* Whether nginx answers, through its ports and its control socket: provider-proxy/probe.h for nginx. */
#pragma once

#include "provider-proxy/local.h"
#include "provider-proxy/probe.h"
#include "provider-proxy/proxy.h"
#include "provider-nginx/conf.h"
#include "provider-nginx/feed.h"

/* All must outlive what is made of it. */
struct liveness {
	struct local *local;
	struct feed *feed;
	struct proxy *proxy;
	double timeout_s;
	void (*on_change)(void *ctx);
	void *ctx;
};

/* To be freed by probe_free(). */
struct probe *liveness_start(const struct liveness *liveness);
/* nginx serves what stands in `file`, of which these were the ports: pieces that it refuses are not asked for. */
void liveness_on_loaded(struct probe *probe, const struct ports *ports, struct str file);
