// SPDX-License-Identifier: Apache-2.0
#include "provider-common/graph.h"

#include "common/must.h"
#include "common/slab.h"

#include <stddef.h>
#include <stdlib.h>

enum {
	IN_SIZE_MIN = 2,
	REFS_IN_MAX = INT32_MAX / 2, /* far above what the limits of the objects allow */
};

/* ---- objects by id ---- */

/* Not sizeof(): the id starts inside the padding of the struct. */
static size_t object_len(size_t id_len)
{
	return offsetof(struct object, id) + id_len;
}

static size_t head_len(enum lb_kind kind)
{
	return kind == LB_LOAD_BALANCER ? sizeof(struct report) : 0;
}

static struct object *new_object(enum lb_kind kind, struct str id)
{
	must(id.len <= UINT16_MAX);
	char *start = slab_zalloc(head_len(kind) + object_len(id.len));
	struct object *object = (struct object *)(void *)(start + head_len(kind));
	object->kind = (uint8_t)kind;
	object->id_len = (uint16_t)id.len;
	str_put(object->id, id);
	return object;
}

static void free_object(struct object *object)
{
	size_t head = head_len((enum lb_kind)object->kind);
	slab_free((char *)(void *)object - head, head + object_len(object->id_len));
}

static struct str id_of(const struct object *object)
{
	return (struct str){object->id, object->id_len};
}

static int compare_objects(const void *left, const void *right)
{
	return str_cmp(id_of(left), id_of(right));
}

static int compare_id(const void *id, const void *object)
{
	return str_cmp(*(const struct str *)id, id_of(object));
}

struct object *graph_find(const struct graph *graph, enum lb_kind kind, struct str id)
{
	return sorted_find(&graph->objects[kind], &id, compare_id);
}

struct object *graph_find_or_add(struct graph *graph, enum lb_kind kind, struct str id)
{
	struct object *object = graph_find(graph, kind, id);
	if (object != NULL)
		return object;
	object = new_object(kind, id);
	must(sorted_add(&graph->objects[kind], object));
	return object;
}

struct object *graph_first(const struct graph *graph, enum lb_kind kind)
{
	return sorted_first(&graph->objects[kind]);
}

struct object *graph_next(const struct graph *graph, struct object *object)
{
	return sorted_next(&graph->objects[object->kind], object);
}

struct object *graph_after(const struct graph *graph, enum lb_kind kind, struct str id)
{
	struct object *key = new_object(kind, id);
	struct object *next = sorted_next(&graph->objects[kind], key);
	free_object(key);
	return next;
}

/* ---- references ---- */

static void push_object(struct object_list *list, struct object *object)
{
	struct object **place =
		arena_push(list->arena, (void **)&list->items, &list->count, sizeof(*place));
	*place = object;
}

static const struct ref *in_items(const struct refs_in *in)
{
	return in->count <= 1 ? &in->one : in->many.items;
}

static void in_resize(struct refs_in *in, uint32_t size)
{
	struct ref *items = slab_alloc(size * sizeof(*items));
	memcpy(items, in->many.items, in->count * sizeof(*items));
	slab_free(in->many.items, in->many.size * sizeof(*items));
	in->many.items = items;
	in->many.size = size;
}

/* Returns its place. */
static uint32_t in_push(struct refs_in *in, struct ref ref)
{
	must(in->count < REFS_IN_MAX);
	if (in->count == 0) {
		in->one = ref;
	} else if (in->count == 1) {
		struct ref *items = slab_alloc(IN_SIZE_MIN * sizeof(*items));
		items[0] = in->one;
		items[1] = ref;
		in->many.items = items;
		in->many.size = IN_SIZE_MIN;
	} else {
		if (in->count == in->many.size)
			in_resize(in, in->many.size + in->many.size / 2);
		in->many.items[in->count] = ref;
	}
	return in->count++;
}

/* Called while at least one is left. Late, so that one that comes and goes causes no copying. */
static void in_shrink(struct refs_in *in)
{
	if (in->count == 1) {
		struct ref *items = in->many.items;
		uint32_t size = in->many.size;
		in->one = items[0];
		slab_free(items, size * sizeof(*items));
	} else if (in->many.size > IN_SIZE_MIN && in->count <= in->many.size / 4) {
		in_resize(in, in->many.size / 2);
	}
}

