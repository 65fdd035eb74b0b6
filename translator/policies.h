// SPDX-License-Identifier: Apache-2.0
/*
 * Policies: what the annotations of an Ingress ask for that not every provider can do. A provider
 * says which it can by these words in capabilities.policies; what it cannot is refused by name.
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
/* Takes out of plan->values what cannot be had, and says so. */
void policies_refuse(const struct ingress_record *ingress, const struct plan_context *context,
	struct arena *arena, struct plan *plan, struct diag_list *diags);
/* Where a whole class shares a load balancer, stickiness, health checks and how backends are spoken to hang on
 * pools: gives the pool those that the values have for it, and with them a name of its own. */
void policies_settle_pool(
	const struct annotation_values *values, struct arena *arena, struct plan_pool *pool);
