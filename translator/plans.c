// SPDX-License-Identifier: Apache-2.0
#include "translator/plans.h"

#include "translator/record.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "translator/layer4.h"

#include <stdlib.h>

/* Bytes of records that may be read to make one plan for each of its hosts. */
enum { PLAN_SMALL_MAX_LEN = 1024 * 1024 };

enum {
	PLAN_SMALL_SLOTS = 4,
	PLAN_SLOTS = PLAN_SMALL_SLOTS + PLAN_LARGE_SLOTS,
};

struct plans {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	const struct engine_config *config;
	const struct classes *classes;
	const struct global_options *options;
	struct plan_slot slots[PLAN_SLOTS];
	struct plan_slot old;
	uint64_t clock;
};

struct plans *plans_new(struct graph *graph, const struct source_peer *source,
	const struct provider_peer *provider, const struct engine_config *config,
	const struct classes *classes, const struct global_options *options)
{
	struct plans *plans = xcalloc(1, sizeof(*plans));
	*plans = (struct plans){.graph = graph,
		.source = source,
		.provider = provider,
		.config = config,
		.classes = classes,
		.options = options};
	for (size_t i = 0; i < PLAN_SLOTS; i++)
		arena_init(&plans->slots[i].arena);
	arena_init(&plans->old.arena);
	return plans;
}

void plans_free(struct plans *plans)
{
	if (plans == NULL)
		return;
	for (size_t i = 0; i < PLAN_SLOTS; i++)
		arena_fini(&plans->slots[i].arena);
	arena_fini(&plans->old.arena);
	free(plans);
}

static const struct ingress_class_record *named_class(
	struct plans *plans, struct str name, struct arena *arena)
{
	if (str_is_empty(name))
		return NULL;
	struct record *record = graph_find(plans->graph, NODE_CLASS, name);
	if (record == NULL || record->payload == NULL)
		return NULL;
	struct ingress_class_record *class = arena_alloc(arena, sizeof(*class));
	record_read(record, arena, class);
	return class;
}

static const struct config_map_record *find_map(void *ctx, struct str key, struct arena *arena)
{
	const struct plans *plans = ctx;
	return global_options_find_map(plans->graph, key, arena);
}

static void make(struct plans *plans, struct ingress_node *ingress, struct arena *arena,
	struct plan *ret_plan, struct diag_list *diags)
{
	struct plan_context context = {
		.class = {.settings = source_peer_settings(plans->source),
			.classes_are_synced =
				source_peer_syncs(plans->source, RECORD_INGRESS_CLASS),
			.takes_nginx = plans->config->takes_nginx,
			.our_default = classes_default(plans->classes)},
		.grouping = provider_peer_grouping(plans->provider),
		.cannot = provider_peer_limits(plans->provider),
		.http_port = plans->config->http_port,
		.https_port = plans->config->https_port,
		.backend_namespace = plans->config->backend_namespace,
		.backend_name = plans->config->backend_name,
		.classes = classes_table(plans->classes),
		.nginx_prefix = plans->config->nginx_prefix,
		.nginx_options = global_options_get(plans->options),
		.nginx_maps = {.find = source_peer_syncs(plans->source, RECORD_CONFIG_MAP)
					       ? find_map
					       : NULL,
			.ctx = plans},
		.egress_hosts = plans->config->egress_hosts,
		.is_released = (ingress->record.node.flags & NODE_RELEASED) != 0,
	};
	if ((ingress->record.node.flags & NODE_KEPT) != 0) {
		struct object_ref self = ingress_ref(ingress, arena);
		plan_keep(&self, provider_peer_grouping(plans->provider), arena, ret_plan);
		return;
	}
	if (ingress->record.node.kind == NODE_FRONT) {
		struct service_record *service = arena_alloc(arena, sizeof(*service));
		record_read(&ingress->record, arena, service);
		layer4_plan(service, &context, arena, ret_plan, diags);
		return;
	}
	struct ingress_record *record = arena_alloc(arena, sizeof(*record));
	record_read(&ingress->record, arena, record);
	context.class.named = named_class(plans, record->class_name, arena);
	plan_make(record, &context, arena, ret_plan, diags);
}

static void fill(struct plans *plans, struct plan_slot *slot, struct ingress_node *ingress)
{
	arena_reset(&slot->arena);
	diag_list_init(&slot->diags, &slot->arena);
	slot->ingress = ingress;
	make(plans, ingress, &slot->arena, &slot->plan, &slot->diags);
}

static struct plan_slot *oldest_of(struct plan_slot *slots, size_t count)
{
	struct plan_slot *oldest = &slots[0];
	for (size_t i = 1; i < count; i++) {
		if (slots[i].used_at < oldest->used_at)
			oldest = &slots[i];
	}
	return oldest;
}

const struct plan_slot *plans_get(struct plans *plans, struct ingress_node *ingress)
{
	struct plan_slot *slots = plans->slots;
	must(ingress->record.payload != NULL);
	for (size_t i = 0; i < PLAN_SLOTS; i++) {
		if (slots[i].ingress == ingress) {
			slots[i].used_at = ++plans->clock;
			return &slots[i];
		}
	}
	struct plan_slot *slot = ingress->is_large
					 ? oldest_of(slots + PLAN_SMALL_SLOTS, PLAN_LARGE_SLOTS)
					 : oldest_of(slots, PLAN_SMALL_SLOTS);
	fill(plans, slot, ingress);
	slot->used_at = ++plans->clock;
	return slot;
}

bool plans_is_large(const struct ingress_node *ingress, const struct plan *plan)
{
	size_t len = ingress->record.payload_len;
	return plan->hosts.count != 0 && len > PLAN_SMALL_MAX_LEN / plan->hosts.count;
}

void plans_rest(struct plans *plans)
{
	for (size_t i = PLAN_SMALL_SLOTS; i < PLAN_SLOTS; i++) {
		struct plan_slot *slot = &plans->slots[i];
		if (slot->ingress == NULL)
			continue;
		slot->ingress = NULL;
		arena_reset(&slot->arena);
	}
}

const struct plan *plans_save_old(struct plans *plans, struct ingress_node *ingress)
{
	if (ingress->record.payload == NULL)
		return NULL;
	fill(plans, &plans->old, ingress);
	return &plans->old.plan;
}

const struct plan *plans_make(
	struct plans *plans, struct ingress_node *ingress, struct arena *arena)
{
	struct plan *plan = arena_alloc(arena, sizeof(*plan));
	make(plans, ingress, arena, plan, NULL);
	return plan;
}

void plans_forget(struct plans *plans, const struct ingress_node *ingress)
{
	for (size_t i = 0; i < PLAN_SLOTS; i++) {
		if (plans->slots[i].ingress == ingress)
			plans->slots[i].ingress = NULL;
	}
}

void plans_forget_all(struct plans *plans)
{
	for (size_t i = 0; i < PLAN_SLOTS; i++)
		plans->slots[i].ingress = NULL;
}
