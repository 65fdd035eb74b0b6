// SPDX-License-Identifier: Apache-2.0
/*
 * Our classes: which of them is the default, and which load balancers serve them (class_listeners.h). They are few, and only administrators
 * make them, so all of them are examined whenever one changes.
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

/* All of our classes. */
const struct class_table *classes_table(const struct classes *classes);
/* The name of the default class that is ours; absent: there is none. */
struct str classes_default(const struct classes *classes);
/* After the record of a class, or the settings, have changed: recomputes the table of classes, and has everything rebuilt that depends on
 * where they are served. Returns the flags of the Ingresses and Services to replan, for change_flagged(); -1: none but the users of `changed`
 * (NULL: of all), which are replanned in any case. */
int classes_update(struct classes *classes, const struct class_node *changed);
/* The load balancer of the class; NULL: none at present. */
struct balancer_node *classes_balancer(struct classes *classes, const struct class_item *item);
/* What the owner of the class should know. */
void classes_diagnose(
	struct classes *classes, const struct class_node *class, struct diag_list *diags);
