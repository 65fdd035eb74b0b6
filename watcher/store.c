// SPDX-License-Identifier: Apache-2.0
#include "watcher/store.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/slab.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "proto/pack.h"
#include "watcher/project.h"

#include <stddef.h>

/* Each stands before the object, which ends with its key. */
struct store_ingress {
	struct store_target target;
	struct store_object object;
};

/* Few Services have load balancers of ours, so that is apart. */
struct store_service {
	struct store_service_target *target; /* NULL: nothing of it is ours, nor is to be */
	struct store_object object;
};

struct store_service_target {
	struct store_target target; /* first */
	char *finalizers; /* those that are not ours, as the elements of a JSON list; NULL: none */
};

/* ---- keys ---- */

struct name_key {
	struct str namespace;
	struct str name;
};

static struct name_key name_key_of(const struct store_object *object)
{
	return (struct name_key){store_namespace(object), store_name(object)};
}

static int compare_name(const void *key, const void *item)
{
	const struct name_key *a = key;
	const struct store_object *b = item;
	int order = str_cmp(a->namespace, store_namespace(b));
	return order != 0 ? order : str_cmp(a->name, store_name(b));
}

static int compare(const void *left, const void *right)
{
	struct name_key key = name_key_of(left);
	return compare_name(&key, right);
}

/* As it is kept. */
struct kept_uid {
	uint8_t bytes[STORE_UID_LEN_MAX];
	uint8_t len;
	bool is_uuid;
};

static void set_uid(struct kept_uid *kept, struct str uid)
{
	must(uid.len <= STORE_UID_LEN_MAX);
	kept->is_uuid = pack_uuid(uid, kept->bytes);
	kept->len = (uint8_t)(kept->is_uuid ? PACK_UUID_LEN : uid.len);
	if (!kept->is_uuid && uid.len != 0)
		str_put(kept->bytes, uid);
}

static struct str uid_bytes(const struct store_object *object)
{
	return (struct str){
		object->key + object->namespace_len + object->name_len, object->uid_len};
}

static bool same_uid(const struct store_object *object, struct str uid)
{
	struct kept_uid kept;
	if (uid.len > STORE_UID_LEN_MAX)
		return false;
	set_uid(&kept, uid);
	return kept.is_uuid == object->has_uuid &&
	       str_eq(uid_bytes(object), (struct str){(const char *)kept.bytes, kept.len});
}

struct str store_uid(const struct store_object *object, char room[STORE_UID_LEN_MAX])
{
	struct str uid = uid_bytes(object);
	if (object->has_uuid) {
		unpack_uuid((const uint8_t *)uid.p, room);
		return (struct str){room, PACK_UUID_TEXT_LEN};
	}
	str_put(room, uid);
	return (struct str){room, uid.len};
}

/* ---- objects ---- */

static enum record_kind kind_of(const struct store_object *object)
{
	return (enum record_kind)object->kind;
}

/* What stands before the object in its memory. */
static size_t offset_of(enum record_kind kind)
{
	if (kind == RECORD_INGRESS)
		return offsetof(struct store_ingress, object);
	return kind == RECORD_SERVICE ? offsetof(struct store_service, object) : 0;
}

static void *start_of(struct store_object *object)
{
	return (char *)object - offset_of(kind_of(object));
}

static size_t size_of(const struct store_object *object)
{
	return offset_of(kind_of(object)) + offsetof(struct store_object, key) +
	       object->namespace_len + object->name_len + object->uid_len;
}

static struct store_ingress *ingress_of(struct store_object *object)
{
	return object->kind == RECORD_INGRESS ? start_of(object) : NULL;
}

static struct store_service *service_of(struct store_object *object)
{
	return object->kind == RECORD_SERVICE ? start_of(object) : NULL;
}

static struct store_object *object_new(const struct record_key *key)
{
	struct kept_uid uid;
	must(key->namespace.len <= UINT8_MAX && key->name.len <= UINT8_MAX);
	set_uid(&uid, key->uid);
	struct store_object head = {
		.kind = key->kind,
		.has_uuid = uid.is_uuid,
		.namespace_len = (uint8_t)key->namespace.len,
		.name_len = (uint8_t)key->name.len,
		.uid_len = uid.len,
	};
	char *start = slab_zalloc(size_of(&head));
	struct store_object *object = (void *)(start + offset_of(key->kind));
	*object = head;
	char *at = object->key;
	if (key->namespace.len != 0)
		at = mempcpy(at, key->namespace.p, key->namespace.len);
	at = mempcpy(at, key->name.p, key->name.len);
	memcpy(at, uid.bytes, uid.len);
	return object;
}

