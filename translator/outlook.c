// SPDX-License-Identifier: Apache-2.0
#include "translator/outlook.h"

#include "translator/state.h"
#include "translator/record.h"

enum { KEY_LEN_MAX = 4096 };

union any_record {
	struct record_key key;
	struct ingress_record ingress;
	struct ingress_class_record ingress_class;
	struct service_record service;
	struct endpoints_record endpoints;
	struct secret_record secret;
};

bool outlook_init(struct outlook *outlook, struct str type)
{
	*outlook = (struct outlook){.what = OUTLOOK_STATUSES};
	buf_init(&outlook->outer, KEY_LEN_MAX);
	buf_init(&outlook->inner, KEY_LEN_MAX);
	if (str_eq(type, STR("lb-status")))
		return true;
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		if (str_eq_c(type, record_kind_word((enum record_kind)kind))) {
			outlook->what = OUTLOOK_RECORDS;
			outlook->record_kind = (enum record_kind)kind;
			return true;
		}
	}
	for (int kind = LB_NONE + 1; kind < LB_KIND_COUNT; kind++) {
		if (str_eq_c(type, lb_kind_word((enum lb_kind)kind))) {
			outlook->what = OUTLOOK_OBJECTS;
			outlook->lb_kind = (enum lb_kind)kind;
			return true;
		}
	}
	return false;
}

void outlook_fini(struct outlook *outlook)
{
	buf_fini(&outlook->outer);
	buf_fini(&outlook->inner);
}

/* ---- where it stands ---- */

/* What follows a key directly is the key with a NUL behind it. */
static void stand_behind(struct buf *place, struct str key)
{
	buf_clear(place);
	if (buf_append_str(place, key) != 0 || buf_append(place, "", 1) != 0)
		buf_clear(place);
}

/* The next in the outer tree, from the present place on. */
static struct node *outer_node(const struct outlook *outlook, struct engine *engine)
{
	struct str from = buf_str(&outlook->outer);
	enum node_kind kind = NODE_SERVICE;
	if (outlook->what == OUTLOOK_STATUSES || outlook->lb_kind == LB_LOAD_BALANCER ||
		outlook->lb_kind == LB_VIRTUAL_HOST) {
		struct balancer_node *balancer = graph_next_balancer(&engine->graph, from);
		return balancer != NULL ? &balancer->node : NULL;
	}
	if (outlook->what == OUTLOOK_RECORDS)
		kind = record_node_kind(outlook->record_kind);
	else if (outlook->lb_kind == LB_CERTIFICATE)
		kind = NODE_SECRET;
	struct record *record = graph_next_record(&engine->graph, kind, from);
	return record != NULL ? &record->node : NULL;
}

/* The next within it; itself when there is nothing within. */
static struct node *inner_node(const struct outlook *outlook, struct node *outer)
{
	struct str from = buf_str(&outlook->inner);
	if (outlook->lb_kind == LB_VIRTUAL_HOST) {
		struct host_node *host =
			graph_next_host((struct balancer_node *)(void *)outer, from);
		return host != NULL ? &host->node : NULL;
	}
	if (outlook->lb_kind == LB_POOL) {
		struct pool_node *pool =
			graph_next_pool((struct service_node *)(void *)outer, from);
		return pool != NULL ? &pool->node : NULL;
	}
	return outlook->has_begun ? NULL : outer;
}

static void leave_outer(struct outlook *outlook, const struct node *outer)
{
	stand_behind(&outlook->outer, node_key(outer));
	buf_clear(&outlook->inner);
	outlook->has_begun = false;
}

/* ---- frames ---- */

