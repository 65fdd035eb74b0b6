// SPDX-License-Identifier: Apache-2.0
#include "proto/schema.h"

#include "common/must.h"
#include "proto/schema_walk.h"

#include <errno.h>
#include <msgpack.h>
#include <string.h>

struct decoder {
	struct arena *arena;
	struct schema_error *error;
};

static int decode_struct(struct decoder *d, const struct schema *schema, const msgpack_object *map,
	void *value, const struct schema_place *outer);

static int decode_text(struct decoder *d, const msgpack_object *o, uint64_t limit, struct str *ret,
	const struct schema_place *place)
{
	if (o->type != MSGPACK_OBJECT_STR) {
		schema_fail_at(d->error, place, "must be text");
		return -EBADMSG;
	}
	if (o->via.str.size > limit) {
		schema_fail_at(
			d->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EBADMSG;
	}
	*ret = (struct str){o->via.str.ptr, o->via.str.size};
	return 0;
}

static int decode_bin(struct decoder *d, const msgpack_object *o, uint64_t limit, struct str *ret,
	const struct schema_place *place)
{
	if (o->type != MSGPACK_OBJECT_BIN) {
		schema_fail_at(d->error, place, "must be binary");
		return -EBADMSG;
	}
	if (o->via.bin.size > limit) {
		schema_fail_at(
			d->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EBADMSG;
	}
	*ret = (struct str){o->via.bin.ptr, o->via.bin.size};
	return 0;
}

static int decode_uint(struct decoder *d, const msgpack_object *o, uint64_t limit, uint64_t *ret,
	const struct schema_place *place)
{
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		schema_fail_at(d->error, place, "must be a whole number that is not negative");
		return -EBADMSG;
	}
	if (o->via.u64 > limit) {
		schema_fail_at(d->error, place, "more than %llu", (unsigned long long)limit);
		return -EBADMSG;
	}
	*ret = o->via.u64;
	return 0;
}

static int decode_word(struct decoder *d, const struct schema_field *field, const msgpack_object *o,
	int *ret, const struct schema_place *place)
{
	struct str word;
	int err = decode_text(d, o, SCHEMA_ITEM_LEN_MAX, &word, place);
	if (err != 0)
		return err;
	for (int i = 0; field->words[i] != NULL; i++) {
		if (field->words[i][0] != '\0' && str_eq_c(word, field->words[i])) {
			*ret = i;
			return 0;
		}
	}
	schema_fail_at(d->error, place, "unknown word \"%.*s\"",
		(int)(word.len < 64 ? word.len : 64), word.p);
	return -EBADMSG;
}

static size_t item_size(const struct schema_field *field)
{
	if (field->type == SCHEMA_LIST_STR)
		return sizeof(struct str);
	if (field->type == SCHEMA_LIST_ENUM)
		return sizeof(int);
	return field->sub->size;
}

static int decode_list(struct decoder *d, const struct schema_field *field, const msgpack_object *o,
	struct schema_list *list, const struct schema_place *outer)
{
	if (o->type != MSGPACK_OBJECT_ARRAY) {
		schema_fail_at(d->error, outer, "must be a list");
		return -EBADMSG;
	}
	if (o->via.array.size > field->limit) {
		schema_fail_at(
			d->error, outer, "more than %llu items", (unsigned long long)field->limit);
		return -EBADMSG;
	}
	size_t size = item_size(field);
	list->count = o->via.array.size;
	list->items = list->count != 0 ? arena_calloc(d->arena, list->count, size) : NULL;
	for (size_t i = 0; i < list->count; i++) {
		struct schema_place place = {outer->outer, outer->key, i + 1};
		const msgpack_object *item = &o->via.array.ptr[i];
		void *target = (char *)list->items + i * size;
		int err;
		if (field->type == SCHEMA_LIST_STR)
			err = decode_text(d, item, SCHEMA_ITEM_LEN_MAX, target, &place);
		else if (field->type == SCHEMA_LIST_ENUM)
			err = decode_word(d, field, item, target, &place);
		else
			err = decode_struct(d, field->sub, item, target, &place);
		if (err != 0)
			return err;
	}
	return 0;
}

static int decode_value(struct decoder *d, const struct schema_field *field,
	const msgpack_object *o, void *member, const struct schema_place *place)
{
	switch (field->type) {
	case SCHEMA_STR:
		return decode_text(d, o, field->limit, member, place);
	case SCHEMA_BIN:
		return decode_bin(d, o, field->limit, member, place);
	case SCHEMA_BOOL:
		if (o->type != MSGPACK_OBJECT_BOOLEAN) {
			schema_fail_at(d->error, place, "must be true or false");
			return -EBADMSG;
		}
		*(bool *)member = o->via.boolean;
		return 0;
	case SCHEMA_UINT:
		return decode_uint(d, o, field->limit, member, place);
	case SCHEMA_REV:
		return decode_uint(d, o, UINT64_MAX, member, place);
	case SCHEMA_ENUM:
		return decode_word(d, field, o, member, place);
	case SCHEMA_STRUCT:
		return decode_struct(d, field->sub, o, member, place);
	case SCHEMA_POINTER:
		*(void **)member = arena_alloc(d->arena, field->sub->size);
		return decode_struct(d, field->sub, o, *(void **)member, place);
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		return decode_list(d, field, o, member, place);
	case SCHEMA_INLINE:
		break;
	}
	must(false);
}

/* Peers write keys in the order of the rows, so a search that starts after the last hit finds the
 * next one at once. */
struct flat_field {
	const struct schema_field *field;
	size_t offset;
};

/* *required gets a bit for each field that must be there. */
static size_t flatten(const struct schema *schema, size_t base, struct flat_field *flat,
	size_t count, uint64_t *required)
{
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		if (field->type == SCHEMA_INLINE) {
			count = flatten(field->sub, base + field->offset, flat, count, required);
			continue;
		}
		must(count < SCHEMA_FIELDS_MAX);
		*required |= (uint64_t)field->required << count;
		flat[count++] = (struct flat_field){field, base + field->offset};
	}
	return count;
}

