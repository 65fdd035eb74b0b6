// SPDX-License-Identifier: Apache-2.0
#include "watcher/store.h"

#include "common/must.h"
#include "common/shared_text.h"
#include "common/slab.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "watcher/pack.h"
#include "watcher/project.h"

/* Where the texts of a record's key stand in a packed payload. */
struct key_places {
	struct str namespace;
	struct str name;
	struct str uid; /* its text, or 16 bytes */
};

enum { SCRATCH_KEEP_LEN = 64 * 1024 };

static int compare(const struct store_object *a, const struct store_object *b)
{
	int order = str_cmp(store_namespace(a), store_namespace(b));
	return order != 0 ? order : str_cmp(store_name(a), store_name(b));
}

RB_GENERATE_LOCAL(store_tree, store_object, by_name, compare)

/* ---- the key in a payload ---- */

/* [ "upsert", { "kind": ..., "namespace": ..., "name": ..., "uid": ..., ... } ], the namespace and the uid only where there is one. Our
 * own encoder wrote it. */
static struct key_places find_key(struct str packed)
{
	struct key_places key = {0};
	struct pack_value word;
	struct pack_value value;
	size_t at = 0;
	for (int i = 0; i < 3; i++)
		pack_next(packed, &at, &word); /* array, type, map */
	while (at < packed.len) {
		pack_next(packed, &at, &word);
		if (word.word == NULL || at == packed.len)
			break;
		pack_next(packed, &at, &value);
		if (strcmp(word.word, "namespace") == 0)
			key.namespace = value.text;
		else if (strcmp(word.word, "name") == 0)
			key.name = value.text;
		else if (strcmp(word.word, "uid") == 0)
			key.uid = value.text;
		else if (strcmp(word.word, "kind") != 0)
			break;
	}
	must(key.name.len != 0);
	return key;
}

static uint16_t place_of(struct str payload, struct str text)
{
	size_t at = text.p != NULL ? (size_t)(text.p - payload.p) : 0;
	must(at <= UINT16_MAX && text.len <= UINT8_MAX);
	return (uint16_t)at;
}

static void set_places(
	struct store_object *object, struct str payload, const struct key_places *key)
{
	object->namespace_at = place_of(payload, key->namespace);
	object->namespace_len = (uint8_t)key->namespace.len;
	object->name_at = place_of(payload, key->name);
	object->name_len = (uint8_t)key->name.len;
	object->uid_at = place_of(payload, key->uid);
	object->uid_len = (uint8_t)key->uid.len;
}

struct str store_uid(const struct store_object *object, char room[STORE_UID_LEN_MAX])
{
	const uint8_t *uid = object->payload + object->uid_at;
	if (object->uid_len == PACK_UUID_BYTES && uid[-1] == PACK_UUID_MARK) {
		pack_expand_uuid(uid, room);
		return (struct str){room, PACK_UUID_LEN};
	}
	must(object->uid_len <= STORE_UID_LEN_MAX);
	if (object->uid_len != 0)
		memcpy(room, uid, object->uid_len);
	return (struct str){room, object->uid_len};
}

/* ---- objects ---- */

/* What the scratch memory held may be a private key. */
static void clear_scratch(struct buf *scratch, enum record_kind kind)
{
	if (kind == RECORD_SECRET)
		buf_wipe_fini(scratch);
	else
		buf_shrink(scratch, SCRATCH_KEEP_LEN);
}

struct str store_payload(struct store *store, const struct store_object *object)
{
	/* Good until the next call, so it is the next call that cleans up. */
	clear_scratch(&store->expanded, store->expanded_kind);
	store->expanded_kind = (enum record_kind)object->kind;
	pack_expand(
		(struct str){(const char *)object->payload, object->payload_len}, &store->expanded);
	return buf_str(&store->expanded);
}

static void drop_payload(struct store_object *object)
{
	if (object->kind == RECORD_SECRET && object->payload != NULL)
		explicit_bzero(object->payload, object->payload_len);
	slab_free(object->payload, object->payload_len);
	object->payload = NULL;
}

static void set_payload(struct store_object *object, struct str payload)
{
	must(payload.len <= UINT32_MAX);
	uint8_t *copy = slab_memdup(payload.p, payload.len);
	drop_payload(object);
	object->payload = copy;
	object->payload_len = (uint32_t)payload.len;
}

static void clear_target(struct store_target *target)
{
	revision_keep(&target->revision, STR_NONE);
	shared_text_drop(target->status);
}

static void drop_service_target(struct store_service *service)
{
	free(service->target->finalizers);
	free(service->target);
	service->target = NULL;
}

