// SPDX-License-Identifier: Apache-2.0
#include "proto/schema.h"

#include "common/must.h"

#include <errno.h>
#include <msgpack.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The common layout of all LIST_OF(). */
struct any_list {
	void *items;
	size_t count;
};

static struct str key_of(const struct schema_field *field)
{
	return (struct str){field->key, field->key_len};
}

/* Where we are in the value, for error texts: a chain of callers' frames. */
struct place {
	const struct place *outer;
	const char *key;
	size_t index; /* + 1; 0: no list */
};

static size_t print_place(const struct place *place, char *text, size_t room)
{
	if (place == NULL)
		return 0;
	size_t used = print_place(place->outer, text, room);
	if (used + 1 >= room || place->key == NULL)
		return used;
	int len = snprintf(text + used, room - used, "%s%s", used != 0 ? "." : "", place->key);
	used += (size_t)len < room - used ? (size_t)len : room - used - 1;
	if (place->index != 0 && used + 1 < room) {
		len = snprintf(text + used, room - used, "[%zu]", place->index - 1);
		used += (size_t)len < room - used ? (size_t)len : room - used - 1;
	}
	return used;
}

[[gnu::format(printf, 3, 4)]] static void fail_at(
	struct schema_error *error, const struct place *place, const char *format, ...)
{
	size_t used = print_place(place, error->text, sizeof(error->text));
	if (used + 2 < sizeof(error->text)) {
		memcpy(error->text + used, ": ", 2);
		used += 2;
	}
	va_list args;
	va_start(args, format);
	vsnprintf(error->text + used, sizeof(error->text) - used, format, args);
	va_end(args);
}

/* ---- encoding ---- */

struct encoder {
	msgpack_packer packer;
	struct buf *out;
	struct schema_error *error;
};

static int write_to_buf(void *data, const char *bytes, size_t len)
{
	return buf_append(data, bytes, len) == 0 ? 0 : -1;
}

enum { SHORT_TEXT_MAX = 31, SHORT_TEXT = 0xa0 };

static int put_text(struct encoder *e, struct str s)
{
	/* Nearly all texts and all keys: head and bytes at once. */
	if (s.len <= SHORT_TEXT_MAX) {
		uint8_t *room = buf_reserve(e->out, 1 + s.len);
		if (room == NULL)
			return -EMSGSIZE;
		room[0] = (uint8_t)(SHORT_TEXT | s.len);
		str_put(room + 1, s);
		buf_commit(e->out, 1 + s.len);
		return 0;
	}
	if (msgpack_pack_str(&e->packer, s.len) != 0 ||
		msgpack_pack_str_body(&e->packer, s.p != NULL ? s.p : "", s.len) != 0)
		return -EMSGSIZE;
	return 0;
}

static int put_checked_text(
	struct encoder *e, struct str s, uint64_t limit, const struct place *place)
{
	if (s.len > limit) {
		fail_at(e->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EINVAL;
	}
	if (!str_is_utf8(s)) {
		fail_at(e->error, place, "no UTF-8, or holds NUL");
		return -EINVAL;
	}
	return put_text(e, s);
}

static const struct any_list *list_of(const void *member)
{
	return member;
}

static bool is_present(const struct schema_field *field, const void *member)
{
	if (field->required)
		return true;
	switch (field->type) {
	case SCHEMA_STR:
	case SCHEMA_BIN:
		return ((const struct str *)member)->len != 0;
	case SCHEMA_BOOL:
		return *(const bool *)member;
	case SCHEMA_UINT:
		return *(const uint64_t *)member != 0;
	case SCHEMA_REV:
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		return true;
	case SCHEMA_ENUM:
		return *(const int *)member != 0;
	case SCHEMA_POINTER:
		return *(void *const *)member != NULL;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		return list_of(member)->count != 0;
	}
	must(false);
}

static size_t count_present(const struct schema *schema, const void *value)
{
	size_t count = 0;
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		const void *member = (const char *)value + field->offset;
		if (field->type == SCHEMA_INLINE)
			count += count_present(field->sub, member);
		else if (is_present(field, member))
			count++;
	}
	return count;
}

static int encode_struct(struct encoder *e, const struct schema *schema, const void *value,
	const struct place *place);

static int encode_word(
	struct encoder *e, const struct schema_field *field, int index, const struct place *place)
{
	for (int i = 0; field->words[i] != NULL; i++) {
		if (i == index && field->words[i][0] != '\0')
			return put_text(e, str_from(field->words[i]));
	}
	fail_at(e->error, place, "no known word");
	return -EINVAL;
}

static int encode_list(struct encoder *e, const struct schema_field *field,
	const struct any_list *list, const struct place *outer)
{
	if (list->count > field->limit) {
		fail_at(e->error, outer, "more than %llu items", (unsigned long long)field->limit);
		return -EINVAL;
	}
	if (msgpack_pack_array(&e->packer, list->count) != 0)
		return -EMSGSIZE;
	for (size_t i = 0; i < list->count; i++) {
		struct place place = {outer->outer, outer->key, i + 1};
		int err;
		if (field->type == SCHEMA_LIST_STR)
			err = put_checked_text(e, ((const struct str *)list->items)[i],
				SCHEMA_ITEM_LEN_MAX, &place);
		else if (field->type == SCHEMA_LIST_ENUM)
			err = encode_word(e, field, ((const int *)list->items)[i], &place);
		else
			err = encode_struct(e, field->sub,
				(const char *)list->items + i * field->sub->size, &place);
		if (err != 0)
			return err;
	}
	return 0;
}