static bool put_record(
	struct engine *engine, enum record_kind kind, struct node *node, struct buf *out)
{
	const struct record *record = (const void *)node;
	struct schema_error error = {""};
	union any_record value;
	if (record->payload == NULL)
		return false;
	record_read(record, &engine->scratch, &value);
	if (kind == RECORD_SECRET)
		value.secret.private_key = STR("");
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

/* Without the key of its client certificate. */
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
	if (!object_is_wanted(engine, node))
		return false;
	const void *object = object_build(engine, node, NULL);
	if (node->kind == NODE_POOL)
		return put_pool(object, out);
	if (node->kind == NODE_SECRET) {
		struct certificate certificate = *(const struct certificate *)object;
		certificate.private_key = STR("");
		return message_encode_object(&certificate, out, &rev, &error) == 0;
	}
	return message_encode_object(object, out, &rev, &error) == 0;
}

static bool put(
	const struct outlook *outlook, struct engine *engine, struct node *node, struct buf *out)
{
	bool is_put = false;
	switch (outlook->what) {
	case OUTLOOK_RECORDS:
		is_put = put_record(engine, outlook->record_kind, node, out);
		break;
	case OUTLOOK_OBJECTS:
		is_put = put_object(engine, node, out);
		break;
	case OUTLOOK_STATUSES:
		is_put = put_status(engine, node, out);
		break;
	}
	arena_reset(&engine->scratch);
	return is_put;
}

/* The next within `outer`, behind which it then stands. */
static struct node *take_inner(struct outlook *outlook, struct node *outer)
{
	struct node *inner = inner_node(outlook, outer);
	if (inner != NULL) {
		stand_behind(&outlook->inner, inner != outer ? node_key(inner) : STR(""));
		stand_behind(&outlook->outer, node_key(outer));
		buf_cut(&outlook->outer, buf_len(&outlook->outer) - 1);
		outlook->has_begun = true;
	}
	/* Looking within costs less than looking for the outer one once more. */
	if (inner == NULL || inner_node(outlook, outer) == NULL)
		leave_outer(outlook, outer);
	return inner;
}

bool outlook_next(struct outlook *outlook, struct engine *engine, struct buf *out)
{
	struct node *outer;
	while ((outer = outer_node(outlook, engine)) != NULL) {
		struct node *inner = take_inner(outlook, outer);
		if (inner != NULL && put(outlook, engine, inner, out))
			return true;
	}
	return false;
}

bool outlook_find(
	const struct outlook *outlook, struct engine *engine, struct str key, struct buf *out)
{
	struct node *node = NULL;
	if (outlook->what == OUTLOOK_STATUSES || outlook->lb_kind == LB_LOAD_BALANCER) {
		struct balancer_node *balancer = graph_find_balancer(&engine->graph, key);
		node = balancer != NULL ? &balancer->node : NULL;
	} else if (outlook->what == OUTLOOK_RECORDS || outlook->lb_kind == LB_CERTIFICATE) {
		struct record *record = graph_find(&engine->graph,
			outlook->what == OUTLOOK_RECORDS ? record_node_kind(outlook->record_kind)
							 : NODE_SECRET,
			key);
		node = record != NULL ? &record->node : NULL;
	}
	return node != NULL && put(outlook, engine, node, out);
}

/* ---- numbers ---- */

size_t outlook_waiting_down(const struct engine *engine)
{
	size_t count = 0;
	for (int order = 0; order < OBJECT_KINDS; order++)
		count += queue_len(&engine->dirty[order]) + queue_len(&engine->going[order]);
	return count;
}

size_t outlook_waiting_up(const struct engine *engine)
{
	return queue_len(&engine->to_say) + queue_len(&engine->statuses);
}

struct str outlook_trouble(struct engine *engine, struct arena *arena)
{
	struct balancer_node *balancer;
	struct lb_status status;
	SET_FOREACH (balancer, &engine->graph.balancers, node_by_key) {
		if (statuses_has_failed(balancer) && statuses_read(balancer, arena, &status))
			return arena_printf(arena, "%.*s: %.*s", STR_FMT(node_key(&balancer->node)),
				STR_FMT(status.message));
	}
	return STR_NONE;
}
