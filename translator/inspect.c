// SPDX-License-Identifier: Apache-2.0
#include "translator/inspect.h"

#include "translator/engine_parts.h"
#include "translator/record.h"

enum { KEY_LEN_MAX = 4096 };

union any_record {
	struct record_key key;
	struct ingress_record ingress;
	struct ingress_class_record ingress_class;
	struct service_record service;
	struct endpoints_record endpoints;
	struct secret_record secret;
	struct config_map_record config_map;
	struct pod_record pod;
	struct node_record node;
};

bool inspect_init(struct inspect_list *list, struct str type)
{
	*list = (struct inspect_list){.what = INSPECT_STATUSES};
	buf_init(&list->outer, KEY_LEN_MAX);
	buf_init(&list->inner, KEY_LEN_MAX);
	if (str_eq(type, STR("lb-status")))
		return true;
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if (str_eq_c(type, record_kind_word((enum record_kind)kind))) {
			list->what = INSPECT_RECORDS;
			list->record_kind = (enum record_kind)kind;
			return true;
		}
	}
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++) {
		if (str_eq_c(type, lb_kind_word((enum lb_kind)kind))) {
			list->what = INSPECT_OBJECTS;
			list->lb_kind = (enum lb_kind)kind;
			return true;
		}
	}
	return false;
}

void inspect_fini(struct inspect_list *list)
{
	buf_fini(&list->outer);
	buf_fini(&list->inner);
}

/* ---- position ---- */

/* The successor of a key is the key followed by NUL. */
static void move_past(struct buf *place, struct str key)
{
	buf_clear(place);
	if (buf_append_str(place, key) != 0 || buf_append(place, "", 1) != 0)
		buf_clear(place);
}

/* The next node of the outer tree from the current position on. */
static struct node *outer_node(const struct inspect_list *list, struct engine *engine)
{
	struct str from = buf_str(&list->outer);
	enum node_kind kind = NODE_SERVICE;
	if (list->what == INSPECT_STATUSES || list->lb_kind == LB_LOAD_BALANCER ||
		list->lb_kind == LB_VIRTUAL_HOST)
		return graph_find_from(&engine->graph.balancers, from);
	if (list->lb_kind == LB_POLICY)
		return graph_find_from(&engine->graph.policies, from);
	if (list->lb_kind == LB_USERS)
		return graph_find_from(&engine->graph.users, from);
	if (list->what == INSPECT_RECORDS)
		kind = record_node_kind(list->record_kind);
	else if (list->lb_kind == LB_CERTIFICATE)
		kind = NODE_SECRET;
	return graph_find_from(&engine->graph.records[kind], from);
}

/* The next node within it; the node itself if nothing is within. */
static struct node *inner_node(const struct inspect_list *list, struct node *outer)
{
	struct str from = buf_str(&list->inner);
	if (list->lb_kind == LB_VIRTUAL_HOST)
		return graph_find_from(&((struct balancer_node *)(void *)outer)->hosts, from);
	if (list->lb_kind == LB_POOL)
		return graph_find_from(&((struct service_node *)(void *)outer)->pools, from);
	return list->has_begun ? NULL : outer;
}

static void leave_outer(struct inspect_list *list, const struct node *outer)
{
	move_past(&list->outer, node_key(outer));
	buf_clear(&list->inner);
	list->has_begun = false;
}

/* ---- frames ---- */

static bool put_record(
	struct engine *engine, enum record_kind kind, struct node *node, struct buf *out)
{
	const struct record *record = (const void *)node;
	struct schema_error error = {""};
	union any_record value;
	if (record->payload == NULL ||
		str_eq_c(node_key(node), ENGINE_MADE_NAMESPACE "/" ENGINE_MADE_NAME))
		return false;
	record_read(record, &engine->scratch, &value);
	if (kind == RECORD_SECRET) {
		value.secret.private_key = STR("");
		value.secret.entries.count = 0;
	}
	return message_encode_record(&value, out, &error) == 0;
}

static bool put_status(struct engine *engine, struct node *node, struct buf *out)
{
	const struct balancer_node *balancer = (const void *)node;
	struct schema_error error = {""};
	struct lb_status status;
	if (!statuses_read(balancer, &engine->scratch, &status))
		return false;
	status.id = node_key(node);
	status.rev = balancer->rev;
	return message_encode(MESSAGE_LB_STATUS, &status, out, &error) == 0;
}

