// SPDX-License-Identifier: Apache-2.0
/*
 * The global options of ingress-nginx in force: read from the ConfigMap that the watcher's settings name, and from those that it names, whenever one of them changes. All
 * Ingresses of that dialect have its node among their targets, so that they are found when it does.
 */
#pragma once

#include "translator/dialects/ingress_nginx_options.h"
#include "translator/engine.h"
#include "translator/graph.h"
#include "translator/provider_peer.h"
#include "translator/source_peer.h"

struct global_options;

/* All must stay valid. */
struct global_options *global_options_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config);
void global_options_free(struct global_options *options);

/* NULL: no ConfigMap is named. Valid until the next update. */
const struct nginx_options *global_options_get(const struct global_options *options);
/* What load balancers of all Ingresses have of them, with views of them; *ret_reads_proxy: their listeners read the PROXY protocol. What the provider cannot do is left out. False:
 * nothing. */
bool global_options_forwarding(const struct global_options *options,
	struct forwarding *ret_forwarding, bool *ret_reads_proxy);
/* Whether the options have to be read again after a change of that ConfigMap. */
bool global_options_concern(const struct global_options *options, struct str key);
/* Whether it is a ConfigMap with ports for TCP or UDP (tcp_services.h), whose owner is told of them here, too. */
bool global_options_is_ports(const struct global_options *options, struct str key);
/* Reads them anew. */
void global_options_update(struct global_options *options);
/* The node of the ConfigMap; NULL: nobody needs it, and it is not there. */
struct config_map_node *global_options_node(const struct global_options *options);
/* A ConfigMap by NAMESPACE/NAME, in the arena; NULL: there is none. */
const struct config_map_record *global_options_find_map(
	struct graph *graph, struct str key, struct arena *arena);
/* What its owner has to know of the ConfigMap: nothing, if it is another one. */
void global_options_diagnose(const struct global_options *options,
	const struct config_map_node *map, struct diag_list *diags);
