// SPDX-License-Identifier: Apache-2.0
#include "provider-common/graph.h"

#include "common/must.h"
#include "common/slab.h"

#include <stdlib.h>

/* ---- payloads ---- */

struct payload *payload_new(enum lb_kind kind, struct str bytes)
{
	struct payload *payload = slab_alloc(sizeof(*payload) + bytes.len);
	payload->len = (uint32_t)bytes.len;
	payload->is_secret = kind == LB_CERTIFICATE;
	memcpy(payload->bytes, bytes.p, bytes.len);
	return payload;
}

void payload_free(struct payload *payload)
{
	if (payload == NULL)
		return;
	if (payload->is_secret)
		explicit_bzero(payload->bytes, payload->len);
	slab_free(payload, sizeof(*payload) + payload->len);
}

/* ---- objects by id ---- */

static struct str id_of(const struct object *object)
{
	return (struct str){object->id, object->id_len};
}

static int compare_objects(const struct object *a, const struct object *b)
{
	return str_cmp(id_of(a), id_of(b));
}

RB_GENERATE_LOCAL(object_tree, object, node, compare_objects)

/* The tree has no search by a bare id. */
struct object *graph_find(const struct graph *graph, enum lb_kind kind, struct str id)
{
	struct object *at = RB_ROOT(&graph->objects[kind]);
	while (at != NULL) {
		int order = str_cmp(id, id_of(at));
		if (order == 0)
			return at;
		at = order < 0 ? RB_LEFT(at, node) : RB_RIGHT(at, node);
	}
	return NULL;
}

struct object *graph_find_or_add(struct graph *graph, enum lb_kind kind, struct str id)
{
	struct object *object = graph_find(graph, kind, id);
	if (object != NULL)
		return object;
	must(id.len <= UINT16_MAX);
	object = slab_zalloc(sizeof(*object) + id.len);
	object->kind = (uint8_t)kind;
	object->id_len = (uint16_t)id.len;
	if (id.len != 0)
		memcpy(object->id, id.p, id.len);
	RB_INSERT(object_tree, &graph->objects[kind], object);
	return object;
}

struct object *graph_first(const struct graph *graph, enum lb_kind kind)
{
	struct object *first = RB_ROOT(&graph->objects[kind]);
	while (first != NULL && RB_LEFT(first, node) != NULL)
		first = RB_LEFT(first, node);
	return first;
}

struct object *graph_next(struct object *object)
{
	return object_tree_RB_NEXT(object);
}

/* ---- edges ---- */

static void push_object(struct object_list *list, struct object *object)
{
	struct object **place =
		arena_push(list->arena, (void **)&list->items, &list->count, sizeof(*place));
	*place = object;
}

static void add_edge(struct graph *graph, struct object *from, enum lb_kind kind, struct str id)
{
	if (str_is_empty(id))
		return;
	struct edge *edge = slab_zalloc(sizeof(*edge));
	edge->from = from;
	edge->to = graph_find_or_add(graph, kind, id);
	LIST_INSERT_HEAD(&edge->to->in, edge, in);
	SLIST_INSERT_HEAD(&from->out, edge, out);
}

static void link_load_balancer(
	struct graph *graph, struct object *object, const struct load_balancer *lb)
{
	add_edge(graph, object, LB_POOL, lb->default_pool);
	for (size_t i = 0; i < lb->listeners.count; i++) {
		const struct listener *listener = &lb->listeners.items[i];
		add_edge(graph, object, LB_CERTIFICATE, listener->default_certificate);
		add_edge(graph, object, LB_POOL, listener->pool);
		for (size_t j = 0; j < listener->certificates.count; j++)
			add_edge(graph, object, LB_CERTIFICATE, listener->certificates.items[j]);
	}
}

void graph_link(struct graph *graph, struct object *object, const union any_object *value)
{
	if (object->kind == LB_LOAD_BALANCER) {
		link_load_balancer(graph, object, &value->load_balancer);
	} else if (object->kind == LB_VIRTUAL_HOST) {
		const struct virtual_host *host = &value->virtual_host;
		add_edge(graph, object, LB_LOAD_BALANCER, host->load_balancer);
		for (size_t i = 0; i < host->rules.count; i++)
			add_edge(graph, object, LB_POOL, host->rules.items[i].pool);
	}
}

static bool is_useless(const struct object *object)
{
	return object->payload == NULL && LIST_EMPTY(&object->in);
}

void graph_note_loose(struct object *object, struct object_list *loose)
{
	if (!is_useless(object) || object->is_loose)
		return;
	object->is_loose = true;
	push_object(loose, object);
}

