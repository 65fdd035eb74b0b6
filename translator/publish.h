// SPDX-License-Identifier: Apache-2.0
/*
 * What is published in the status of the Ingresses of a shared load
 * balancer. The administrator names one where traffic enters through something in front of the
 * provider. Its addresses are copied, as in other ingress controllers; while it does not exist,
 * statuses stay as they are. Without one, and with a watcher that reads pods (--publish-pods), they
 * are those of the nodes of the pods that are ready; while none is, statuses stay as they are.
 */
#pragma once

#include "translator/pending.h"
#include "translator/provider_peer.h"
#include "translator/source_peer.h"

struct publish;

/* All must stay valid. `config`: the name of the Service. */
struct publish *publish_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	struct pending *pending, struct arena *scratch);
void publish_free(struct publish *publish);

/* Whether Ingresses show the addresses of a Service, or of nodes. */
bool publish_is_on(const struct publish *publish);
/* In the scratch arena; false: there is no such Service, or no replica is ready. */
bool publish_read(struct publish *publish, struct lb_status *ret_status);
/* Queues statuses if the addresses have changed. */
void publish_check(struct publish *publish);
void publish_service_changed(struct publish *publish, const struct record *service);
