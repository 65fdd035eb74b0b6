// SPDX-License-Identifier: Apache-2.0
#include "translator/changes.h"

#include "translator/record.h"
#include "common/shared_text.h"
#include "common/xalloc.h"
#include "translator/keys.h"

#include <stdlib.h>

/* ---- objects ---- */

static void touch_pools(const struct changes *changes, struct service_node *service)
{
	struct node *node;
	RB_FOREACH (node, node_tree, &service->pools)
		pending_build(changes->pending, node);
}

/* ---- targets that stay ---- */

static void touch_hosts(const struct changes *changes, const struct plan *plan,
	const struct plan *old, const struct target_list *t, bool same_size)
{
	bool same_place =
		same_size && old != NULL && old->is_ours && str_eq(old->balancer, plan->balancer);
	for (size_t i = 0; i < plan->hosts.count; i++) {
		const struct plan_host *host = &plan->hosts.items[i];
		const struct plan_host *old_host =
			same_place ? plan_find_host(old, host->host) : NULL;
		if (old_host == NULL || !plan_same_host(old, old_host, plan, host))
			pending_build(changes->pending, &t->hosts[i]->node);
	}
}

static void touch_balancer(const struct changes *changes, const struct plan *plan,
	const struct plan *old, struct balancer_node *balancer)
{
	bool same_place = old != NULL && old->is_ours && str_eq(old->balancer, plan->balancer);
	bool shapes = plan_shapes_balancer(plan);
	bool shaped = same_place && plan_shapes_balancer(old);
	if (!shapes && !shaped)
		return;
	if (!same_place || shapes != shaped || !plan_same_balancer(old, plan))
		pending_build(changes->pending, &balancer->node);
}

