// SPDX-License-Identifier: Apache-2.0
/*
 * Services of type LoadBalancer as owners. Those that are ours get addresses in their status, like
 * Ingresses. One that is no longer ours, but still has our finalizer, is leaving: once the provider
 * reports that it has applied the load balancer as last sent, nothing of the Service is left in it,
 * and the Service is released (Kubernetes' cloud-provider, service controller: the finalizer goes
 * last).
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

/* Something changed that may allow a release. */
void fronts_release_again(struct fronts *fronts);
/* Whether a leaving one may have become releasable since the last look. */
bool fronts_release_is_due(const struct fronts *fronts);
/* A look begins now. False: none is leaving. */
bool fronts_begin_release(struct fronts *fronts);
/* After its targets were set by the plan. */
void fronts_changed(struct fronts *fronts, struct ingress_node *front, const struct plan *plan);
void fronts_gone(struct fronts *fronts, struct ingress_node *front);
/* Queues the statuses of those on the load balancer. */
void fronts_ask(struct fronts *fronts, struct balancer_node *balancer);
/* The provider has applied the load balancer as last sent. */
void fronts_answered(struct fronts *fronts, struct balancer_node *balancer);
