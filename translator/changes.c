// SPDX-License-Identifier: Apache-2.0
/*
 * What a changed record changes. The targets of an ingress are set anew (targets.c), and what it needs differently is marked to be built
 * again; a Service, slice, Secret or class is looked up from, never searched for.
 */
#include "translator/state.h"

#include "translator/record.h"
#include "common/shared_text.h"
#include "common/xalloc.h"
#include "translator/keys.h"
#include "translator/targets.h"

#include <stdlib.h>

/* ---- objects ---- */

static void touch_pools(struct engine *engine, struct service_node *service)
{
	struct pool_node *pool;
	SET_FOREACH (pool, &service->pools, node_by_key)
		pending_build(engine->pending, &pool->node);
}

/* ---- what differs for those that stay ---- */

static void touch_hosts(struct engine *engine, const struct plan *plan, const struct plan *old,
	const struct targets *t, bool same_size)
{
	bool same_place =
		same_size && old != NULL && old->is_ours && str_eq(old->balancer, plan->balancer);
	for (size_t i = 0; i < plan->hosts.count; i++) {
		const struct plan_host *host = &plan->hosts.items[i];
		const struct plan_host *old_host =
			same_place ? plan_find_host(old, host->host) : NULL;
		if (old_host == NULL || !plan_same_host(old, old_host, plan, host))
			pending_build(engine->pending, &t->hosts[i]->node);
	}
}

static void touch_balancer(struct engine *engine, const struct plan *plan, const struct plan *old,
	struct balancer_node *balancer)
{
	bool same_place = old != NULL && old->is_ours && str_eq(old->balancer, plan->balancer);
	bool shapes = plan_shapes_balancer(plan);
	bool shaped = same_place && plan_shapes_balancer(old);
	if (!shapes && !shaped)
		return;
	if (!same_place || shapes != shaped || !plan_same_balancer(old, plan))
		pending_build(engine->pending, &balancer->node);
}

/* A new Ingress under an old name must hear what the old one heard. */
static void say_again(struct engine *engine, const struct ingress_node *ingress)
{
	struct node *node;
	SET_FOREACH (node, &ingress->targets, node_by_address) {
		if ((node->flags & NODE_TOLD) != 0)
			pending_diagnose(engine->pending, node, DIAGNOSTICS_CONTENT);
		if ((node->flags & NODE_TOLD_STATUS) != 0)
			pending_diagnose(engine->pending, node, DIAGNOSTICS_STATUS);
	}
}

static void note_plan(struct ingress_node *ingress, const struct plan *plan)
{
	uint16_t flags = ingress->record.node.flags;
	flags &= (uint16_t) ~(NODE_OURS | NODE_SHAPES | NODE_UNNAMED);
	if (plan != NULL && plan->is_ours)
		flags |= NODE_OURS;
	if (plan != NULL && plan_shapes_balancer(plan))
		flags |= NODE_SHAPES;
	if (plan != NULL && plan->is_unnamed)
		flags |= NODE_UNNAMED;
	ingress->record.node.flags = flags;
	ingress->created = plan != NULL ? plan->created : 0;
	ingress->is_large = plan != NULL && plans_is_large(ingress, plan);
}

/* Returns whether it is news. */
static bool note_sharing(struct ingress_node *ingress, const struct plan *plan)
{
	const char *old = ingress->shared_with;
	struct str now = plan != NULL ? plan->shared_with : STR_NONE;
	bool is_news = !str_eq(shared_text_view(old), now);
	ingress->shared_with = shared_text_get(now);
	shared_text_drop(old);
	return is_news;
}

/* After its targets were set. */
static void change_ownership(struct engine *engine, struct ingress_node *ingress,
	const struct plan *plan, const struct targets *t, bool is_news)
{
	for (size_t i = 0; i < plan->hosts.count && is_news; i++)
		owners_changed(engine, t->hosts[i]);
	if (owners_have_all(engine, ingress) != ingress->is_unserved)
		pending_tell_status(engine->pending, ingress);
}

static void change_present(
	struct engine *engine, struct ingress_node *ingress, const struct plan *old)
{
	struct node *node = &ingress->record.node;
	const struct plan_slot *slot = plans_get(engine->plans, ingress);
	if ((node->flags & NODE_RELEASED) != 0 && old != NULL &&
		!str_eq(old->self.uid, slot->plan.self.uid)) {
		node->flags &= (uint16_t)~NODE_RELEASED; /* that was another of the same name */
		plans_forget(engine->plans, ingress);
		slot = plans_get(engine->plans, ingress);
	}
	const struct plan *plan = &slot->plan;
	struct balancer_node *old_balancer = ingress->balancer;
	bool shaped = (node->flags & NODE_SHAPES) != 0;
	bool was_ours = (node->flags & NODE_OURS) != 0;
	bool was_large = ingress->is_large;
	bool is_other = old == NULL || !str_eq(old->self.uid, plan->self.uid);
	struct targets t = targets_gather(engine, plan);
	note_plan(ingress, plan);
	bool shares_anew = note_sharing(ingress, plan);
	offers_forget(ingress);
	ingress->balancer = t.balancer;
	targets_set(engine, ingress, &t, shaped);
	if (plan->is_ours) {
		touch_hosts(engine, plan, old, &t, ingress->is_large == was_large);
		touch_balancer(engine, plan, old, t.balancer);
		if (old == NULL || !old->is_ours || !plan_same_claims(old, plan))
			claims_ask_of(engine, ingress);
		change_ownership(engine, ingress, plan, &t,
			old != NULL && (shares_anew || old->created != plan->created));
	}
	if (is_other)
		say_again(engine, ingress);
	if (slot->diags.count != 0 || plan->tls.count != 0 || plan->ports.count != 0 ||
		plan->is_tls_only || !str_is_empty(plan->default_pool) ||
		(node->flags & NODE_TOLD) != 0)
		pending_diagnose(engine->pending, node, DIAGNOSTICS_CONTENT);
	if (node->kind == NODE_FRONT)
		fronts_changed(engine->fronts, ingress, plan);
	else if (plan->is_ours ? is_other || t.balancer != old_balancer : was_ours)
		pending_tell_status(engine->pending, ingress);
}