static size_t size_of(enum record_kind kind)
{
	if (kind == RECORD_INGRESS)
		return sizeof(struct store_ingress);
	return kind == RECORD_SERVICE ? sizeof(struct store_service) : sizeof(struct store_object);
}

void store_object_free(struct store_object *object)
{
	struct store_target *target = object->is_tombstone ? NULL : store_target_of(object);
	drop_payload(object);
	if (target != NULL)
		clear_target(target);
	if (target != NULL && object->kind == RECORD_SERVICE)
		drop_service_target(store_service_of(object));
	slab_free(object,
		object->is_tombstone ? sizeof(*object) : size_of((enum record_kind)object->kind));
}

struct store_object *store_object_detached(
	struct store *store, enum record_kind kind, struct str payload)
{
	struct store_object *object = slab_zalloc(sizeof(*object));
	object->kind = (uint8_t)kind;
	object->is_tombstone = true;
	pack_payload(payload, &store->packed);
	set_payload(object, buf_str(&store->packed));
	buf_clear(&store->packed);
	return object;
}

static void set_shared(const char **text, struct str with)
{
	const char *old = *text;
	*text = shared_text_get(with);
	shared_text_drop(old);
}

static bool replace_text(char **text, struct str with)
{
	struct str old = str_from(*text);
	if (str_eq(old, with))
		return false;
	free(*text);
	*text = with.len != 0 ? str_dup(with) : NULL;
	return true;
}

struct store_target *store_target_of(struct store_object *object)
{
	struct store_ingress *ingress = store_ingress_of(object);
	struct store_service *service = store_service_of(object);
	if (ingress != NULL)
		return &ingress->target;
	return service != NULL && service->target != NULL ? &service->target->target : NULL;
}

struct store_target *store_target_for(struct store_object *object)
{
	struct store_service *service = store_service_of(object);
	if (service != NULL && service->target == NULL)
		service->target = xcalloc(1, sizeof(*service->target));
	return store_target_of(object);
}

struct str store_finalizers(struct store_object *object)
{
	struct store_service *service = store_service_of(object);
	must(service != NULL && service->target != NULL);
	return str_from(service->target->finalizers);
}

static void set_facts(struct store_object *object, const struct project_facts *facts)
{
	struct store_service *service = store_service_of(object);
	bool matters = service == NULL || facts->wants_finalizer || facts->has_finalizer ||
		       facts->status_is_ours;
	struct store_target *target = matters ? store_target_for(object) : store_target_of(object);
	if (target == NULL)
		return;
	revision_keep(&target->revision, facts->revision);
	set_shared(&target->status, facts->status);
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
	struct store_service *service = store_service_of(object);
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
		RB_INIT(&store->trees[kind]);
	buf_init(&store->packed, FRAME_LEN_MAX);
	buf_init(&store->expanded, FRAME_LEN_MAX);
}

