// SPDX-License-Identifier: Apache-2.0
/*
 * The provider: whether it is there, and what it can do. What it was told stays in force while it is away.
 */
#pragma once

#include "translator/engine.h"
#include "translator/plan.h"

struct provider_peer;

/* `ops` must stay valid. */
struct provider_peer *provider_peer_new(const struct engine_ops *ops, void *ctx);
void provider_peer_free(struct provider_peer *provider);

/* True: what it can do differs from what held until now. Before provider_peer_up(). */
bool provider_peer_take_capabilities(
	struct provider_peer *provider, const struct capabilities *capabilities);
void provider_peer_up(struct provider_peer *provider);
void provider_peer_down(struct provider_peer *provider);
bool provider_peer_is_up(const struct provider_peer *provider);

enum grouping provider_peer_grouping(const struct provider_peer *provider);
/* All Ingresses of a class share a load balancer. */
bool provider_peer_is_merged(const struct provider_peer *provider);
/* Whether it can serve listeners of that protocol; true while nothing is known. */
bool provider_peer_can_serve(const struct provider_peer *provider, struct str protocol);
struct plan_limits provider_peer_limits(const struct provider_peer *provider);

/* Where to write; NULL: nobody is there, or there is no room. */
struct buf *provider_peer_out(const struct provider_peer *provider);
void provider_peer_flush(const struct provider_peer *provider);
