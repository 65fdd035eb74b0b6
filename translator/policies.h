// SPDX-License-Identifier: Apache-2.0
/*
 * Policies: what annotations of an Ingress may ask for that not every provider supports. A provider
 * lists those it supports in capabilities.policies, by these words; others are refused by name.
 * Pure.
 */
#pragma once

#include "translator/plan.h"

/* POLICY(NAME, "word") */
#define POLICIES(POLICY)                       \
	POLICY(STICKINESS, "stickiness")       \
	POLICY(HEALTH_CHECK, "health-check")   \
	POLICY(SCALE, "scale")                 \
	POLICY(LABELS, "labels")               \
	POLICY(CUSTOM_CONFIG, "custom-config") \
	POLICY(BACKEND_TLS, "backend-tls")

enum policy_index {
#define POLICY(name_, word_) POLICY_INDEX_##name_,
	POLICIES(POLICY)
#undef POLICY
		POLICY_COUNT,
};

enum policy {
#define POLICY(name_, word_) POLICY_##name_ = 1 << POLICY_INDEX_##name_,
	POLICIES(POLICY)
#undef POLICY
};

/* The bits of the policies whose words the list leaves out. */
unsigned policies_missing(const struct str_list *list);
/* Removes from plan->values what the provider does not support, and reports it. */
void policies_refuse(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *plan, struct diag_list *diags);
/* Where a whole class shares a load balancer, stickiness, health checks and backend settings belong to pools:
 * gives the pool those that the values have for it, and with them a distinct name. */
void policies_settle_pool(
	const struct annotation_values *values, struct arena *arena, struct plan_pool *pool);