void change_ingress(struct engine *engine, struct ingress_node *ingress, const struct plan *old)
{
	if (ingress->record.payload != NULL) {
		change_present(engine, ingress, old);
		return;
	}
	struct targets none = {0};
	bool shaped = (ingress->record.node.flags & NODE_SHAPES) != 0;
	if (ingress->record.node.kind == NODE_FRONT)
		fronts_gone(engine->fronts, ingress);
	note_plan(ingress, NULL);
	note_sharing(ingress, NULL);
	offers_forget(ingress);
	ingress->balancer = NULL;
	targets_set(engine, ingress, &none, shaped);
	diagnostics_drop(engine->diagnostics, &ingress->record.node);
	graph_settle(&engine->graph, &ingress->record.node);
}

/* ---- the other kinds ---- */

void change_service(struct engine *engine, struct service_node *service)
{
	touch_pools(engine, service);
	publish_service_changed(engine->publish, &service->record);
	graph_settle(&engine->graph, &service->record.node);
}

void change_slice(struct engine *engine, struct slice_node *slice)
{
	struct service_node *old = slice->service;
	struct service_node *service = NULL;
	if (slice->record.payload != NULL) {
		struct endpoints_record record;
		record_read(&slice->record, &engine->scratch, &record);
		if (!str_is_empty(record.service)) {
			struct str key = key_join(
				&engine->scratch, record.key.namespace, '/', record.service);
			bool stays = old != NULL && str_eq(node_key(&old->record.node), key);
			service = stays ? old
					: (struct service_node *)(void *)graph_get(
						  &engine->graph, NODE_SERVICE, key);
		}
	}
	if (service != old)
		graph_move_slice(slice, service);
	if (service != NULL)
		touch_pools(engine, service);
	if (old != NULL && old != service) {
		touch_pools(engine, old);
		graph_settle(&engine->graph, &old->record.node);
	}
	graph_settle(&engine->graph, &slice->record.node);
}

/* Pools with settings of their own may hold something of the Secret. */
static void touch_settled_pools(struct engine *engine, const struct ingress_node *ingress)
{
	struct node *node;
	SET_FOREACH (node, &ingress->targets, node_by_address) {
		struct str key = node_key(node);
		if (node->kind == NODE_POOL && str_find(key, '+') != NULL)
			pending_build(engine->pending, node);
	}
}

void change_by_secrets(struct engine *engine, struct ingress_node *ingress)
{
	if (ingress->record.payload == NULL)
		return;
	if (provider_peer_is_merged(engine->provider))
		claims_ask_of(engine, ingress);
	touch_settled_pools(engine, ingress);
}

void change_secret(struct engine *engine, struct secret_node *secret)
{
	struct node *node = &secret->record.node;
	struct secret_facts *old = secret->facts;
	struct tls_context tls = secrets_context(engine->secrets);
	struct ingress_node *user;
	secret->facts = NULL;
	if (node_has_users(node)) {
		const struct secret_facts *facts = secrets_facts(engine->secrets, secret);
		bool usable = facts->view.problem == NULL;
		bool flips = old == NULL || usable != (old->view.problem == NULL);
		bool is_news = old == NULL || !facts_sound_alike(old, facts, &tls);
		if (usable)
			pending_want_again(engine->pending, node);
		else
			pending_give_up(engine->pending, node);
		pending_build(engine->pending, node);
		SET_FOREACH (user, &secret->users, node_by_name) {
			if (flips && user->balancer != NULL)
				pending_build(engine->pending, &user->balancer->node);
			offers_forget(user);
			if (is_news)
				pending_diagnose(
					engine->pending, &user->record.node, DIAGNOSTICS_CONTENT);
			claims_ask_by_secrets(engine, user);
		}
	}
	facts_free(old);
	graph_settle(&engine->graph, node);
}

void change_flagged(struct engine *engine, uint16_t flags)
{
	static const enum node_kind kinds[] = {NODE_INGRESS, NODE_FRONT};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct record *record;
		SET_FOREACH (record, &engine->graph.records[kinds[i]], node_by_key) {
			if (record->payload == NULL || (record->node.flags & flags) != flags)
				continue;
			change_ingress(engine, (struct ingress_node *)(void *)record, NULL);
			arena_reset(&engine->scratch);
		}
	}
}

static void update_classes(struct engine *engine, const struct class_node *changed)
{
	int flags = classes_update(engine->classes, changed);
	if (flags >= 0)
		change_flagged(engine, (uint16_t)flags);
}

void change_class(struct engine *engine, struct class_node *class)
{
	struct ingress_node *user;
	plans_forget_all(engine->plans);
	update_classes(engine, class);
	SET_FOREACH (user, &class->users, node_by_name)
		change_ingress(engine, user, NULL);
	pending_diagnose(engine->pending, &class->record.node, DIAGNOSTICS_CONTENT);
	graph_settle(&engine->graph, &class->record.node);
}

void change_all(struct engine *engine)
{
	plans_forget_all(engine->plans);
	update_classes(engine, NULL);
}
