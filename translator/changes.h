// SPDX-License-Identifier: Apache-2.0
/*
 * What follows from a changed record. The targets of an Ingress are updated (targets.h), and the objects that it affects are marked for
 * rebuilding. From a Service, slice, Secret or class, its users are found by lookup, never by a search.
 */
#pragma once

#include "translator/fronts.h"
#include "translator/publish.h"
#include "translator/targets.h"

/* The parts that it uses; it has no state of its own. */
struct changes {
	struct graph *graph;
	const struct provider_peer *provider;
	struct secrets *secrets;
	struct pending *pending;
	struct classes *classes;
	struct plans *plans;
	struct global_options *options;
	struct diagnostics *diagnostics;
	const struct owners *owners;
	const struct claims *claims;
	const struct targets *targets;
	struct fronts *fronts;
	struct publish *publish;
	struct arena *scratch;
};

/* After Secrets that it uses have changed: the steps that look at everything it needs. */
void change_by_secrets(const struct changes *changes, struct ingress_node *ingress);
/* After the record of the node was added, changed or deleted; `old`: the previous plan, NULL if
 * there was none. */
void change_ingress(
	const struct changes *changes, struct ingress_node *ingress, const struct plan *old);
void change_service(const struct changes *changes, struct service_node *service);
void change_slice(const struct changes *changes, struct slice_node *slice);
void change_secret(const struct changes *changes, struct secret_node *secret);
void change_config_map(const struct changes *changes, struct config_map_node *map);
void change_place(const struct changes *changes, struct place_node *place);
void change_class(const struct changes *changes, struct class_node *class);
/* Replans all Ingresses and Services with these flags. */
void change_flagged(const struct changes *changes, uint16_t flags);
/* After a change of settings or grouping: everything may be different. */
void change_all(const struct changes *changes);