static int encode_bin(struct encoder *e, struct str s, uint64_t limit, const struct place *place)
{
	if (s.len > limit) {
		fail_at(e->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EINVAL;
	}
	if (msgpack_pack_bin(&e->packer, s.len) != 0 ||
		msgpack_pack_bin_body(&e->packer, s.p != NULL ? s.p : "", s.len) != 0)
		return -EMSGSIZE;
	return 0;
}

static int encode_uint(struct encoder *e, uint64_t value, uint64_t limit, const struct place *place)
{
	if (value > limit) {
		fail_at(e->error, place, "more than %llu", (unsigned long long)limit);
		return -EINVAL;
	}
	return msgpack_pack_uint64(&e->packer, value) == 0 ? 0 : -EMSGSIZE;
}

/* Always the nine byte form, so that the number can be put in after the rest is known. */
static int encode_rev(struct encoder *e, uint64_t rev)
{
	unsigned char bytes[9] = {0xcf};
	for (int i = 0; i < 8; i++)
		bytes[1 + i] = (unsigned char)(rev >> (56 - 8 * i));
	return buf_append(e->out, bytes, sizeof(bytes));
}

static int encode_value(struct encoder *e, const struct schema_field *field, const void *member,
	const struct place *place)
{
	switch (field->type) {
	case SCHEMA_STR:
		return put_checked_text(e, *(const struct str *)member, field->limit, place);
	case SCHEMA_BIN:
		return encode_bin(e, *(const struct str *)member, field->limit, place);
	case SCHEMA_BOOL:
		return (*(const bool *)member ? msgpack_pack_true(&e->packer)
					      : msgpack_pack_false(&e->packer)) == 0
			       ? 0
			       : -EMSGSIZE;
	case SCHEMA_UINT:
		return encode_uint(e, *(const uint64_t *)member, field->limit, place);
	case SCHEMA_REV:
		return encode_rev(e, *(const uint64_t *)member);
	case SCHEMA_ENUM:
		return encode_word(e, field, *(const int *)member, place);
	case SCHEMA_STRUCT:
		return encode_struct(e, field->sub, member, place);
	case SCHEMA_POINTER:
		return encode_struct(e, field->sub, *(void *const *)member, place);
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		return encode_list(e, field, member, place);
	case SCHEMA_INLINE:
		break;
	}
	must(false);
}

static int encode_members(struct encoder *e, const struct schema *schema, const void *value,
	const struct place *outer)
{
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		const void *member = (const char *)value + field->offset;
		struct place place = {outer, field->key, 0};
		int err = 0;
		if (field->type == SCHEMA_INLINE) {
			err = encode_members(e, field->sub, member, outer);
		} else if (is_present(field, member)) {
			err = put_text(e, key_of(field));
			if (err == 0)
				err = encode_value(e, field, member, &place);
		}
		if (err != 0)
			return err;
	}
	return 0;
}

static int encode_struct(struct encoder *e, const struct schema *schema, const void *value,
	const struct place *place)
{
	if (msgpack_pack_map(&e->packer, count_present(schema, value)) != 0)
		return -EMSGSIZE;
	return encode_members(e, schema, value, place);
}

int schema_encode(const struct schema *schema, const void *value, struct buf *out,
	struct schema_error *ret_error)
{
	struct encoder e = {.out = out, .error = ret_error};
	msgpack_packer_init(&e.packer, out, write_to_buf);
	int err = encode_struct(&e, schema, value, NULL);
	if (err == -EMSGSIZE)
		snprintf(ret_error->text, sizeof(ret_error->text), "%s: too long for one message",
			schema->name);
	return err;
}

/* ---- decoding ---- */

struct decoder {
	struct arena *arena;
	struct schema_error *error;
};

static int decode_struct(struct decoder *d, const struct schema *schema, const msgpack_object *map,
	void *value, const struct place *outer);