void store_fini(struct store *store)
{
	for (int kind = 0; kind < RECORD_KIND_COUNT; kind++) {
		struct store_object *object;
		while ((object = RB_ROOT(&store->trees[kind])) != NULL) {
			RB_REMOVE(store_tree, &store->trees[kind], object);
			store_object_free(object);
		}
	}
	buf_wipe_fini(&store->packed);
	buf_wipe_fini(&store->expanded);
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

/* A key to look for: an object that borrows the bytes of its places. */
struct probe {
	struct store_object object;
	uint8_t bytes[2 * UINT8_MAX];
};

static void fill_probe(struct probe *probe, struct str namespace, struct str name)
{
	must(namespace.len <= UINT8_MAX && name.len <= UINT8_MAX);
	if (namespace.len != 0)
		memcpy(probe->bytes, namespace.p, namespace.len);
	if (name.len != 0)
		memcpy(probe->bytes + namespace.len, name.p, name.len);
	probe->object = (struct store_object){
		.payload = probe->bytes,
		.namespace_len = (uint8_t) namespace.len,
		.name_at = (uint16_t) namespace.len,
		.name_len = (uint8_t)name.len,
	};
}

struct store_object *store_find(
	const struct store *store, enum record_kind kind, struct str namespace, struct str name)
{
	struct probe probe;
	must(kind > RECORD_NONE && kind < RECORD_KIND_COUNT);
	if (namespace.len > UINT8_MAX || name.len > UINT8_MAX)
		return NULL;
	fill_probe(&probe, namespace, name);
	/* tree.h does not know const; finding changes nothing. */
	struct store_tree tree = store->trees[kind];
	return RB_FIND(store_tree, &tree, &probe.object);
}

static void remove_object(struct store *store, struct store_object *object)
{
	for (size_t i = 0; i < store->observer_count; i++)
		store->observers[i].on_remove(store->observers[i].ctx, object);
	RB_REMOVE(store_tree, &store->trees[object->kind], object);
	store->counts[object->kind]--;
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

static struct store_object *insert(struct store *store, enum record_kind kind, struct str payload,
	const struct key_places *key)
{
	struct store_object *object = slab_zalloc(size_of(kind));
	object->kind = (uint8_t)kind;
	set_payload(object, payload);
	set_places(object, payload, key);
	must(RB_INSERT(store_tree, &store->trees[kind], object) == NULL);
	store->counts[kind]++;
	return object;
}

static bool same_uid(const struct store_object *object, struct str uid)
{
	return str_eq(
		(struct str){(const char *)object->payload + object->uid_at, object->uid_len}, uid);
}

static bool same_payload(const struct store_object *object, struct str packed)
{
	return str_eq((struct str){(const char *)object->payload, object->payload_len}, packed);
}

static void settle(struct store *store, struct store_object *object,
	const struct project_facts *facts, enum store_change change)
{
	object->is_seen = true;
	if (facts != NULL && has_facts((enum record_kind)object->kind))
		set_facts(object, facts);
	tell_put(store, object, change);
	trim_facts(object);
}

static enum store_change put_packed(struct store *store, enum record_kind kind, struct str packed,
	const struct project_facts *facts)
{
	struct key_places key = find_key(packed);
	struct store_object *object = store_find(store, kind, key.namespace, key.name);
	enum store_change change = STORE_SAME;
	if (object != NULL && !same_uid(object, key.uid)) {
		remove_object(store, object);
		object = NULL;
	}
	if (object == NULL) {
		object = insert(store, kind, packed, &key);
		change = STORE_NEW;
	} else if (!same_payload(object, packed)) {
		set_payload(object, packed);
		set_places(object, packed, &key);
		change = STORE_CHANGED;
	}
	settle(store, object, facts, change);
	return change;
}

enum store_change store_put(struct store *store, enum record_kind kind, struct str payload,
	const struct project_facts *facts)
{
	/* An observer that buries an object needs the scratch memory for itself. */
	struct buf packed;
	buf_init(&packed, FRAME_LEN_MAX);
	(void)buf_reserve(&packed, payload.len);
	pack_payload(payload, &packed);
	enum store_change change = put_packed(store, kind, buf_str(&packed), facts);
	clear_scratch(&packed, kind);
	buf_fini(&packed);
	return change;
}

void store_keep(struct store *store, enum record_kind kind, struct str payload,
	const struct project_facts *facts)
{
	struct buf packed;
	buf_init(&packed, FRAME_LEN_MAX);
	pack_payload(payload, &packed);
	struct key_places key = find_key(buf_str(&packed));
	struct store_object *object = store_find(store, kind, key.namespace, key.name);
	if (object != NULL && (key.uid.len == 0 || same_uid(object, key.uid)))
		settle(store, object, facts, STORE_SAME);
	else
		(void)put_packed(store, kind, buf_str(&packed), facts);
	buf_fini(&packed);
}

/* ---- in order ---- */

struct store_object *store_first(const struct store *store, enum record_kind kind)
{
	struct store_tree tree = store->trees[kind];
	return RB_MIN(store_tree, &tree);
}

struct store_object *store_next(struct store_object *object)
{
	return RB_NEXT(store_tree, NULL, object);
}

/* The first object of a namespace, or of all when it is absent. */
static struct store_object *first_of(
	const struct store *store, enum record_kind kind, struct str namespace)
{
	struct probe probe;
	if (namespace.len == 0)
		return store_first(store, kind);
	fill_probe(&probe, namespace, STR_NONE);
	struct store_tree tree = store->trees[kind];
	return RB_NFIND(store_tree, &tree, &probe.object);
}

static bool is_within(const struct store_object *object, struct str namespace)
{
	return object != NULL && (namespace.len == 0 || str_eq(store_namespace(object), namespace));
}

void store_unsee(struct store *store, enum record_kind kind, struct str namespace)
{
	struct store_object *object = first_of(store, kind, namespace);
	for (; is_within(object, namespace); object = store_next(object))
		object->is_seen = false;
}

size_t store_sweep(struct store *store, enum record_kind kind, struct str namespace)
{
	size_t count = 0;
	struct store_object *object = first_of(store, kind, namespace);
	while (is_within(object, namespace)) {
		struct store_object *next = store_next(object);
		if (!object->is_seen) {
			remove_object(store, object);
			count++;
		}
		object = next;
	}
	return count;
}
