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
		object->is_seen = false;
}

size_t store_sweep(
	struct store *store, enum record_kind kind, struct str namespace, size_t *ret_missed)
{
	size_t count = 0;
	struct store_object *object = store_first_in(store, kind, namespace);
	*ret_missed = 0;
	while (is_within(object, namespace)) {
		struct store_object *next = store_next(object);
		if (!object->is_seen && object->is_missed) {
			(void)store_remove(
				store, kind, store_namespace(object), store_name(object));
			count++;
		} else if (!object->is_seen) {
			object->is_missed = true;
			++*ret_missed;
		}
		object = next;
	}
	return count;
}
