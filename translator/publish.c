// SPDX-License-Identifier: Apache-2.0
#include "translator/publish.h"

#include "translator/record.h"
#include "common/xalloc.h"
#include "translator/addresses.h"
#include "translator/keys.h"
#include "translator/log_events.h"

#include <stdlib.h>

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

bool publish_is_on(const struct publish *publish)
{
	return provider_peer_is_merged(publish->provider) &&
	       !str_is_empty(publish->config->publish_name);
}

static struct record *find(struct publish *publish)
{
	struct str key = key_join(publish->scratch, publish->config->publish_namespace, '/',
		publish->config->publish_name);
	struct record *record = graph_find(publish->graph, NODE_SERVICE, key);
	return record != NULL && record->payload != NULL ? record : NULL;
}

bool publish_read(struct publish *publish, struct lb_status *ret_status)
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

/* The addresses as one text; NULL: there is no such Service. */
static char *describe(struct publish *publish)
{
	struct lb_status status = {0};
	if (!publish_read(publish, &status))
		return NULL;
	struct str text = STR("");
	for (size_t i = 0; i < status.addresses.count; i++)
		text = arena_printf(publish->scratch, "%.*s %.*s%.*s", STR_FMT(text),
			STR_FMT(status.addresses.items[i].ip),
			STR_FMT(status.addresses.items[i].hostname));
	return str_dup(text);
}

void publish_check(struct publish *publish)
{
	if (!publish_is_on(publish) || !source_peer_is_whole(publish->source))
		return;
	char *now = describe(publish);
	bool same = now == NULL || publish->shown == NULL ? now == publish->shown
							  : strcmp(now, publish->shown) == 0;
	if (now == NULL && (!same || !publish->was_checked))
		log_event(&EV_PUBLISH_MISSING,
			LOG_TEXT("namespace", publish->config->publish_namespace),
			LOG_TEXT("name", publish->config->publish_name));
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