static const struct flat_field *find_key(
	const struct flat_field *flat, size_t count, size_t hint, struct str key)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = hint + i < count ? hint + i : hint + i - count;
		if (str_eq(key, schema_key(flat[at].field)))
			return &flat[at];
	}
	return NULL;
}

/* `missing` has a bit for each field that is. */
static int check_required(struct decoder *d, const struct flat_field *flat, uint64_t missing,
	const struct schema_place *outer)
{
	if (missing == 0)
		return 0;
	struct schema_place place = {outer, flat[__builtin_ctzll(missing)].field->key, 0};
	schema_fail_at(d->error, &place, "is missing");
	return -EBADMSG;
}

static int decode_struct(struct decoder *d, const struct schema *schema, const msgpack_object *map,
	void *value, const struct schema_place *outer)
{
	struct flat_field flat[SCHEMA_FIELDS_MAX];
	if (map->type != MSGPACK_OBJECT_MAP) {
		schema_fail_at(d->error, outer, "must be a map");
		return -EBADMSG;
	}
	uint64_t required = 0;
	size_t count = flatten(schema, 0, flat, 0, &required);
	uint64_t seen = 0;
	size_t hint = 0;
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *kv = &map->via.map.ptr[i];
		if (kv->key.type != MSGPACK_OBJECT_STR) {
			schema_fail_at(d->error, outer, "keys must be text");
			return -EBADMSG;
		}
		struct str key = {kv->key.via.str.ptr, kv->key.via.str.size};
		const struct flat_field *found = find_key(flat, count, hint, key);
		if (found == NULL)
			continue;
		size_t at = (size_t)(found - flat);
		struct schema_place place = {outer, found->field->key, 0};
		if ((seen & (UINT64_C(1) << at)) != 0) {
			schema_fail_at(d->error, &place, "stands twice");
			return -EBADMSG;
		}
		seen |= UINT64_C(1) << at;
		hint = at + 1 < count ? at + 1 : 0;
		int err = decode_value(
			d, found->field, &kv->val, (char *)value + found->offset, &place);
		if (err != 0)
			return err;
	}
	return check_required(d, flat, required & ~seen, outer);
}

int schema_decode(const struct schema *schema, const msgpack_object *map, struct arena *arena,
	void *ret_value, struct schema_error *ret_error)
{
	struct decoder d = {.arena = arena, .error = ret_error};
	memset(ret_value, 0, schema->size);
	return decode_struct(&d, schema, map, ret_value, NULL);
}