void graph_unlink(struct object *object, struct object_list *loose)
{
	struct edge *edge;
	while ((edge = SLIST_FIRST(&object->out)) != NULL) {
		SLIST_REMOVE_HEAD(&object->out, out);
		LIST_REMOVE(edge, in);
		graph_note_loose(edge->to, loose);
		slab_free(edge, sizeof(*edge));
	}
}

void graph_free_loose(struct graph *graph, struct object_list *loose)
{
	for (size_t i = 0; i < loose->count; i++) {
		struct object *object = loose->items[i];
		object->is_loose = false;
		if (!is_useless(object))
			continue;
		must(SLIST_EMPTY(&object->out));
		RB_REMOVE(object_tree, &graph->objects[object->kind], object);
		slab_free(object, sizeof(*object) + object->id_len);
	}
}

/* ---- who depends on an object ---- */

static void touch(struct object *load_balancer, struct object_list *touched)
{
	if (load_balancer->is_touched)
		return;
	load_balancer->is_touched = true;
	push_object(touched, load_balancer);
}

static void touch_owner(struct object *host, struct object_list *touched)
{
	struct edge *edge;
	SLIST_FOREACH (edge, &host->out, out) {
		if (edge->to->kind == LB_LOAD_BALANCER)
			touch(edge->to, touched);
	}
}

void graph_touch_users(struct object *object, struct object_list *touched)
{
	struct edge *edge;
	if (object->kind == LB_LOAD_BALANCER) {
		touch(object, touched);
	} else if (object->kind == LB_VIRTUAL_HOST) {
		touch_owner(object, touched);
	} else {
		LIST_FOREACH (edge, &object->in, in) {
			if (edge->from->kind == LB_LOAD_BALANCER)
				touch(edge->from, touched);
			else
				touch_owner(edge->from, touched);
		}
	}
}

void graph_end_touching(struct object_list *touched)
{
	size_t count = 0;
	for (size_t i = 0; i < touched->count; i++) {
		touched->items[i]->is_touched = false;
		if (object_is_present(touched->items[i]))
			touched->items[count++] = touched->items[i];
	}
	touched->count = count;
}

/* ---- reading ---- */

static int by_id(const void *a, const void *b)
{
	return compare_objects(*(struct object *const *)a, *(struct object *const *)b);
}

size_t state_hosts_of(
	const struct object *load_balancer, struct arena *arena, struct object ***ret_hosts)
{
	struct object_list hosts = {.arena = arena};
	struct edge *edge;
	must(load_balancer->kind == LB_LOAD_BALANCER);
	LIST_FOREACH (edge, &load_balancer->in, in) {
		push_object(&hosts, edge->from);
	}
	if (hosts.count > 1)
		qsort(hosts.items, hosts.count, sizeof(struct object *), by_id);
	*ret_hosts = hosts.items;
	return hosts.count;
}

size_t state_users_of(
	struct object *object, struct arena *arena, struct object ***ret_load_balancers)
{
	struct object_list users = {.arena = arena};
	graph_touch_users(object, &users);
	graph_end_touching(&users);
	*ret_load_balancers = users.items;
	return users.count;
}

enum lb_kind object_kind(const struct object *object)
{
	return object->kind;
}

struct str object_id(const struct object *object)
{
	return id_of(object);
}

uint64_t object_rev(const struct object *object)
{
	return object->rev;
}

bool object_is_present(const struct object *object)
{
	return object->payload != NULL && !object->is_removed;
}

void *object_user(const struct object *object)
{
	return object->user;
}

void object_set_user(struct object *object, void *user)
{
	object->user = user;
}

void *object_report(const struct object *object)
{
	return object->report;
}

void object_set_report(struct object *object, void *report)
{
	object->report = report;
}

/* ---- life ---- */

void graph_init(struct graph *graph)
{
	for (int kind = 0; kind < LB_KIND_COUNT; kind++)
		RB_INIT(&graph->objects[kind]);
}

void graph_fini(struct graph *graph)
{
	struct object *object;
	struct object *next;
	struct edge *edge;
	for (int kind = 0; kind < LB_KIND_COUNT; kind++) {
		RB_FOREACH_SAFE (object, object_tree, &graph->objects[kind], next) {
			while ((edge = SLIST_FIRST(&object->out)) != NULL) {
				SLIST_REMOVE_HEAD(&object->out, out);
				slab_free(edge, sizeof(*edge));
			}
			RB_REMOVE(object_tree, &graph->objects[kind], object);
			payload_free(object->payload);
			slab_free(object, sizeof(*object) + object->id_len);
		}
	}
}
