// SPDX-License-Identifier: Apache-2.0
/*
 * What a Service of type LoadBalancer asks for: a listener for each of its ports of TCP and UDP, on a load
 * balancer of its own or on that of our class. spec.loadBalancerClass decides whether it is ours.
 * One that no longer is, or is being deleted, but still has our finalizer, is leaving: its load
 * balancer must be removed first (Kubernetes' cloud-provider, service controller). Pure.
 */
#pragma once

#include "translator/plan.h"

enum { LAYER4_PORTS_MAX = 256, LAYER4_RANGES_MAX = 256 };

/* Whether the Service can concern us at all, under any settings. */
bool layer4_is_front(const struct service_record *service);
void layer4_plan(const struct service_record *service, const struct plan_context *context,
	struct arena *arena, struct plan *ret_plan, struct diag_list *diags);
