// SPDX-License-Identifier: Apache-2.0
/*
 * Services of type LoadBalancer as owners. Being ours is told with addresses, like an Ingress. One
 * that is ours no longer, but held by our finalizer, is leaving: when the provider has said of the
 * load balancer, as it was sent last, that it is applied, nothing of the Service is left in it, and
 * it is released (Kubernetes' cloud-provider, service controller: the finalizer goes last).
 */
#pragma once

#include "translator/pending.h"
#include "translator/plan.h"
#include "translator/provider_peer.h"

struct fronts;

/* All must stay valid. */
struct fronts *fronts_new(
	struct graph *graph, const struct provider_peer *provider, struct pending *pending);
void fronts_free(struct fronts *fronts);

/* Something has changed that may let one go. */
void fronts_release_again(struct fronts *fronts);
/* Whether one that is leaving may be able to go, since it was looked at last. */
bool fronts_release_is_due(const struct fronts *fronts);
/* It is looked at now. False: none is leaving. */
bool fronts_begin_release(struct fronts *fronts);
/* After its targets were set by the plan. */
void fronts_changed(struct fronts *fronts, struct ingress_node *front, const struct plan *plan);
void fronts_gone(struct fronts *fronts, struct ingress_node *front);
/* Has the statuses of those on the load balancer told anew. */
void fronts_ask(struct fronts *fronts, struct balancer_node *balancer);
/* The provider says that the load balancer is as it was sent last. */
void fronts_answered(struct fronts *fronts, struct balancer_node *balancer);
