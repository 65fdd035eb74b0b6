// SPDX-License-Identifier: Apache-2.0
#include "translator/work.h"

#include "translator/engine_parts.h"

bool work_settle(struct engine *engine)
{
	int steps = 0;
	/* Not within a batch: within one, a name must not move from one certificate to another. */
	if (!source_peer_is_whole(engine->source) || pending_is_in_batch(engine->pending))
		return false;
	while (steps < PENDING_STEPS_MAX && pending_count(engine->pending, PENDING_CLAIMS) != 0) {
		struct node *node = pending_take(engine->pending, PENDING_CLAIMS);
		if (node->kind == NODE_CLAIM)
			claims_settle(&engine->claims, (struct claim_node *)(void *)node);
		else if (node->kind == NODE_HOST)
			owners_settle(&engine->owners, (struct host_node *)(void *)node);
		else
			change_by_secrets(&engine->changes, (struct ingress_node *)(void *)node);
		graph_settle(&engine->graph, node);
		arena_reset(&engine->scratch);
		steps++;
	}
	return steps == PENDING_STEPS_MAX;
}

static bool release(struct engine *engine, struct ingress_node *front)
{
	const uint16_t agreed = NODE_SENT | NODE_ANSWERED;
	struct node *node = &front->record.node;
	if ((node->flags & NODE_LEAVING) == 0 || front->balancer == NULL ||
		(front->balancer->node.flags & agreed) != agreed)
		return false;
	node->flags |= NODE_RELEASED;
	plans_forget(engine->plans, front);
	change_ingress(&engine->changes, front, NULL);
	arena_reset(&engine->scratch);
	return true;
}

bool work_release(struct engine *engine)
{
	struct node *node;
	bool released = false;
	if (!fronts_release_is_due(engine->fronts) || !provider_peer_is_up(engine->provider) ||
		!source_peer_is_whole(engine->source) || !batch_is_idle(engine->batch) ||
		pending_count(engine->pending, PENDING_CLAIMS) != 0)
		return false;
	if (!fronts_begin_release(engine->fronts))
		return false;
	RB_FOREACH (node, node_tree, &engine->graph.records[NODE_FRONT])
		released |= release(engine, (struct ingress_node *)(void *)node);
	return released;
}

bool work_rest(struct engine *engine)
{
	return provider_peer_is_up(engine->provider) && source_peer_is_whole(engine->source) &&
	       batch_is_idle(engine->batch) &&
	       pending_count(engine->pending, PENDING_CLAIMS) == 0 &&
	       served_rest(engine->served, batch_serial(engine->batch));
}

static void diagnose(struct engine *engine, struct node *node)
{
	struct diag_list diags;
	uint16_t asked = node->flags & (NODE_TELL | NODE_TELL_STATUS);
	node->flags &= (uint16_t)~asked;
	if ((asked & NODE_TELL) != 0) {
		diag_list_init(&diags, &engine->scratch);
		object_diagnose(&engine->objects, node, &diags);
		diagnostics_update(engine->diagnostics, node, DIAGNOSTICS_CONTENT, &diags, false);
	}
	if ((asked & NODE_TELL_STATUS) != 0) {
		bool keep = false;
		diag_list_init(&diags, &engine->scratch);
		statuses_diagnose(
			&engine->statuses, (struct balancer_node *)(void *)node, &diags, &keep);
		diagnostics_update(engine->diagnostics, node, DIAGNOSTICS_STATUS, &diags, keep);
		/* After a restart the first status may be that nothing is known yet; what follows may have
		 * been reported before the restart. */
		if ((node->flags & NODE_TELL_STATUS) == 0 && !keep)
			node->flags &= (uint16_t)~NODE_NEW_STATUS;
	}
	arena_reset(&engine->scratch);
}

bool work_diagnose(struct engine *engine)
{
	int steps = 0;
	/* Ownership must be settled before it is reported. */
	if (!source_peer_is_up(engine->source) || !source_peer_is_whole(engine->source) ||
		pending_count(engine->pending, PENDING_CLAIMS) != 0)
		return false;
	while (steps < PENDING_STEPS_MAX &&
		pending_count(engine->pending, PENDING_DIAGNOSES) != 0 &&
		source_peer_out(engine->source) != NULL) {
		struct node *node = pending_take(engine->pending, PENDING_DIAGNOSES);
		diagnose(engine, node);
		graph_settle(&engine->graph, node);
		steps++;
	}
	if (pending_count(engine->pending, PENDING_DIAGNOSES) == 0 &&
		(!provider_peer_is_up(engine->provider) || batch_is_idle(engine->batch)))
		diagnostics_set_standing(engine->diagnostics, false);
	return steps == PENDING_STEPS_MAX;
}