static int decode_text(struct decoder *d, const msgpack_object *o, uint64_t limit, struct str *ret,
	const struct place *place)
{
	if (o->type != MSGPACK_OBJECT_STR) {
		fail_at(d->error, place, "must be text");
		return -EBADMSG;
	}
	if (o->via.str.size > limit) {
		fail_at(d->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EBADMSG;
	}
	*ret = (struct str){o->via.str.ptr, o->via.str.size};
	return 0;
}

static int decode_bin(struct decoder *d, const msgpack_object *o, uint64_t limit, struct str *ret,
	const struct place *place)
{
	if (o->type != MSGPACK_OBJECT_BIN) {
		fail_at(d->error, place, "must be binary");
		return -EBADMSG;
	}
	if (o->via.bin.size > limit) {
		fail_at(d->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EBADMSG;
	}
	*ret = (struct str){o->via.bin.ptr, o->via.bin.size};
	return 0;
}

static int decode_uint(struct decoder *d, const msgpack_object *o, uint64_t limit, uint64_t *ret,
	const struct place *place)
{
	if (o->type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
		fail_at(d->error, place, "must be a whole number that is not negative");
		return -EBADMSG;
	}
	if (o->via.u64 > limit) {
		fail_at(d->error, place, "more than %llu", (unsigned long long)limit);
		return -EBADMSG;
	}
	*ret = o->via.u64;
	return 0;
}

static int decode_word(struct decoder *d, const struct schema_field *field, const msgpack_object *o,
	int *ret, const struct place *place)
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
	fail_at(d->error, place, "unknown word \"%.*s\"", (int)(word.len < 64 ? word.len : 64),
		word.p);
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
	struct any_list *list, const struct place *outer)
{
	if (o->type != MSGPACK_OBJECT_ARRAY) {
		fail_at(d->error, outer, "must be a list");
		return -EBADMSG;
	}
	if (o->via.array.size > field->limit) {
		fail_at(d->error, outer, "more than %llu items", (unsigned long long)field->limit);
		return -EBADMSG;
	}
	size_t size = item_size(field);
	list->count = o->via.array.size;
	list->items = list->count != 0 ? arena_calloc(d->arena, list->count, size) : NULL;
	for (size_t i = 0; i < list->count; i++) {
		struct place place = {outer->outer, outer->key, i + 1};
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
	const msgpack_object *o, void *member, const struct place *place)
{
	switch (field->type) {
	case SCHEMA_STR:
		return decode_text(d, o, field->limit, member, place);
	case SCHEMA_BIN:
		return decode_bin(d, o, field->limit, member, place);
	case SCHEMA_BOOL:
		if (o->type != MSGPACK_OBJECT_BOOLEAN) {
			fail_at(d->error, place, "must be true or false");
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

/* Peers write keys in the order of the rows, so looking from behind the last hit on finds the next
 * at once. */
struct flat_field {
	const struct schema_field *field;
	size_t offset;
};

static size_t flatten(
	const struct schema *schema, size_t base, struct flat_field *flat, size_t count)
{
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		if (field->type == SCHEMA_INLINE) {
			count = flatten(field->sub, base + field->offset, flat, count);
			continue;
		}
		must(count < SCHEMA_FIELDS_MAX);
		flat[count++] = (struct flat_field){field, base + field->offset};
	}
	return count;
}

static const struct flat_field *find_key(
	const struct flat_field *flat, size_t count, size_t hint, struct str key)
{
	for (size_t i = 0; i < count; i++) {
		size_t at = hint + i < count ? hint + i : hint + i - count;
		if (str_eq(key, key_of(flat[at].field)))
			return &flat[at];
	}
	return NULL;
}

static int check_required(struct decoder *d, const struct flat_field *flat, size_t count,
	uint64_t seen, const struct place *outer)
{
	for (size_t i = 0; i < count; i++) {
		if (flat[i].field->required && (seen & (UINT64_C(1) << i)) == 0) {
			struct place place = {outer, flat[i].field->key, 0};
			fail_at(d->error, &place, "is missing");
			return -EBADMSG;
		}
	}
	return 0;
}

static int decode_struct(struct decoder *d, const struct schema *schema, const msgpack_object *map,
	void *value, const struct place *outer)
{
	struct flat_field flat[SCHEMA_FIELDS_MAX];
	if (map->type != MSGPACK_OBJECT_MAP) {
		fail_at(d->error, outer, "must be a map");
		return -EBADMSG;
	}
	size_t count = flatten(schema, 0, flat, 0);
	uint64_t seen = 0;
	size_t hint = 0;
	for (uint32_t i = 0; i < map->via.map.size; i++) {
		const msgpack_object_kv *kv = &map->via.map.ptr[i];
		if (kv->key.type != MSGPACK_OBJECT_STR) {
			fail_at(d->error, outer, "keys must be text");
			return -EBADMSG;
		}
		struct str key = {kv->key.via.str.ptr, kv->key.via.str.size};
		const struct flat_field *found = find_key(flat, count, hint, key);
		if (found == NULL)
			continue;
		size_t at = (size_t)(found - flat);
		struct place place = {outer, found->field->key, 0};
		if ((seen & (UINT64_C(1) << at)) != 0) {
			fail_at(d->error, &place, "stands twice");
			return -EBADMSG;
		}
		seen |= UINT64_C(1) << at;
		hint = at + 1 < count ? at + 1 : 0;
		int err = decode_value(
			d, found->field, &kv->val, (char *)value + found->offset, &place);
		if (err != 0)
			return err;
	}
	return check_required(d, flat, count, seen, outer);
}

int schema_decode(const struct schema *schema, const msgpack_object *map, struct arena *arena,
	void *ret_value, struct schema_error *ret_error)
{
	struct decoder d = {.arena = arena, .error = ret_error};
	memset(ret_value, 0, schema->size);
	return decode_struct(&d, schema, map, ret_value, NULL);
}
