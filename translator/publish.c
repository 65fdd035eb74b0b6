// SPDX-License-Identifier: Apache-2.0
#include "translator/publish.h"

#include "translator/record.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "translator/addresses.h"
#include "translator/keys.h"
#include "translator/log_events.h"

#include <stdlib.h>

/* Of an address with its host name, as in PROTOCOL.md. */
enum { PUBLISH_ADDRESSES_MAX = 10000, PUBLISH_TEXT_MAX = PUBLISH_ADDRESSES_MAX * 512 };

struct publish {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	const struct engine_config *config;
	struct pending *pending;
	struct arena *scratch;
	char *shown; /* as one text; NULL: nothing */
	bool was_checked;
};

struct publish *publish_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	struct pending *pending, struct arena *scratch)
{
	struct publish *publish = xcalloc(1, sizeof(*publish));
	*publish = (struct publish){.graph = graph,
		.source = source,
		.provider = provider,
		.config = config,
		.pending = pending,
		.scratch = scratch};
	return publish;
}

void publish_free(struct publish *publish)
{
	if (publish == NULL)
		return;
	free(publish->shown);
	free(publish);
}

static bool has_service(const struct publish *publish)
{
	return !str_is_empty(publish->config->publish_name);
}

bool publish_is_on(const struct publish *publish)
{
	return provider_peer_is_merged(publish->provider) &&
	       (has_service(publish) || source_peer_syncs(publish->source, RECORD_POD));
}

/* ---- the addresses of a Service ---- */

static struct record *find(struct publish *publish)
{
	struct str key = key_join(publish->scratch, publish->config->publish_namespace, '/',
		publish->config->publish_name);
	struct record *record = graph_find(publish->graph, NODE_SERVICE, key);
	return record != NULL && record->payload != NULL ? record : NULL;
}

static bool read_service(struct publish *publish, struct lb_status *ret_status)
{
	struct record *record = find(publish);
	struct service_record service;
	if (record == NULL)
		return false;
	record_read(record, publish->scratch, &service);
	struct lb_status status = {0};
	status.addresses.items = service.addresses.items;
	status.addresses.count = service.addresses.count;
	addresses_normalise(&status, publish->scratch, ret_status);
	/* The ports are the Service's, and may differ from those of the Ingress. */
	for (size_t i = 0; i < ret_status->addresses.count; i++)
		ret_status->addresses.items[i].ports.count = 0;
	return true;
}

/* ---- the addresses of nodes ---- */

/* Empty: none. That of the node as Kubernetes knows it, if nodes are read: one that is gone has none. */
static struct str address_of_replica(struct publish *publish, const struct pod_record *pod)
{
	struct node_record node;
	if (!source_peer_syncs(publish->source, RECORD_NODE))
		return pod->host_ip;
	const struct record *record = graph_find(publish->graph, NODE_MACHINE, pod->node);
	if (record == NULL || record->payload == NULL)
		return STR_NONE;
	record_read(record, publish->scratch, &node);
	return !str_is_empty(node.external_ip) ? node.external_ip : node.internal_ip;
}

/* All replicas are looked at: the addresses of all of them are one list, which is what has changed. */
static bool read_replicas(struct publish *publish, struct lb_status *ret_status)
{
	struct lb_status status = {0};
	void *items = NULL;
	struct node *node;
	RB_FOREACH (node, node_tree, &publish->graph->records[NODE_POD]) {
		const struct record *record = (const void *)node;
		struct pod_record pod;
		if (record->payload == NULL || status.addresses.count == PUBLISH_ADDRESSES_MAX)
			continue;
		record_read(record, publish->scratch, &pod);
		struct str address = pod.ready ? address_of_replica(publish, &pod) : STR_NONE;
		if (str_is_empty(address))
			continue;
		struct address *place = arena_push(
			publish->scratch, &items, &status.addresses.count, sizeof(struct address));
		*place = (struct address){.ip = address};
	}
	status.addresses.items = items;
	addresses_normalise(&status, publish->scratch, ret_status);
	return ret_status->addresses.count != 0;
}

/* ---- both ---- */

bool publish_read(struct publish *publish, struct lb_status *ret_status)
{
	return has_service(publish) ? read_service(publish, ret_status)
				    : read_replicas(publish, ret_status);
}

/* The addresses as one text; NULL: there is no such Service, or no replica is ready. */
static char *describe(struct publish *publish)
{
	struct lb_status status = {0};
	struct buf text;
	if (!publish_read(publish, &status))
		return NULL;
	buf_init(&text, PUBLISH_TEXT_MAX);
	for (size_t i = 0; i < status.addresses.count; i++)
		must(buf_printf(&text, "%.*s %.*s\n", STR_FMT(status.addresses.items[i].ip),
			     STR_FMT(status.addresses.items[i].hostname)) == 0);
	char *copy = str_dup(buf_str(&text));
	buf_fini(&text);
	return copy;
}

static void tell_missing(const struct publish *publish)
{
	if (has_service(publish))
		log_event(&EV_PUBLISH_MISSING,
			LOG_TEXT("namespace", publish->config->publish_namespace),
			LOG_TEXT("name", publish->config->publish_name));
	else
		log_event(&EV_REPLICAS_MISSING);
}

void publish_check(struct publish *publish)
{
	if (!publish_is_on(publish) || !source_peer_is_whole(publish->source))
		return;
	char *now = describe(publish);
	bool same = now == NULL || publish->shown == NULL ? now == publish->shown
							  : strcmp(now, publish->shown) == 0;
	if (now == NULL && (!same || !publish->was_checked))
		tell_missing(publish);
	publish->was_checked = true;
	free(publish->shown);
	publish->shown = now;
	if (!same)
		pending_tell_all_statuses(publish->pending);
}

void publish_service_changed(struct publish *publish, const struct record *service)
{
	if (str_eq(node_name(&service->node), publish->config->publish_name) &&
		str_eq(node_namespace(&service->node), publish->config->publish_namespace))
		publish_check(publish);
}
