// SPDX-License-Identifier: Apache-2.0
#include "translator/fronts.h"

#include "common/xalloc.h"

#include <stdlib.h>

struct fronts {
	struct graph *graph;
	const struct provider_peer *provider;
	struct pending *pending;
	bool releases_due; /* a leaving front may be ready to be released */
	size_t leaving_count;
};

struct fronts *fronts_new(
	struct graph *graph, const struct provider_peer *provider, struct pending *pending)
{
	struct fronts *fronts = xcalloc(1, sizeof(*fronts));
	fronts->graph = graph;
	fronts->provider = provider;
	fronts->pending = pending;
	return fronts;
}

void fronts_free(struct fronts *fronts)
{
	free(fronts);
}

static void set_leaving(struct fronts *fronts, struct node *node, bool on)
{
	bool was = (node->flags & NODE_LEAVING) != 0;
	if (on == was)
		return;
	node->flags ^= NODE_LEAVING;
	if (on)
		fronts->leaving_count++;
	else
		fronts->leaving_count--;
}

void fronts_changed(struct fronts *fronts, struct ingress_node *front, const struct plan *plan)
{
	struct node *node = &front->record.node;
	bool waits = plan->is_leaving && plan->is_ours;
	set_leaving(fronts, node, waits);
	if (!plan->is_leaving)
		node->flags &= (uint16_t)~NODE_RELEASED;
	else if (!waits)
		node->flags |= NODE_RELEASED; /* this provider never had anything of it */
	fronts->releases_due |= waits;
	pending_tell_status(fronts->pending, front);
}

void fronts_gone(struct fronts *fronts, struct ingress_node *front)
{
	set_leaving(fronts, &front->record.node, false);
	front->record.node.flags &= (uint16_t)~NODE_RELEASED;
}

void fronts_ask(struct fronts *fronts, struct balancer_node *balancer)
{
	struct node *node;
	struct use *use;
	if (!provider_peer_is_merged(fronts->provider)) {
		RB_FOREACH (use, use_tree, &balancer->node.users) {
			if (use->user->record.node.kind == NODE_FRONT)
				pending_tell_status(fronts->pending, use->user);
		}
		return;
	}
	/* Few among the thousands that use it. */
	RB_FOREACH (node, node_tree, &fronts->graph->records[NODE_FRONT]) {
		struct ingress_node *front = (struct ingress_node *)(void *)node;
		if (front->balancer == balancer)
			pending_tell_status(fronts->pending, front);
	}
}

void fronts_answered(struct fronts *fronts, struct balancer_node *balancer)
{
	fronts->releases_due = true;
	fronts_ask(fronts, balancer);
}

void fronts_release_again(struct fronts *fronts)
{
	fronts->releases_due = true;
}

bool fronts_release_is_due(const struct fronts *fronts)
{
	return fronts->releases_due;
}

bool fronts_begin_release(struct fronts *fronts)
{
	fronts->releases_due = false;
	return fronts->leaving_count != 0;
}
