// SPDX-License-Identifier: Apache-2.0
#include "proto/schema.h"

#include "common/must.h"
#include "proto/schema_walk.h"

#include <errno.h>
#include <msgpack.h>
#include <stdio.h>

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
	/* The fast path for nearly all texts and all keys: header and bytes at once. */
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
	struct encoder *e, struct str s, uint64_t limit, const struct schema_place *place)
{
	if (s.len > limit) {
		schema_fail_at(
			e->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EINVAL;
	}
	if (!str_is_utf8(s)) {
		schema_fail_at(e->error, place, "no UTF-8, or holds NUL");
		return -EINVAL;
	}
	return put_text(e, s);
}

static const struct schema_list *list_of(const void *member)
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
	const struct schema_place *place);

static int encode_word(struct encoder *e, const struct schema_field *field, int index,
	const struct schema_place *place)
{
	for (int i = 0; field->words[i] != NULL; i++) {
		if (i == index && field->words[i][0] != '\0')
			return put_text(e, str_from(field->words[i]));
	}
	schema_fail_at(e->error, place, "no known word");
	return -EINVAL;
}

static int encode_list(struct encoder *e, const struct schema_field *field,
	const struct schema_list *list, const struct schema_place *outer)
{
	if (list->count > field->limit) {
		schema_fail_at(
			e->error, outer, "more than %llu items", (unsigned long long)field->limit);
		return -EINVAL;
	}
	if (msgpack_pack_array(&e->packer, list->count) != 0)
		return -EMSGSIZE;
	for (size_t i = 0; i < list->count; i++) {
		struct schema_place place = {outer->outer, outer->key, i + 1};
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

static int encode_bin(
	struct encoder *e, struct str s, uint64_t limit, const struct schema_place *place)
{
	if (s.len > limit) {
		schema_fail_at(
			e->error, place, "longer than %llu bytes", (unsigned long long)limit);
		return -EINVAL;
	}
	if (msgpack_pack_bin(&e->packer, s.len) != 0 ||
		msgpack_pack_bin_body(&e->packer, s.p != NULL ? s.p : "", s.len) != 0)
		return -EMSGSIZE;
	return 0;
}

static int encode_uint(
	struct encoder *e, uint64_t value, uint64_t limit, const struct schema_place *place)
{
	if (value > limit) {
		schema_fail_at(e->error, place, "more than %llu", (unsigned long long)limit);
		return -EINVAL;
	}
	return msgpack_pack_uint64(&e->packer, value) == 0 ? 0 : -EMSGSIZE;
}

/* Always in the nine-byte form, so that the number can be filled in later. */
static int encode_rev(struct encoder *e, uint64_t rev)
{
	unsigned char bytes[9] = {0xcf};
	for (int i = 0; i < 8; i++)
		bytes[1 + i] = (unsigned char)(rev >> (56 - 8 * i));
	return buf_append(e->out, bytes, sizeof(bytes));
}

static int encode_value(struct encoder *e, const struct schema_field *field, const void *member,
	const struct schema_place *place)
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

static int encode_member(struct encoder *e, const struct schema_field *field, const void *member,
	const struct schema_place *outer)
{
	struct schema_place place = {outer, field->key, 0};
	int err = put_text(e, schema_key(field));
	return err == 0 ? encode_value(e, field, member, &place) : err;
}

static int encode_members(struct encoder *e, const struct schema *schema, const void *value,
	const struct schema_place *outer)
{
	const struct schema_field *end = schema->fields + schema->count;
	/* Most members of most structs are absent. */
	for (const struct schema_field *field = schema->fields; field < end; field++) {
		const void *member = (const char *)value + field->offset;
		int err = 0;
		if (field->type == SCHEMA_INLINE)
			err = encode_members(e, field->sub, member, outer);
		else if (is_present(field, member))
			err = encode_member(e, field, member, outer);
		if (err != 0)
			return err;
	}
	return 0;
}

static int encode_struct(struct encoder *e, const struct schema *schema, const void *value,
	const struct schema_place *place)
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