/* Without the private key of its client certificate. */
static bool put_pool(const struct pool *given, struct buf *out)
{
	struct schema_error error = {""};
	uint64_t rev = 0;
	struct pool pool = *given;
	struct pool_tls tls;
	if (pool.tls != NULL) {
		tls = *pool.tls;
		tls.client_key = STR_NONE;
		pool.tls = &tls;
	}
	return message_encode_object(&pool, out, &rev, &error) == 0;
}

static bool put_object(struct engine *engine, struct node *node, struct buf *out)
{
	struct schema_error error = {""};
	uint64_t rev = 0;
	bool is_left =
		(node->kind == NODE_POLICY || node->kind == NODE_USERS) && !node_has_users(node);
	if (is_left || !object_is_wanted(engine->secrets, node))
		return false;
	const void *object = object_build(&engine->objects, node, NULL);
	if (node->kind == NODE_POOL)
		return put_pool(object, out);
	if (node->kind == NODE_USERS) {
		/* Without names and hashes. */
		struct users users = {.key = ((const struct users *)object)->key};
		return message_encode_object(&users, out, &rev, &error) == 0;
	}
	if (node->kind == NODE_SECRET) {
		struct certificate certificate = *(const struct certificate *)object;
		certificate.private_key = STR("");
		return message_encode_object(&certificate, out, &rev, &error) == 0;
	}
	return message_encode_object(object, out, &rev, &error) == 0;
}

static bool put(
	const struct inspect_list *list, struct engine *engine, struct node *node, struct buf *out)
{
	bool is_put = false;
	switch (list->what) {
	case INSPECT_RECORDS:
		is_put = put_record(engine, list->record_kind, node, out);
		break;
	case INSPECT_OBJECTS:
		is_put = put_object(engine, node, out);
		break;
	case INSPECT_STATUSES:
		is_put = put_status(engine, node, out);
		break;
	}
	arena_reset(&engine->scratch);
	return is_put;
}

/* The next node within `outer`; the position moves past it. */
static struct node *take_inner(struct inspect_list *list, struct node *outer)
{
	struct node *inner = inner_node(list, outer);
	if (inner != NULL) {
		move_past(&list->inner, inner != outer ? node_key(inner) : STR(""));
		move_past(&list->outer, node_key(outer));
		buf_cut(&list->outer, buf_len(&list->outer) - 1);
		list->has_begun = true;
	}
	/* Checking within is cheaper than finding the outer node again. */
	if (inner == NULL || inner_node(list, outer) == NULL)
		leave_outer(list, outer);
	return inner;
}

bool inspect_next(struct inspect_list *list, struct engine *engine, struct buf *out)
{
	struct node *outer;
	while ((outer = outer_node(list, engine)) != NULL) {
		struct node *inner = take_inner(list, outer);
		if (inner != NULL && put(list, engine, inner, out))
			return true;
	}
	return false;
}

bool inspect_find(
	const struct inspect_list *list, struct engine *engine, struct str key, struct buf *out)
{
	struct node *node = NULL;
	if (list->what == INSPECT_STATUSES || list->lb_kind == LB_LOAD_BALANCER) {
		struct balancer_node *balancer = graph_find_balancer(&engine->graph, key);
		node = balancer != NULL ? &balancer->node : NULL;
	} else if (list->lb_kind == LB_USERS) {
		struct users_node *users = graph_find_users(&engine->graph, key);
		node = users != NULL ? &users->node : NULL;
	} else if (list->what == INSPECT_RECORDS || list->lb_kind == LB_CERTIFICATE) {
		struct record *record = graph_find(&engine->graph,
			list->what == INSPECT_RECORDS ? record_node_kind(list->record_kind)
						      : NODE_SECRET,
			key);
		node = record != NULL ? &record->node : NULL;
	}
	return node != NULL && put(list, engine, node, out);
}

/* ---- numbers ---- */

size_t inspect_waiting_down(const struct engine *engine)
{
	return pending_count(engine->pending, PENDING_OBJECTS) +
	       pending_count(engine->pending, PENDING_REMOVALS);
}

size_t inspect_waiting_up(const struct engine *engine)
{
	return pending_count(engine->pending, PENDING_DIAGNOSES) +
	       pending_count(engine->pending, PENDING_STATUSES);
}

struct str inspect_trouble(struct engine *engine, struct arena *arena)
{
	struct node *node;
	struct lb_status status;
	RB_FOREACH (node, node_tree, &engine->graph.balancers) {
		const struct balancer_node *balancer = (const void *)node;
		if (statuses_has_failed(balancer) && statuses_read(balancer, arena, &status))
			return arena_printf(arena, "%.*s: %.*s", STR_FMT(node_key(node)),
				STR_FMT(status.message));
	}
	return STR_NONE;
}