static struct str packed_of(const struct store_object *object)
{
	return (struct str){(const char *)object->packed, object->packed_len};
}

static void drop_packed(struct store_object *object)
{
	if (object->kind == RECORD_SECRET && object->packed != NULL)
		explicit_bzero(object->packed, object->packed_len);
	slab_free(object->packed, object->packed_len);
	object->packed = NULL;
	object->packed_len = 0;
}

static void set_packed(struct store_object *object, struct str packed)
{
	must(packed.len <= STORE_PACKED_LEN_MAX);
	drop_packed(object);
	if (packed.len == 0)
		return;
	object->packed = slab_memdup(packed.p, packed.len);
	object->packed_len = packed.len & STORE_PACKED_LEN_MAX;
}

static const struct schema *schema_of(enum record_kind kind)
{
	return message_schema(MESSAGE_UPSERT, kind, LB_NONE);
}

static void encode_record(struct store *store, const struct store_object *object,
	const struct record_key *key, struct buf *out)
{
	union project_record record;
	struct schema_error error;
	unpack_struct(schema_of(key->kind), packed_of(object), &store->arena, &record);
	record.key = *key;
	must(message_encode_record(&record, out, &error) == 0);
	arena_reset(&store->arena);
}

void store_encode(struct store *store, const struct store_object *object, struct buf *out)
{
	struct schema_error error;
	char uid[STORE_UID_LEN_MAX];
	struct record_key key = {
		.kind = kind_of(object),
		.namespace = store_namespace(object),
		.name = store_name(object),
		.uid = store_uid(object, uid),
	};
	/* It was within its limits when it came in. */
	if (object->is_gone)
		must(message_encode(MESSAGE_DELETE, &key, out, &error) == 0);
	else if (object->packed == NULL)
		must(message_encode(MESSAGE_KEEP, &key, out, &error) == 0);
	else
		encode_record(store, object, &key, out);
}

/* ---- what is known beside the record ---- */

static void set_shared(const char **text, struct str with)
{
	const char *old = *text;
	*text = shared_text_get(with);
	shared_text_drop(old);
}

static void clear_target(struct store_target *target)
{
	revision_keep(&target->revision, STR_NONE);
	set_shared(&target->status, STR_NONE);
	set_shared(&target->status_manager, STR_NONE);
}

static void drop_service_target(struct store_service *service)
{
	free(service->target->finalizers);
	free(service->target);
	service->target = NULL;
}

/* Leaves the key. */
static void strip(struct store_object *object)
{
	struct store_target *target = store_target_of(object);
	drop_packed(object);
	if (target != NULL)
		clear_target(target);
	if (target != NULL && object->kind == RECORD_SERVICE)
		drop_service_target(service_of(object));
}

void store_object_free(struct store_object *object)
{
	strip(object);
	slab_free(start_of(object), size_of(object));
}

static bool replace_text(char **text, struct str with)
{
	if (str_eq(str_from(*text), with))
		return false;
	free(*text);
	*text = with.len != 0 ? str_dup(with) : NULL;
	return true;
}

struct store_target *store_target_of(struct store_object *object)
{
	struct store_ingress *ingress = ingress_of(object);
	struct store_service *service = service_of(object);
	if (ingress != NULL)
		return &ingress->target;
	return service != NULL && service->target != NULL ? &service->target->target : NULL;
}

struct store_target *store_target_for(struct store_object *object)
{
	struct store_service *service = service_of(object);
	if (service != NULL && service->target == NULL)
		service->target = xcalloc(1, sizeof(*service->target));
	return store_target_of(object);
}

struct str store_finalizers(struct store_object *object)
{
	struct store_service *service = service_of(object);
	must(service != NULL && service->target != NULL);
	return str_from(service->target->finalizers);
}

