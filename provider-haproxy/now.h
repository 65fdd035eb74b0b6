// SPDX-License-Identifier: Apache-2.0
/*
 * What HAProxy says of this moment (provider-proxy/traffic_now.h): how many requests of each Ingress are being served, from the table in which it tracks them, and
 * which servers its checks have found not to answer. Asked over a connection of its own, so that no change waits for it. Requests that the worker of before a
 * reload still serves are not among them.
 */
#pragma once

#include "provider-haproxy/engine_state.h"
#include "provider-proxy/traffic_now.h"

/* As traffic_source.ask; the context is the engine. */
void *now_ask(void *ctx, struct traffic_now *now, void (*on_done)(void *ctx), void *done_ctx);
void now_cancel(void *ctx);
