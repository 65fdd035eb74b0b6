// SPDX-License-Identifier: Apache-2.0
/*
 * Plans are made anew from the record whenever they are needed: keeping all of them would take more
 * memory than everything else together. The few last ones stay, because a changed ingress is asked
 * for by its load balancer and each of its hosts in turn.
 *
 * A host that several share needs the plans of all of them. Where these have many hosts and many rules, to make each plan anew for
 * each host would be work that grows with the square of what its owners wrote. So large ones have slots of their own, which
 * small ones cannot take from them, and as many of them as there are slots can share one host (objects.c).
 */
#include "translator/state.h"

#include "translator/record.h"
#include "common/must.h"
#include "translator/layer4.h"

/* Bytes of records that are read to make one plan for each of its hosts. */
enum { PLAN_SMALL_MAX_LEN = 1024 * 1024 };

void plans_init(struct engine *engine)
{
	for (size_t i = 0; i < PLAN_SLOTS; i++)
		arena_init(&engine->plans[i].arena);
	arena_init(&engine->old_plan.arena);
}

void plans_fini(struct engine *engine)
{
	for (size_t i = 0; i < PLAN_SLOTS; i++)
		arena_fini(&engine->plans[i].arena);
	arena_fini(&engine->old_plan.arena);
}

static const struct ingress_class_record *named_class(
	struct engine *engine, struct str name, struct arena *arena)
{
	if (str_is_empty(name))
		return NULL;
	struct record *record = graph_find(&engine->graph, NODE_CLASS, name);
	if (record == NULL || record->payload == NULL)
		return NULL;
	struct ingress_class_record *class = arena_alloc(arena, sizeof(*class));
	record_read(record, arena, class);
	return class;
}

static void make(struct engine *engine, struct ingress_node *ingress, struct arena *arena,
	struct plan *ret_plan, struct diag_list *diags)
{
	struct plan_context context = {
		.class = {.settings = source_peer_settings(engine->source),
			.classes_are_synced =
				source_peer_syncs(engine->source, RECORD_INGRESS_CLASS),
			.our_default = str_from(engine->our_default)},
		.grouping = provider_peer_grouping(engine->provider),
		.cannot = provider_peer_limits(engine->provider),
		.http_port = engine->config.http_port,
		.https_port = engine->config.https_port,
		.classes = &engine->classes,
		.is_released = (ingress->record.node.flags & NODE_RELEASED) != 0,
	};
	if ((ingress->record.node.flags & NODE_KEPT) != 0) {
		struct object_ref self = ingress_ref(ingress, arena);
		plan_keep(&self, provider_peer_grouping(engine->provider), arena, ret_plan);
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
	context.class.named = named_class(engine, record->class_name, arena);
	plan_make(record, &context, arena, ret_plan, diags);
}

static void fill(struct engine *engine, struct plan_slot *slot, struct ingress_node *ingress)
{
	arena_reset(&slot->arena);
	diag_list_init(&slot->diags, &slot->arena);
	slot->ingress = ingress;
	make(engine, ingress, &slot->arena, &slot->plan, &slot->diags);
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

const struct plan_slot *plans_get(struct engine *engine, struct ingress_node *ingress)
{
	struct plan_slot *slots = engine->plans;
	must(ingress->record.payload != NULL);
	for (size_t i = 0; i < PLAN_SLOTS; i++) {
		if (slots[i].ingress == ingress) {
			slots[i].used_at = ++engine->plan_clock;
			return &slots[i];
		}
	}
	struct plan_slot *slot = ingress->is_large
					 ? oldest_of(slots + PLAN_SMALL_SLOTS, PLAN_LARGE_SLOTS)
					 : oldest_of(slots, PLAN_SMALL_SLOTS);
	fill(engine, slot, ingress);
	slot->used_at = ++engine->plan_clock;
	return slot;
}

bool plans_is_large(const struct ingress_node *ingress, const struct plan *plan)
{
	size_t len = ingress->record.payload_len;
	return plan->hosts.count != 0 && len > PLAN_SMALL_MAX_LEN / plan->hosts.count;
}

void plans_rest(struct engine *engine)
{
	for (size_t i = PLAN_SMALL_SLOTS; i < PLAN_SLOTS; i++) {
		struct plan_slot *slot = &engine->plans[i];
		if (slot->ingress == NULL)
			continue;
		slot->ingress = NULL;
		arena_reset(&slot->arena);
	}
}

const struct plan *plans_save_old(struct engine *engine, struct ingress_node *ingress)
{
	if (ingress->record.payload == NULL)
		return NULL;
	fill(engine, &engine->old_plan, ingress);
	return &engine->old_plan.plan;
}

const struct plan *plans_make(
	struct engine *engine, struct ingress_node *ingress, struct arena *arena)
{
	struct plan *plan = arena_alloc(arena, sizeof(*plan));
	make(engine, ingress, arena, plan, NULL);
	return plan;
}

void plans_forget(struct engine *engine, const struct ingress_node *ingress)
{
	for (size_t i = 0; i < PLAN_SLOTS; i++) {
		if (engine->plans[i].ingress == ingress)
			engine->plans[i].ingress = NULL;
	}
}

void plans_forget_all(struct engine *engine)
{
	for (size_t i = 0; i < PLAN_SLOTS; i++)
		engine->plans[i].ingress = NULL;
}
