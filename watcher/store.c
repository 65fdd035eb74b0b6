// SPDX-License-Identifier: Apache-2.0
#include "watcher/store.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/xalloc.h"
#include "proto/message.h"
#include "watcher/project.h"

/* ---- keys ---- */

static int compare_name(struct str namespace, struct str name, const struct store_object *object)
{
	int order = str_cmp(namespace, store_namespace(object));
	return order != 0 ? order : str_cmp(name, store_name(object));
}

static int compare(const struct store_object *a, const struct store_object *b)
{
	return compare_name(store_namespace(a), store_name(a), b);
}

RB_GENERATE_LOCAL(store_tree, store_object, by_name, compare)

/* ---- objects ---- */

static bool has_facts(enum record_kind kind)
{
	return kind == RECORD_INGRESS || kind == RECORD_SERVICE;
}

static struct store_object *object_new(const struct record_key *key)
{
	must(key->namespace.len <= UINT8_MAX && key->name.len <= UINT8_MAX &&
		key->uid.len <= UINT8_MAX);
	struct store_object *object =
		xcalloc(1, sizeof(*object) + key->namespace.len + key->name.len + key->uid.len);
	object->kind = key->kind;
	object->namespace_len = (uint8_t)key->namespace.len;
	object->name_len = (uint8_t)key->name.len;
	object->uid_len = (uint8_t)key->uid.len;
	char *at = object->key;
	str_put(at, key->namespace);
	str_put(at + key->namespace.len, key->name);
	str_put(at + key->namespace.len + key->name.len, key->uid);
	if (key->kind == RECORD_INGRESS)
		object->target = xcalloc(1, sizeof(*object->target));
	return object;
}

static struct str frame_of(const struct store_object *object)
{
	return (struct str){object->frame, object->frame_len};
}

static void drop_frame(struct store_object *object)
{
	if (object->kind == RECORD_SECRET && object->frame != NULL)
		explicit_bzero(object->frame, object->frame_len);
	free(object->frame);
	object->frame = NULL;
	object->frame_len = 0;
}

static void set_frame(struct store_object *object, struct str frame)
{
	drop_frame(object);
	object->frame = xmemdup(frame.p, frame.len);
	object->frame_len = frame.len;
}

void store_encode(const struct store_object *object, struct buf *out)
{
	struct schema_error error;
	struct record_key key = {
		.kind = object->kind,
		.namespace = store_namespace(object),
		.name = store_name(object),
		.uid = store_uid(object),
	};
	/* It was within its limits when it came in. */
	if (object->is_gone)
		must(message_encode(MESSAGE_DELETE, &key, out, &error) == 0);
	else if (object->frame == NULL)
		must(message_encode(MESSAGE_KEEP, &key, out, &error) == 0);
	else
		must(buf_append(out, object->frame, object->frame_len) == 0);
}

/* ---- facts beside the record ---- */

static void drop_target(struct store_object *object)
{
	struct store_target *target = object->target;
	if (target == NULL)
		return;
	free(target->revision);
	shared_text_set(&target->status, STR_NONE);
	shared_text_set(&target->status_manager, STR_NONE);
	free(target->finalizers);
	free(target);
	object->target = NULL;
}

/* Keeps the key. */
static void strip(struct store_object *object)
{
	drop_frame(object);
	drop_target(object);
}

void store_object_free(struct store_object *object)
{
	strip(object);
	free(object);
}

struct store_target *store_target_of(struct store_object *object)
{
	return object->target;
}

struct store_target *store_target_for(struct store_object *object)
{
	if (object->target == NULL && has_facts(object->kind))
		object->target = xcalloc(1, sizeof(*object->target));
	return object->target;
}

struct str store_finalizers(struct store_object *object)
{
	must(object->kind == RECORD_SERVICE && object->target != NULL);
	return str_from(object->target->finalizers);
}

static void set_facts(struct store_object *object, const struct project_facts *facts)
{
	bool is_service = object->kind == RECORD_SERVICE;
	bool matters = !is_service || facts->wants_finalizer || facts->has_finalizer ||
		       facts->status_is_ours;
	struct store_target *target = matters ? store_target_for(object) : object->target;
	if (target == NULL)
		return;
	str_set(&target->revision, facts->revision);
	shared_text_set(&target->status, facts->status);
	shared_text_set(&target->status_manager, facts->status_manager);
	target->status_is_ours = facts->status_is_ours;
	if (!is_service || !facts->hold_is_known)
		return;
	target->wants_finalizer = facts->wants_finalizer;
	target->has_finalizer = facts->has_finalizer;
	str_set(&target->finalizers, facts->finalizers);
}