static void in_remove(struct refs_in *in, uint32_t place)
{
	uint32_t last = in->count - 1;
	must(in->count != 0 && place <= last);
	if (place != last) {
		struct ref *items = in->many.items; /* there are at least two */
		items[place] = items[last];
		items[place].object->payload->refs[items[place].place].place = place;
	}
	in->count = last;
	if (last != 0)
		in_shrink(in);
}

/* Visits the references of an object twice: first to count, then to link. */
struct linking {
	struct graph *graph;
	struct object *from; /* NULL: only count */
	uint32_t count;
};

static void link_one(struct linking *linking, enum lb_kind kind, struct str id)
{
	struct object *from = linking->from;
	if (str_is_empty(id))
		return;
	if (from != NULL) {
		struct payload *payload = from->payload;
		struct object *to = graph_find_or_add(linking->graph, kind, id);
		uint32_t place = in_push(&to->in, (struct ref){from, linking->count});
		must(linking->count < payload->ref_count);
		payload->refs[linking->count] = (struct ref){to, place};
	}
	linking->count++;
}

static void link_load_balancer(struct linking *linking, const struct load_balancer *lb)
{
	link_one(linking, LB_POOL, lb->default_pool);
	for (size_t i = 0; i < lb->listeners.count; i++) {
		const struct listener *listener = &lb->listeners.items[i];
		link_one(linking, LB_CERTIFICATE, listener->default_certificate);
		link_one(linking, LB_POOL, listener->pool);
		for (size_t j = 0; j < listener->certificates.count; j++)
			link_one(linking, LB_CERTIFICATE, listener->certificates.items[j]);
	}
}

static void link_host(struct linking *linking, const struct virtual_host *host)
{
	struct str policy = STR_NONE;
	link_one(linking, LB_LOAD_BALANCER, host->load_balancer);
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		link_one(linking, LB_POOL, rule->pool);
		for (size_t k = 0; k < rule->pools.count; k++)
			link_one(linking, LB_POOL, rule->pools.items[k].pool);
		/* Most rules of an Ingress are neighbours, and have the same. */
		if (!str_eq(rule->policy, policy))
			link_one(linking, LB_POLICY, rule->policy);
		policy = rule->policy;
	}
}

static void link_all(struct linking *linking, enum lb_kind kind, const union any_object *value)
{
	linking->count = 0;
	if (kind == LB_LOAD_BALANCER) {
		link_load_balancer(linking, &value->load_balancer);
	} else if (kind == LB_VIRTUAL_HOST) {
		link_host(linking, &value->virtual_host);
	} else if (kind == LB_POLICY && value->policy.basic_auth != NULL) {
		link_one(linking, LB_USERS, value->policy.basic_auth->users);
	}
}

void graph_link(struct graph *graph, struct object *object, const union any_object *value)
{
	struct linking linking = {.graph = graph, .from = object};
	must(!object->payload->is_linked);
	if (object->payload->ref_count != 0)
		link_all(&linking, (enum lb_kind)object->kind, value);
	must(linking.count == object->payload->ref_count);
	object->payload->is_linked = true;
}

/* ---- payloads ---- */

static size_t payload_len(uint32_t ref_count, size_t message_len)
{
	return sizeof(struct payload) + ref_count * sizeof(struct ref) + message_len;
}

static char *bytes_of(const struct payload *payload)
{
	return (char *)(uintptr_t)&payload->refs[payload->ref_count];
}

struct payload *payload_new(enum lb_kind kind, const union any_object *value, struct str message)
{
	struct linking linking = {.from = NULL};
	must(message.len < INT32_MAX);
	link_all(&linking, kind, value);
	struct payload *payload = slab_alloc(payload_len(linking.count, message.len));
	payload->len = (uint32_t)message.len & INT32_MAX;
	payload->is_linked = false;
	payload->ref_count = linking.count;
	str_put(bytes_of(payload), message);
	return payload;
}

struct str payload_message(const struct payload *payload)
{
	return (struct str){bytes_of(payload), payload->len};
}

