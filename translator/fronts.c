// SPDX-License-Identifier: Apache-2.0
/*
 * Services of type LoadBalancer as owners. Being ours is told with addresses, like an Ingress. One
 * that is ours no longer, but held by our finalizer, is leaving: when the provider has said of the
 * load balancer, as it was sent last, that it is applied, nothing of the Service is left in it, and
 * it is released (Kubernetes' cloud-provider, service controller: the finalizer goes last).
 */
#include "translator/state.h"

static void set_leaving(struct engine *engine, struct node *node, bool on)
{
	bool was = (node->flags & NODE_LEAVING) != 0;
	if (on == was)
		return;
	node->flags ^= NODE_LEAVING;
	if (on)
		engine->leaving_count++;
	else
		engine->leaving_count--;
}

void front_changed(struct engine *engine, struct ingress_node *front, const struct plan *plan)
{
	struct node *node = &front->record.node;
	bool waits = plan->is_leaving && plan->is_ours;
	set_leaving(engine, node, waits);
	if (!plan->is_leaving)
		node->flags &= (uint16_t)~NODE_RELEASED;
	else if (!waits)
		node->flags |= NODE_RELEASED; /* nothing of it was ever with this provider */
	engine->releases_due |= waits;
	pending_tell_status(engine->pending, front);
}

void front_gone(struct engine *engine, struct ingress_node *front)
{
	set_leaving(engine, &front->record.node, false);
	front->record.node.flags &= (uint16_t)~NODE_RELEASED;
}

void fronts_ask(struct engine *engine, struct balancer_node *balancer)
{
	struct record *record;
	struct ingress_node *user;
	if (!provider_peer_is_merged(engine->provider)) {
		SET_FOREACH (user, &balancer->users, node_by_name) {
			if (user->record.node.kind == NODE_FRONT)
				pending_tell_status(engine->pending, user);
		}
		return;
	}
	/* Few among the thousands that use it. */
	SET_FOREACH (record, &engine->graph.records[NODE_FRONT], node_by_key) {
		struct ingress_node *front = (struct ingress_node *)(void *)record;
		if (front->balancer == balancer)
			pending_tell_status(engine->pending, front);
	}
}

void fronts_answered(struct engine *engine, struct balancer_node *balancer)
{
	engine->releases_due = true;
	fronts_ask(engine, balancer);
}
