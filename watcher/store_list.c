// SPDX-License-Identifier: Apache-2.0
/* What a full list means for objects missing from it. */
#include "watcher/store.h"

static bool is_within(const struct store_object *object, struct str namespace)
{
	return object != NULL && (namespace.len == 0 || str_eq(store_namespace(object), namespace));
}

void store_unsee(struct store *store, enum record_kind kind, struct str namespace)
{
	struct store_object *object = store_first_in(store, kind, namespace);
	for (; is_within(object, namespace); object = store_next(object))
		object->is_seen &= object->is_named;
}

/* Returns whether the object was removed. */
static bool sweep(struct store *store, struct store_object *object, size_t *missed)
{
	if (object->is_seen)
		return false;
	if (object->is_missed)
		return store_remove(
			store, object->kind, store_namespace(object), store_name(object));
	object->is_missed = true;
	++*missed;
	return false;
}

size_t store_sweep(
	struct store *store, enum record_kind kind, struct str namespace, size_t *ret_missed)
{
	size_t count = 0;
	struct store_object *object = store_first_in(store, kind, namespace);
	*ret_missed = 0;
	while (is_within(object, namespace)) {
		struct store_object *next = store_next(object);
		if (!object->is_named)
			count += sweep(store, object, ret_missed);
		object = next;
	}
	return count;
}

void store_unsee_named(
	struct store *store, enum record_kind kind, struct str namespace, struct str name)
{
	struct store_object *object = store_find(store, kind, namespace, name);
	if (name.len == 0)
		store_unsee(store, kind, namespace);
	else if (object != NULL && object->is_named)
		object->is_seen = false;
}

size_t store_sweep_named(struct store *store, enum record_kind kind, struct str namespace,
	struct str name, size_t *ret_missed)
{
	struct store_object *object = store_find(store, kind, namespace, name);
	*ret_missed = 0;
	if (name.len == 0)
		return store_sweep(store, kind, namespace, ret_missed);
	return object != NULL && object->is_named ? sweep(store, object, ret_missed) : 0;
}