void payload_free(enum lb_kind kind, struct payload *payload)
{
	if (payload == NULL)
		return;
	if (kind == LB_CERTIFICATE || kind == LB_POOL || kind == LB_USERS)
		explicit_bzero(bytes_of(payload), payload->len);
	slab_free(payload, payload_len(payload->ref_count, payload->len));
}

/* ---- unused objects ---- */

static bool is_useless(const struct object *object)
{
	return object->payload == NULL && object->in.count == 0;
}

void graph_note_loose(struct object *object, struct object_list *loose)
{
	if (!is_useless(object) || object->is_loose)
		return;
	object->is_loose = true;
	push_object(loose, object);
}

/* From the end, so that duplicate references are not moved around. */
void graph_unlink(struct object *object, struct object_list *loose)
{
	struct payload *payload = object->payload;
	if (payload == NULL || !payload->is_linked)
		return;
	for (uint32_t i = payload->ref_count; i-- > 0;) {
		struct object *to = payload->refs[i].object;
		in_remove(&to->in, payload->refs[i].place);
		graph_note_loose(to, loose);
	}
	payload->is_linked = false;
}

void graph_free_loose(struct graph *graph, struct object_list *loose)
{
	for (size_t i = 0; i < loose->count; i++) {
		struct object *object = loose->items[i];
		object->is_loose = false;
		if (!is_useless(object))
			continue;
		sorted_remove(&graph->objects[object->kind], object);
		free_object(object);
	}
}

/* ---- dependents ---- */

static void touch(struct object *load_balancer, struct object_list *touched)
{
	if (load_balancer->is_touched)
		return;
	load_balancer->is_touched = true;
	push_object(touched, load_balancer);
}

static void touch_owner(struct object *host, struct object_list *touched)
{
	const struct payload *payload = host->payload;
	if (payload == NULL || !payload->is_linked)
		return;
	for (uint32_t i = 0; i < payload->ref_count; i++) {
		struct object *to = payload->refs[i].object;
		if (to->kind == LB_LOAD_BALANCER)
			touch(to, touched);
	}
}

void graph_touch_users(struct object *object, struct object_list *touched)
{
	if (object->kind == LB_LOAD_BALANCER) {
		touch(object, touched);
	} else if (object->kind == LB_VIRTUAL_HOST) {
		touch_owner(object, touched);
	} else {
		const struct ref *items = in_items(&object->in);
		for (uint32_t i = object->in.count; i-- > 0;) {
			struct object *from = items[i].object;
			if (from->kind == LB_LOAD_BALANCER)
				touch(from, touched);
			else if (from->kind == LB_VIRTUAL_HOST)
				touch_owner(from, touched);
			else
				graph_touch_users(from, touched); /* of a policy, for its users */
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
	return compare_objects(*(void *const *)a, *(void *const *)b);
}

size_t state_hosts_of(
	const struct object *load_balancer, struct arena *arena, struct object ***ret_hosts)
{
	struct object_list hosts = {.arena = arena};
	const struct refs_in *in = &load_balancer->in;
	must(load_balancer->kind == LB_LOAD_BALANCER);
	for (uint32_t i = 0; i < in->count; i++)
		push_object(&hosts, in_items(in)[i].object);
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

struct report *object_report(struct object *load_balancer)
{
	must(load_balancer->kind == LB_LOAD_BALANCER);
	return (struct report *)(void *)load_balancer - 1;
}

struct object *object_of_report(struct report *report)
{
	return (struct object *)(void *)(report + 1);
}

/* ---- lifecycle ---- */

void graph_init(struct graph *graph)
{
	for (int kind = 0; kind < LB_KIND_COUNT; kind++)
		sorted_init(&graph->objects[kind], compare_objects);
}

static void fini_kind(struct sorted *objects)
{
	struct object *object;
	struct object *next = sorted_first(objects);
	while ((object = next) != NULL) {
		next = sorted_next(objects, object);
		if (object->in.count > 1)
			slab_free(object->in.many.items, object->in.many.size * sizeof(struct ref));
		payload_free((enum lb_kind)object->kind, object->payload);
		sorted_remove(objects, object);
		free_object(object);
	}
}

void graph_fini(struct graph *graph)
{
	for (int kind = 0; kind < LB_KIND_COUNT; kind++)
		fini_kind(&graph->objects[kind]);
}
