// SPDX-License-Identifier: Apache-2.0
/*
 * The Service whose addresses the Ingresses of a shared load balancer show: the administrator names
 * it where traffic enters through something in front of the provider. Its addresses are copied, as
 * peers do it; while it does not exist, statuses stay as they are.
 */
#include "translator/state.h"

#include "translator/record.h"
#include "common/xalloc.h"
#include "translator/addresses.h"
#include "translator/keys.h"
#include "translator/log_events.h"

bool publish_is_on(const struct engine *engine)
{
	return provider_peer_is_merged(engine->provider) &&
	       !str_is_empty(engine->config.publish_name);
}

static struct record *find(struct engine *engine)
{
	struct str key = key_join(&engine->scratch, engine->config.publish_namespace, '/',
		engine->config.publish_name);
	struct record *record = graph_find(&engine->graph, NODE_SERVICE, key);
	return record != NULL && record->payload != NULL ? record : NULL;
}

bool publish_read(struct engine *engine, struct lb_status *ret_status)
{
	struct record *record = find(engine);
	struct service_record service;
	if (record == NULL)
		return false;
	record_read(record, &engine->scratch, &service);
	struct lb_status status = {0};
	status.addresses.items = service.addresses.items;
	status.addresses.count = service.addresses.count;
	addresses_normalise(&status, &engine->scratch, ret_status);
	/* The ports are the Service's, and those of the Ingress may be others. */
	for (size_t i = 0; i < ret_status->addresses.count; i++)
		ret_status->addresses.items[i].ports.count = 0;
	return true;
}

/* What is shown, as one text; NULL: there is no such Service. */
static char *describe(struct engine *engine)
{
	struct lb_status status = {0};
	if (!publish_read(engine, &status))
		return NULL;
	struct str text = STR("");
	for (size_t i = 0; i < status.addresses.count; i++)
		text = arena_printf(&engine->scratch, "%.*s %.*s%.*s", STR_FMT(text),
			STR_FMT(status.addresses.items[i].ip),
			STR_FMT(status.addresses.items[i].hostname));
	return str_dup(text);
}

void publish_check(struct engine *engine)
{
	if (!publish_is_on(engine) || !source_peer_is_whole(engine->source))
		return;
	char *now = describe(engine);
	bool same = now == NULL || engine->published == NULL ? now == engine->published
							     : strcmp(now, engine->published) == 0;
	if (now == NULL && (!same || !engine->publish_was_checked))
		log_event(&EV_PUBLISH_MISSING,
			LOG_TEXT("namespace", engine->config.publish_namespace),
			LOG_TEXT("name", engine->config.publish_name));
	engine->publish_was_checked = true;
	free(engine->published);
	engine->published = now;
	if (!same)
		pending_tell_all_statuses(engine->pending);
}

void publish_service_changed(struct engine *engine, const struct record *service)
{
	if (str_eq(node_name(&service->node), engine->config.publish_name) &&
		str_eq(node_namespace(&service->node), engine->config.publish_namespace))
		publish_check(engine);
}