/* A new Ingress with an old name must get all Events that the old one got. */
static void repeat_diagnostics(const struct changes *changes, const struct ingress_node *ingress)
{
	struct use *use;
	LIST_FOREACH (use, &ingress->targets, next) {
		struct node *node = use->target;
		if ((node->flags & NODE_TOLD) != 0)
			pending_diagnose(changes->pending, node, DIAGNOSTICS_CONTENT);
		if ((node->flags & NODE_TOLD_STATUS) != 0)
			pending_diagnose(changes->pending, node, DIAGNOSTICS_STATUS);
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

/* Returns whether it has changed. */
static bool note_sharing(struct ingress_node *ingress, const struct plan *plan)
{
	const char *old = ingress->shared_with;
	struct str now = plan != NULL ? plan->shared_with : STR_NONE;
	bool is_news = !str_eq(shared_text_view(old), now);
	ingress->shared_with = shared_text_get(now);
	shared_text_drop(old);
	return is_news;
}

/* Called after its targets were set. */
static void change_ownership(const struct changes *changes, struct ingress_node *ingress,
	const struct plan *plan, const struct target_list *t, bool is_news)
{
	for (size_t i = 0; i < plan->hosts.count && is_news; i++)
		owners_changed(changes->owners, t->hosts[i]);
	if (owners_have_all(changes->owners, ingress) != ingress->is_unserved)
		pending_tell_status(changes->pending, ingress);
}

static void change_certificates(const struct changes *changes, const struct ingress_node *ingress,
	const struct plan *plan, const struct target_list *t)
{
	for (size_t i = 0; i < plan->hosts.count; i++)
		owners_certified(changes->owners, t->hosts[i], ingress);
}

static void change_present(
	const struct changes *changes, struct ingress_node *ingress, const struct plan *old)
{
	struct node *node = &ingress->record.node;
	const struct plan_slot *slot = plans_get(changes->plans, ingress);
	if ((node->flags & NODE_RELEASED) != 0 && old != NULL &&
		!str_eq(old->self.uid, slot->plan.self.uid)) {
		node->flags &=
			(uint16_t)~NODE_RELEASED; /* it applied to another object of the same name */
		plans_forget(changes->plans, ingress);
		slot = plans_get(changes->plans, ingress);
	}
	const struct plan *plan = &slot->plan;
	struct balancer_node *old_balancer = ingress->balancer;
	bool shaped = (node->flags & NODE_SHAPES) != 0;
	bool was_ours = (node->flags & NODE_OURS) != 0;
	bool was_large = ingress->is_large;
	bool is_other = old == NULL || !str_eq(old->self.uid, plan->self.uid);
	struct target_list t = targets_gather(changes->targets, plan);
	bool has_tls = plan->claim_route != NULL && plan->claim_route->has_tls;
	bool had_tls = ingress->has_tls;
	note_plan(ingress, plan);
	ingress->has_tls |= has_tls; /* hosts that it leaves were certified by it */
	bool shares_anew = note_sharing(ingress, plan);
	offers_forget(ingress);
	ingress->balancer = t.balancer;
	targets_set(changes->targets, ingress, &t, shaped);
	ingress->has_tls = has_tls;
	if (plan->is_ours) {
		touch_hosts(changes, plan, old, &t, ingress->is_large == was_large);
		touch_balancer(changes, plan, old, t.balancer);
		if (t.policy != NULL)
			pending_build(changes->pending, &t.policy->node);
		if (t.kept_policy != NULL)
			pending_build(changes->pending, &t.kept_policy->node);
		if (old == NULL || !old->is_ours || !plan_same_claims(old, plan))
			claims_ask_of(changes->claims, ingress);
		if (had_tls != ingress->has_tls)
			change_certificates(changes, ingress, plan, &t);
		change_ownership(changes, ingress, plan, &t,
			old != NULL && (shares_anew || old->created != plan->created));
	}
	if (is_other)
		repeat_diagnostics(changes, ingress);
	ingress->is_served = ingress->is_served && !is_other && t.balancer == old_balancer;
	if (slot->diags.count != 0 || plan->tls.count != 0 || plan->ports.count != 0 ||
		plan->is_tls_only || !str_is_empty(plan->default_pool) ||
		(node->flags & NODE_TOLD) != 0)
		pending_diagnose(changes->pending, node, DIAGNOSTICS_CONTENT);
	if (node->kind == NODE_FRONT)
		fronts_changed(changes->fronts, ingress, plan);
	else if (plan->is_ours ? is_other || t.balancer != old_balancer ||
					 (node->flags & NODE_WAITING) != 0
			       : was_ours)
		pending_tell_status(changes->pending, ingress);
}

void change_ingress(
	const struct changes *changes, struct ingress_node *ingress, const struct plan *old)
{
	if (ingress->record.payload != NULL) {
		change_present(changes, ingress, old);
		return;
	}
	struct target_list none = {0};
	bool shaped = (ingress->record.node.flags & NODE_SHAPES) != 0;
	if (ingress->record.node.kind == NODE_FRONT)
		fronts_gone(changes->fronts, ingress);
	note_plan(ingress, NULL);
	note_sharing(ingress, NULL);
	offers_forget(ingress);
	ingress->balancer = NULL;
	ingress->is_served = false;
	targets_set(changes->targets, ingress, &none, shaped);
	ingress->has_tls = false;
	diagnostics_drop(changes->diagnostics, &ingress->record.node);
	graph_settle(changes->graph, &ingress->record.node);
}

/* ---- other kinds ---- */

void change_service(const struct changes *changes, struct service_node *service)
{
	touch_pools(changes, service);
	publish_service_changed(changes->publish, &service->record);
	graph_settle(changes->graph, &service->record.node);
}

void change_slice(const struct changes *changes, struct slice_node *slice)
{
	struct service_node *old = slice->service;
	struct service_node *service = NULL;
	if (slice->record.payload != NULL) {
		struct endpoints_record record;
		record_read(&slice->record, changes->scratch, &record);
		if (!str_is_empty(record.service)) {
			struct str key = key_join(
				changes->scratch, record.key.namespace, '/', record.service);
			bool stays = old != NULL && str_eq(node_key(&old->record.node), key);
			service = stays ? old
					: (struct service_node *)(void *)graph_get(
						  changes->graph, NODE_SERVICE, key);
		}
	}
	if (service != old)
		graph_move_slice(slice, service);
	if (service != NULL)
		touch_pools(changes, service);
	if (old != NULL && old != service) {
		touch_pools(changes, old);
		graph_settle(changes->graph, &old->record.node);
	}
	graph_settle(changes->graph, &slice->record.node);
}

/* Pools with settings of their own may use the Secret. */
static void touch_settled_pools(const struct changes *changes, const struct ingress_node *ingress)
{
	struct use *use;
	LIST_FOREACH (use, &ingress->targets, next) {
		struct node *node = use->target;
		struct str key = node_key(node);
		if (node->kind == NODE_POOL && str_find(key, '+') != NULL)
			pending_build(changes->pending, node);
	}
}

/* Hosts want certificates that it tells how to check. */
static void touch_guarded_hosts(const struct changes *changes, struct ingress_node *ingress)
{
	struct use *use;
	if (plans_get(changes->plans, ingress)->plan.route.client == NULL)
		return;
	LIST_FOREACH (use, &ingress->targets, next) {
		if (use->target->kind == NODE_HOST)
			pending_build(changes->pending, use->target);
	}
}

void change_by_secrets(const struct changes *changes, struct ingress_node *ingress)
{
	if (ingress->record.payload == NULL)
		return;
	if (provider_peer_is_merged(changes->provider))
		claims_ask_of(changes->claims, ingress);
	touch_settled_pools(changes, ingress);
	touch_guarded_hosts(changes, ingress);
}

static void touch_users(const struct changes *changes, struct str key)
{
	struct str of_keys =
		arena_printf(changes->scratch, "%.*s" PLAN_USERS_OF_KEYS, STR_FMT(key));
	struct users_node *lines = graph_find_users(changes->graph, key);
	struct users_node *keys = graph_find_users(changes->graph, of_keys);
	if (lines != NULL && node_has_users(&lines->node))
		pending_build(changes->pending, &lines->node);
	if (keys != NULL && node_has_users(&keys->node))
		pending_build(changes->pending, &keys->node);
}

void change_secret(const struct changes *changes, struct secret_node *secret)
{
	struct node *node = &secret->record.node;
	struct secret_facts *old = secret->facts;
	struct tls_context tls = secrets_context(changes->secrets);
	struct use *use;
	secret->facts = NULL;
	if (node_has_users(node)) {
		const struct secret_facts *facts = secrets_facts(changes->secrets, secret);
		bool usable = facts->view.problem == NULL;
		bool flips = old == NULL || usable != (old->view.problem == NULL);
		bool is_news = old == NULL || !facts_sound_alike(old, facts, &tls);
		if (usable)
			pending_want_again(changes->pending, node);
		else
			pending_give_up(changes->pending, node);
		pending_build(changes->pending, node);
		RB_FOREACH (use, use_tree, &secret->record.node.users) {
			struct ingress_node *user = use->user;
			if (flips && user->balancer != NULL)
				pending_build(changes->pending, &user->balancer->node);
			offers_forget(user);
			if (is_news)
				pending_diagnose(
					changes->pending, &user->record.node, DIAGNOSTICS_CONTENT);
			claims_ask_by_secrets(changes->claims, user);
		}
	}
	touch_users(changes, node_key(node));
	facts_free(old);
	graph_settle(changes->graph, node);
}

void change_flagged(const struct changes *changes, uint16_t flags)
{
	static const enum node_kind kinds[] = {NODE_INGRESS, NODE_FRONT};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct node *node;
		RB_FOREACH (node, node_tree, &changes->graph->records[kinds[i]]) {
			struct ingress_node *ingress = (struct ingress_node *)(void *)node;
			if (ingress->record.payload == NULL || (node->flags & flags) != flags)
				continue;
			change_ingress(changes, ingress, NULL);
			arena_reset(changes->scratch);
		}
	}
}

static void replan_users(const struct changes *changes, struct node *node)
{
	struct use *use;
	plans_forget_all(changes->plans);
	RB_FOREACH (use, use_tree, &node->users) {
		change_ingress(changes, use->user, NULL);
		arena_reset(changes->scratch);
	}
}

/* What the options say of proxies in front stands in load balancers; there are few where there is one for all Ingresses. */
static void rebuild_balancers(const struct changes *changes)
{
	struct node *node;
	RB_FOREACH (node, node_tree, &changes->graph->balancers)
		pending_build(changes->pending, node);
}

void change_config_map(const struct changes *changes, struct config_map_node *map)
{
	struct node *node = &map->record.node;
	struct config_map_node *options = global_options_node(changes->options);
	bool has_options = global_options_concern(changes->options, node_key(node));
	if (has_options) {
		global_options_update(changes->options);
		rebuild_balancers(changes);
	}
	if (map->record.payload == NULL)
		diagnostics_drop(changes->diagnostics, node);
	else if (global_options_is_ports(changes->options, node_key(node)))
		pending_diagnose(changes->pending, node, DIAGNOSTICS_CONTENT);
	if (has_options && options != NULL && options != map)
		replan_users(changes, &options->record.node);
	if (has_options && options != NULL && options->record.payload != NULL)
		pending_diagnose(changes->pending, &options->record.node, DIAGNOSTICS_CONTENT);
	replan_users(changes, node);
	graph_settle(changes->graph, node);
}

void change_place(const struct changes *changes, struct place_node *place)
{
	publish_check(changes->publish);
	graph_settle(changes->graph, &place->record.node);
}

static void update_classes(const struct changes *changes, const struct class_node *changed)
{
	int flags = classes_update(changes->classes, changed);
	if (flags >= 0)
		change_flagged(changes, (uint16_t)flags);
}

void change_class(const struct changes *changes, struct class_node *class)
{
	struct use *use;
	plans_forget_all(changes->plans);
	update_classes(changes, class);
	RB_FOREACH (use, use_tree, &class->record.node.users)
		change_ingress(changes, use->user, NULL);
	pending_diagnose(changes->pending, &class->record.node, DIAGNOSTICS_CONTENT);
	graph_settle(changes->graph, &class->record.node);
}

void change_all(const struct changes *changes)
{
	struct config_map_node *options = NULL;
	global_options_update(changes->options);
	options = global_options_node(changes->options);
	if (options != NULL && options->record.payload != NULL)
		pending_diagnose(changes->pending, &options->record.node, DIAGNOSTICS_CONTENT);
	plans_forget_all(changes->plans);
	rebuild_balancers(changes);
	update_classes(changes, NULL);
}
