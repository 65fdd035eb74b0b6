// SPDX-License-Identifier: Apache-2.0
/*
 * What a changed record changes. The targets of an ingress are set anew (targets.h), and what it needs differently is marked to be built
 * again; a Service, slice, Secret or class is looked up from, never searched for.
 */
#pragma once

#include "translator/fronts.h"
#include "translator/publish.h"
#include "translator/targets.h"

/* What it needs of the parts before it; it has no state of its own. */
struct changes {
	struct graph *graph;
	const struct provider_peer *provider;
	struct secrets *secrets;
	struct pending *pending;
	struct classes *classes;
	struct plans *plans;
	struct diagnostics *diagnostics;
	const struct offers *offers;
	const struct owners *owners;
	const struct claims *claims;
	const struct targets *targets;
	struct fronts *fronts;
	struct publish *publish;
	struct arena *scratch;
};

/* After Secrets that it uses have changed: what looks at all that it needs. */
void change_by_secrets(const struct changes *changes, struct ingress_node *ingress);
/* After the record of the node has changed, appeared or gone; `old`: the plan before, NULL when
 * there was none. */
void change_ingress(
	const struct changes *changes, struct ingress_node *ingress, const struct plan *old);
void change_service(const struct changes *changes, struct service_node *service);
void change_slice(const struct changes *changes, struct slice_node *slice);
void change_secret(const struct changes *changes, struct secret_node *secret);
void change_class(const struct changes *changes, struct class_node *class);
/* Makes the plans of all Ingresses and Services with these flags anew. */
void change_flagged(const struct changes *changes, uint16_t flags);
/* Settings, grouping: everything may be different. */
void change_all(const struct changes *changes);