static void set_facts(struct store_object *object, const struct project_facts *facts)
{
	struct store_service *service = service_of(object);
	bool matters = service == NULL || facts->wants_finalizer || facts->has_finalizer ||
		       facts->status_is_ours;
	struct store_target *target = matters ? store_target_for(object) : store_target_of(object);
	if (target == NULL)
		return;
	revision_keep(&target->revision, facts->revision);
	set_shared(&target->status, facts->status);
	set_shared(&target->status_manager, facts->status_manager);
	target->status_is_ours = facts->status_is_ours;
	if (service == NULL || !facts->hold_is_known)
		return;
	target->wants_finalizer = facts->wants_finalizer;
	target->has_finalizer = facts->has_finalizer;
	(void)replace_text(&service->target->finalizers, facts->finalizers);
}

/* What nobody needs any more after observers had their say. */
static void trim_facts(struct store_object *object)
{
	struct store_service *service = service_of(object);
	struct store_target *target = service != NULL ? store_target_of(object) : NULL;
	if (target == NULL || target->wish != NULL || target->wants_finalizer ||
		target->has_finalizer || target->status_is_ours)
		return;
	clear_target(target);
	drop_service_target(service);
}

static bool has_facts(enum record_kind kind)
{
	return kind == RECORD_INGRESS || kind == RECORD_SERVICE;
}

/* ---- the store ---- */

void store_init(struct store *store)
{
	*store = (struct store){0};
	for (int kind = 0; kind < RECORD_KIND_COUNT; kind++)
		sorted_init(&store->objects[kind], compare);
	arena_init(&store->arena);
}

void store_fini(struct store *store)
{
	for (int kind = 0; kind < RECORD_KIND_COUNT; kind++) {
		struct store_object *object;
		while ((object = sorted_first(&store->objects[kind])) != NULL) {
			sorted_remove(&store->objects[kind], object);
			store_object_free(object);
		}
		sorted_fini(&store->objects[kind]);
	}
	arena_fini(&store->arena);
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

struct store_object *store_find(
	const struct store *store, enum record_kind kind, struct str namespace, struct str name)
{
	must(kind > RECORD_NONE && kind < RECORD_KIND_COUNT);
	return sorted_find(
		&store->objects[kind], &(struct name_key){namespace, name}, compare_name);
}

static void remove_object(struct store *store, struct store_object *object)
{
	for (size_t i = 0; i < store->observer_count; i++)
		store->observers[i].on_remove(store->observers[i].ctx, object);
	sorted_remove(&store->objects[object->kind], object);
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
	if (facts != NULL && has_facts(kind_of(object)))
		set_facts(object, facts);
	tell_put(store, object, change);
	trim_facts(object);
}

/* The object of that name and uid, new if need be; one of another uid is gone then. */
static struct store_object *object_for(
	struct store *store, const struct record_key *key, enum store_change *ret_change)
{
	struct store_object *object = store_find(store, key->kind, key->namespace, key->name);
	*ret_change = STORE_SAME;
	if (object != NULL && same_uid(object, key->uid))
		return object;
	if (object != NULL)
		remove_object(store, object);
	object = object_new(key);
	must(sorted_add(&store->objects[key->kind], object));
	store->counts[key->kind]++;
	*ret_change = STORE_NEW;
	return object;
}

enum store_change store_put(
	struct store *store, const void *record, const struct project_facts *facts)
{
	const struct record_key *key = record;
	const struct schema *schema = schema_of(key->kind);
	union project_record rest;
	enum store_change change = STORE_SAME;
	struct buf packed;
	memcpy(&rest, record, schema->size);
	rest.key = (struct record_key){RECORD_NONE};
	buf_init(&packed, FRAME_LEN_MAX);
	pack_struct(schema, &rest, &packed);
	struct store_object *object = object_for(store, key, &change);
	if (!str_eq(packed_of(object), buf_str(&packed))) {
		set_packed(object, buf_str(&packed));
		if (change == STORE_SAME)
			change = STORE_CHANGED;
	}
	if (key->kind == RECORD_SECRET)
		buf_wipe_fini(&packed);
	else
		buf_fini(&packed);
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

/* ---- in order ---- */

struct store_object *store_first(const struct store *store, enum record_kind kind)
{
	return sorted_first(&store->objects[kind]);
}

struct store_object *store_next(const struct store *store, const struct store_object *object)
{
	return sorted_next(&store->objects[object->kind], object);
}

struct store_object *store_first_in(
	const struct store *store, enum record_kind kind, struct str namespace)
{
	return sorted_from(
		&store->objects[kind], &(struct name_key){namespace, STR_NONE}, compare_name);
}
