// SPDX-License-Identifier: Apache-2.0
/*
 * The classes of ours: which of them is the default, and on which load balancers they are served (class_listeners.h). They are few, and of the
 * administrator, so that all of them are looked at whenever one changes.
 */
#pragma once

#include "translator/class_listeners.h"
#include "translator/pending.h"
#include "translator/provider_peer.h"
#include "translator/source_peer.h"

struct classes;

/* All must stay valid. `config`: the ports of the load balancer that classes share. */
struct classes *classes_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	struct pending *pending, struct arena *scratch);
void classes_free(struct classes *classes);

/* Those there are. */
const struct class_table *classes_table(const struct classes *classes);
/* The name of the default class that is ours; absent: there is none. */
struct str classes_default(const struct classes *classes);
/* After the record of a class, or the settings, have changed: finds what classes there are, and has built again what depends on where they are
 * served. Returns the flags of the Ingresses and Services whose plans are to be made anew, for change_flagged(); -1: none, but for those of
 * `changed` (NULL: all are), which are made anew in any case. */
int classes_update(struct classes *classes, const struct class_node *changed);
/* The load balancer of the class; NULL: it has none now. */
struct balancer_node *classes_balancer(struct classes *classes, const struct class_item *item);
/* What the owner of the class should know. */
void classes_diagnose(
	struct classes *classes, const struct class_node *class, struct diag_list *diags);