/* Frees what nobody needs once observers were called. Few Services have load balancers of ours. */
static void trim_facts(struct store_object *object)
{
	const struct store_target *target = object->target;
	if (object->kind != RECORD_SERVICE || target == NULL || target->wish != NULL ||
		target->wants_finalizer || target->has_finalizer || target->status_is_ours)
		return;
	drop_target(object);
}

/* ---- the store ---- */

void store_init(struct store *store)
{
	*store = (struct store){0};
}

void store_fini(struct store *store)
{
	for (int kind = 0; kind < RECORD_KIND_COUNT; kind++) {
		struct store_object *object;
		while ((object = RB_ROOT(&store->objects[kind])) != NULL) {
			RB_REMOVE(store_tree, &store->objects[kind], object);
			store_object_free(object);
		}
	}
}

void store_observe(struct store *store, const struct store_observer *observer)
{
	must(store->observer_count < STORE_OBSERVERS_MAX);
	store->observers[store->observer_count++] = *observer;
}

static void tell_put(struct store *store, struct store_object *object, enum store_change change)
{
	for (size_t i = 0; i < store->observer_count; i++)
		store->observers[i].on_put(store->observers[i].ctx, object, change);
}

/* The first that is not before that name. */
static struct store_object *find_from(
	const struct store *store, enum record_kind kind, struct str namespace, struct str name)
{
	struct store_object *found = NULL;
	must(kind > RECORD_NONE && kind < RECORD_KIND_COUNT);
	struct store_object *at = RB_ROOT(&store->objects[kind]);
	while (at != NULL) {
		int order = compare_name(namespace, name, at);
		if (order <= 0)
			found = at;
		if (order == 0)
			break;
		at = order < 0 ? RB_LEFT(at, by_name) : RB_RIGHT(at, by_name);
	}
	return found;
}

struct store_object *store_find(
	const struct store *store, enum record_kind kind, struct str namespace, struct str name)
{
	struct store_object *object = find_from(store, kind, namespace, name);
	return object != NULL && compare_name(namespace, name, object) == 0 ? object : NULL;
}

static void remove_object(struct store *store, struct store_object *object)
{
	for (size_t i = 0; i < store->observer_count; i++)
		store->observers[i].on_remove(store->observers[i].ctx, object);
	RB_REMOVE(store_tree, &store->objects[object->kind], object);
	store->counts[object->kind]--;
	if (object->is_gone)
		strip(object);
	else
		store_object_free(object);
}

bool store_remove(struct store *store, enum record_kind kind, struct str namespace, struct str name)
{
	struct store_object *object = store_find(store, kind, namespace, name);
	if (object == NULL)
		return false;
	remove_object(store, object);
	return true;
}

static void settle(struct store *store, struct store_object *object,
	const struct project_facts *facts, enum store_change change)
{
	object->is_seen = true;
	object->is_missed = false;
	if (facts != NULL && has_facts(object->kind))
		set_facts(object, facts);
	tell_put(store, object, change);
	trim_facts(object);
}

/* The object of that name and uid, created if missing; an object with another uid is removed. */
static struct store_object *object_for(
	struct store *store, const struct record_key *key, enum store_change *ret_change)
{
	struct store_object *object = store_find(store, key->kind, key->namespace, key->name);
	*ret_change = STORE_SAME;
	if (object != NULL && str_eq(store_uid(object), key->uid))
		return object;
	if (object != NULL)
		remove_object(store, object);
	object = object_new(key);
	must(RB_INSERT(store_tree, &store->objects[key->kind], object) == NULL);
	store->counts[key->kind]++;
	*ret_change = STORE_NEW;
	return object;
}

enum store_change store_put(struct store *store, const struct record_key *key, struct str frame,
	const struct project_facts *facts)
{
	enum store_change change = STORE_SAME;
	struct store_object *object = object_for(store, key, &change);
	if (!str_eq(frame_of(object), frame)) {
		set_frame(object, frame);
		if (change == STORE_SAME)
			change = STORE_CHANGED;
	}
	settle(store, object, facts, change);
	return change;
}

void store_keep(
	struct store *store, const struct record_key *key, const struct project_facts *facts)
{
	enum store_change change = STORE_SAME;
	struct store_object *object = store_find(store, key->kind, key->namespace, key->name);
	if (object == NULL || key->uid.len != 0)
		object = object_for(store, key, &change);
	settle(store, object, facts, change);
}

/* ---- iteration ---- */

struct store_object *store_first(const struct store *store, enum record_kind kind)
{
	return find_from(store, kind, STR_NONE, STR_NONE);
}

struct store_object *store_next(struct store_object *object)
{
	return RB_NEXT(store_tree, , object);
}

struct store_object *store_first_in(
	const struct store *store, enum record_kind kind, struct str namespace)
{
	return find_from(store, kind, namespace, STR_NONE);
}
