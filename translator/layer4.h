// SPDX-License-Identifier: Apache-2.0
/*
 * What a Service of type LoadBalancer asks for: a TCP listener for each of its ports, on a load
 * balancer of its own or on that of our class. It is ours by spec.loadBalancerClass; one that is so
 * no longer, or is being deleted, but is held by our finalizer, is leaving: its load balancer must
 * be gone before it may go (Kubernetes' cloud-provider, service controller). Pure.
 */
#pragma once

#include "translator/plan.h"

enum { LAYER4_PORTS_MAX = 256, LAYER4_RANGES_MAX = 256 };

/* Whether the Service can concern us at all, whatever the settings are. */
bool layer4_is_front(const struct service_record *service);
void layer4_plan(const struct service_record *service, const struct plan_context *context,
	struct arena *arena, struct plan *ret_plan, struct diag_list *diags);
