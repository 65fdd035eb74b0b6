// SPDX-License-Identifier: Apache-2.0
/*
 * Policies: what annotations of an Ingress may ask for that not every provider supports. A provider
 * lists those it supports in capabilities.policies, by the words of annotations.def; others are refused by name.
 * Pure.
 */
#pragma once

#include "translator/plan.h"

/* Removes from plan->values what the provider does not support, and reports it. */
void policies_refuse(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *plan, struct diag_list *diags);
/* Where a whole class shares a load balancer, stickiness, health checks and backend settings belong to pools:
 * gives the pool those that the plan has for it, and with them a distinct name. */
void policies_settle_pool(const struct plan *plan, struct arena *arena, struct plan_pool *pool);
/* Gives the pool what was settled for it, less what the provider lacks (bits of enum policy_bit). */
void policies_fill_pool(
	const struct plan_pool *settings, uint64_t missing, struct arena *arena, struct pool *pool);
