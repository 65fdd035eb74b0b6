// SPDX-License-Identifier: Apache-2.0
/*
 * The provider: whether it is connected, and its capabilities, which stay in force while it is
 * disconnected.
 */
#pragma once

#include "translator/engine.h"
#include "translator/plan.h"

struct provider_peer;

/* `ops` must stay valid. */
struct provider_peer *provider_peer_new(const struct engine_ops *ops, void *ctx);
void provider_peer_free(struct provider_peer *provider);

/* True: its capabilities differ from those in force until now. Call before provider_peer_up(). */
bool provider_peer_take_capabilities(struct provider_peer *provider, const struct hello *peer);
void provider_peer_up(struct provider_peer *provider);
void provider_peer_down(struct provider_peer *provider);
bool provider_peer_is_up(const struct provider_peer *provider);

enum grouping provider_peer_grouping(const struct provider_peer *provider);
/* Whether all Ingresses of a class share a load balancer. */
bool provider_peer_is_merged(const struct provider_peer *provider);
/* Whether it says which commits it has applied. */
bool provider_peer_reports_applied(const struct provider_peer *provider);
/* Whether it can serve listeners of that protocol; true while nothing is known. */
bool provider_peer_can_serve(const struct provider_peer *provider, struct str protocol);
struct plan_limits provider_peer_limits(const struct provider_peer *provider);

/* Where to write; NULL: no provider, or no room. */
struct buf *provider_peer_out(const struct provider_peer *provider);
void provider_peer_flush(const struct provider_peer *provider);
