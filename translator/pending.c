// SPDX-License-Identifier: Apache-2.0
/*
 * What is to be done: the queues that changes fill, and that batch.c, diagnostics.c and statuses.c empty when their turn comes. Nothing is done here.
 */
#include "translator/state.h"

#include "translator/claim_keys.h"
#include "translator/object_names.h"

static uint16_t ask_flag(enum diagnostics_part part)
{
	return part == DIAGNOSTICS_CONTENT ? NODE_TELL : NODE_TELL_STATUS;
}

void diagnostics_ask(struct engine *engine, struct node *node, enum diagnostics_part part)
{
	node->flags |= ask_flag(part);
	queue_push(&engine->to_tell, node);
}

void object_touch(struct engine *engine, struct node *node)
{
	/* A provider's batch tells the diagnostics along the way, of what is sent. */
	bool is_unserved =
		node->kind == NODE_HOST && ((struct host_node *)(void *)node)->is_unserved;
	if (provider_peer_is_up(engine->provider))
		queue_push(&engine->dirty[object_order(node)], node);
	if (!provider_peer_is_up(engine->provider) || is_unserved)
		diagnostics_ask(engine, node, DIAGNOSTICS_CONTENT);
}

static bool is_default(const struct engine *engine, const struct node *secret)
{
	return str_eq(node_name(secret), engine->config.default_name) &&
	       str_eq(node_namespace(secret), engine->config.default_namespace);
}

bool object_is_wanted(struct engine *engine, struct node *node)
{
	if (!node_has_users(node))
		return false;
	if (node->kind == NODE_HOST)
		return !((struct host_node *)(void *)node)->is_unserved;
	if (node->kind != NODE_SECRET)
		return true;
	/* A key goes nowhere where nobody asks for it. */
	struct secret_node *secret = (struct secret_node *)(void *)node;
	bool is_shown = !provider_peer_is_merged(engine->provider) ||
			!set_is_empty(&secret->shown) || is_default(engine, node);
	return is_shown && provider_peer_can_serve(engine->provider, STR("https")) &&
	       secret_facts_get(engine, secret)->view.problem == NULL;
}

void batch_give_up(struct engine *engine, struct node *node)
{
	node->batch = engine->batch.number;
	if ((node->flags & NODE_SENT) != 0)
		queue_push(&engine->going[object_order(node)], node);
}

void batch_want_again(struct engine *engine, const struct node *node)
{
	enum object_order order = object_order(node);
	if (engine->batch.active && (node->flags & (NODE_DIRTY | NODE_SENT)) == NODE_DIRTY)
		engine->batch.seen[order] = engine->dirty[order].popped + engine->batch.left[order];
}

static bool is_anything_waiting(const struct engine *engine)
{
	for (size_t i = 0; i < OBJECT_KINDS; i++) {
		if (queue_len(&engine->dirty[i]) != 0 || queue_len(&engine->going[i]) != 0)
			return true;
	}
	return false;
}

bool batch_is_idle(const struct engine *engine)
{
	return !engine->batch.active && !engine->snapshot_due && !is_anything_waiting(engine);
}

void statuses_ask(struct engine *engine, struct ingress_node *ingress)
{
	queue_push(&engine->statuses, &ingress->record.node);
}

void statuses_ask_all(struct engine *engine)
{
	static const enum node_kind kinds[] = {NODE_INGRESS, NODE_FRONT};
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct record *record;
		SET_FOREACH (record, &engine->graph.records[kinds[i]], node_by_key)
			queue_push(&engine->statuses, &record->node);
	}
}

void claims_ask(struct engine *engine, struct claim_node *claim)
{
	queue_push(&engine->claims, &claim->node);
}

void claims_ask_name(struct engine *engine, struct balancer_node *balancer, struct str host)
{
	struct claim_node *claim =
		graph_find_claim(balancer, claim_name_key(&engine->scratch, host));
	struct ingress_node *user;
	if (claim == NULL)
		return;
	claims_ask(engine, claim);
	SET_FOREACH (user, &claim->users, node_by_name)
		diagnostics_ask(engine, &user->record.node, DIAGNOSTICS_CONTENT);
}
