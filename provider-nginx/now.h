// SPDX-License-Identifier: Apache-2.0
/*
 * What nginx says of this moment (provider-proxy/traffic_now.h): how many requests of each Ingress are being served, and which endpoints its checks have found not to
 * answer, or have refused a connection. Asked at its control socket, over a connection of its own, so that no batch waits for it.
 */
#pragma once

#include "provider-proxy/traffic_now.h"

#include <ev.h>

struct now;

/* `socket` is called with each question, for the path of the control socket (allocated). */
struct now *now_new(struct ev_loop *loop, char *(*socket)(void *ctx), void *ctx);
/* When nothing is asked any more. */
void now_free(struct now *now);

/* As traffic_source.ask and .cancel; the context is the struct now. */
void *now_ask(void *ctx, struct traffic_now *told, void (*on_done)(void *ctx), void *done_ctx);
void now_cancel(void *asked);
