// SPDX-License-Identifier: Apache-2.0
#include "proto/pack.h"

#include "common/must.h"

#include <arpa/inet.h>

enum { TEXT_UUID = 1, TEXT_IPV4 = 3 };

/* The common layout of all LIST_OF(). */
struct any_list {
	void *items;
	size_t count;
};

/* ---- uids ---- */

static bool is_dash_place(size_t i)
{
	return i == 8 || i == 13 || i == 18 || i == 23;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool pack_uuid(struct str text, uint8_t *ret_bytes)
{
	size_t nibbles = 0;
	if (text.len != PACK_UUID_TEXT_LEN)
		return false;
	for (size_t i = 0; i < PACK_UUID_TEXT_LEN; i++) {
		int digit = hex_digit(text.p[i]);
		if (is_dash_place(i)) {
			if (text.p[i] != '-')
				return false;
			continue;
		}
		if (digit < 0)
			return false;
		uint8_t *byte = &ret_bytes[nibbles / 2];
		*byte = (uint8_t)(nibbles % 2 == 0 ? digit << 4 : *byte | digit);
		nibbles++;
	}
	return true;
}

void unpack_uuid(const uint8_t *bytes, char *ret_text)
{
	static const char digits[] = "0123456789abcdef";
	size_t nibbles = 0;
	for (size_t i = 0; i < PACK_UUID_TEXT_LEN; i++) {
		if (is_dash_place(i)) {
			ret_text[i] = '-';
			continue;
		}
		uint8_t byte = bytes[nibbles / 2];
		ret_text[i] = digits[nibbles % 2 == 0 ? byte >> 4 : byte & 15];
		nibbles++;
	}
}

static struct str uuid_to_text(const uint8_t *bytes, struct arena *arena)
{
	char *text = arena_alloc(arena, PACK_UUID_TEXT_LEN + 1);
	unpack_uuid(bytes, text);
	return (struct str){text, PACK_UUID_TEXT_LEN};
}

static bool ipv4_from_text(struct str text, uint8_t *ret_bytes)
{
	char copy[INET_ADDRSTRLEN];
	char again[INET_ADDRSTRLEN];
	if (text.len < 7 || text.len >= sizeof(copy) || text.p[0] < '0' || text.p[0] > '9')
		return false;
	memcpy(copy, text.p, text.len);
	copy[text.len] = '\0';
	return inet_pton(AF_INET, copy, ret_bytes) == 1 &&
	       inet_ntop(AF_INET, ret_bytes, again, sizeof(again)) != NULL &&
	       strcmp(copy, again) == 0;
}

static struct str ipv4_to_text(const uint8_t *bytes, struct arena *arena)
{
	char *text = arena_alloc(arena, INET_ADDRSTRLEN);
	size_t len = 0;
	for (size_t i = 0; i < 4; i++) {
		unsigned value = bytes[i];
		if (i != 0)
			text[len++] = '.';
		if (value >= 100)
			text[len++] = (char)('0' + value / 100);
		if (value >= 10)
			text[len++] = (char)('0' + value / 10 % 10);
		text[len++] = (char)('0' + value % 10);
	}
	return (struct str){text, len};
}

/* ---- packing ---- */

static void put_bytes(struct buf *out, const void *bytes, size_t len)
{
	must(buf_append(out, bytes, len) == 0);
}

static void put_number(struct buf *out, uint64_t value)
{
	uint8_t bytes[10];
	size_t len = 0;
	do {
		bytes[len++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value != 0);
	put_bytes(out, bytes, len);
}

static void put_text(struct buf *out, struct str text)
{
	uint8_t bytes[PACK_UUID_LEN];
	if (pack_uuid(text, bytes)) {
		put_number(out, TEXT_UUID);
		put_bytes(out, bytes, PACK_UUID_LEN);
	} else if (ipv4_from_text(text, bytes)) {
		put_number(out, TEXT_IPV4);
		put_bytes(out, bytes, 4);
	} else {
		put_number(out, (uint64_t)text.len * 2);
		put_bytes(out, text.p, text.len);
	}
}

static bool is_present(const struct schema_field *field, const void *member)
{
	switch (field->type) {
	case SCHEMA_STR:
	case SCHEMA_BIN:
		return ((const struct str *)member)->len != 0;
	case SCHEMA_BOOL:
		return *(const bool *)member;
	case SCHEMA_UINT:
	case SCHEMA_REV:
		return *(const uint64_t *)member != 0;
	case SCHEMA_ENUM:
		return *(const int *)member != 0;
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		return true;
	case SCHEMA_POINTER:
		return *(void *const *)member != NULL;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		return ((const struct any_list *)member)->count != 0;
	}
	must(false);
}

static void put_list(struct buf *out, const struct schema_field *field, const struct any_list *list)
{
	put_number(out, list->count);
	for (size_t i = 0; i < list->count; i++) {
		if (field->type == SCHEMA_LIST_STR)
			put_text(out, ((const struct str *)list->items)[i]);
		else if (field->type == SCHEMA_LIST_ENUM)
			put_number(out, (uint64_t)((const int *)list->items)[i]);
		else
			pack_struct(
				field->sub, (const char *)list->items + i * field->sub->size, out);
	}
}

static void put_value(struct buf *out, const struct schema_field *field, const void *member)
{
	switch (field->type) {
	case SCHEMA_STR:
		put_text(out, *(const struct str *)member);
		return;
	case SCHEMA_BIN:
		put_number(out, ((const struct str *)member)->len);
		put_bytes(out, ((const struct str *)member)->p, ((const struct str *)member)->len);
		return;
	case SCHEMA_BOOL:
		return; /* that it stands here says true */
	case SCHEMA_UINT:
	case SCHEMA_REV:
		put_number(out, *(const uint64_t *)member);
		return;
	case SCHEMA_ENUM:
		put_number(out, (uint64_t) * (const int *)member);
		return;
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		pack_struct(field->sub, member, out);
		return;
	case SCHEMA_POINTER:
		pack_struct(field->sub, *(void *const *)member, out);
		return;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		put_list(out, field, member);
		return;
	}
}

void pack_struct(const struct schema *schema, const void *value, struct buf *out)
{
	must(schema->count < 255);
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		const void *member = (const char *)value + field->offset;
		if (!is_present(field, member))
			continue;
		put_number(out, i + 1);
		put_value(out, field, member);
	}
	put_number(out, 0);
}

/* ---- unpacking ---- */

/* What is read was written by the above: anything else is a bug of ours. */
struct cursor {
	const uint8_t *p;
	const uint8_t *end;
	struct arena *arena;
};

static const uint8_t *take_bytes(struct cursor *c, size_t len)
{
	must(len <= (size_t)(c->end - c->p));
	const uint8_t *bytes = c->p;
	c->p += len;
	return bytes;
}

static uint64_t take_number(struct cursor *c)
{
	uint64_t value = 0;
	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = *take_bytes(c, 1);
		value |= (uint64_t)(byte & 0x7f) << shift;
		if ((byte & 0x80) == 0)
			return value;
	}
	must(false);
}

static struct str take_text(struct cursor *c)
{
	uint64_t form = take_number(c);
	if (form == TEXT_UUID)
		return uuid_to_text(take_bytes(c, PACK_UUID_LEN), c->arena);
	if (form == TEXT_IPV4)
		return ipv4_to_text(take_bytes(c, 4), c->arena);
	size_t len = (size_t)(form / 2);
	return (struct str){(const char *)take_bytes(c, len), len};
}

static void take_struct(struct cursor *c, const struct schema *schema, void *value);

static void take_list(struct cursor *c, const struct schema_field *field, struct any_list *list)
{
	size_t size = field->type == SCHEMA_LIST_STR    ? sizeof(struct str)
		      : field->type == SCHEMA_LIST_ENUM ? sizeof(int)
							: field->sub->size;
	list->count = (size_t)take_number(c);
	list->items = arena_calloc(c->arena, list->count, size);
	for (size_t i = 0; i < list->count; i++) {
		if (field->type == SCHEMA_LIST_STR)
			((struct str *)list->items)[i] = take_text(c);
		else if (field->type == SCHEMA_LIST_ENUM)
			((int *)list->items)[i] = (int)take_number(c);
		else
			take_struct(c, field->sub, (char *)list->items + i * size);
	}
}

static void take_value(struct cursor *c, const struct schema_field *field, void *member)
{
	struct str *text = member;
	switch (field->type) {
	case SCHEMA_STR:
		*text = take_text(c);
		return;
	case SCHEMA_BIN:
		text->len = (size_t)take_number(c);
		text->p = (const char *)take_bytes(c, text->len);
		return;
	case SCHEMA_BOOL:
		*(bool *)member = true;
		return;
	case SCHEMA_UINT:
	case SCHEMA_REV:
		*(uint64_t *)member = take_number(c);
		return;
	case SCHEMA_ENUM:
		*(int *)member = (int)take_number(c);
		return;
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		take_struct(c, field->sub, member);
		return;
	case SCHEMA_POINTER:
		*(void **)member = arena_alloc(c->arena, field->sub->size);
		take_struct(c, field->sub, *(void **)member);
		return;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		take_list(c, field, member);
		return;
	}
}

static void take_struct(struct cursor *c, const struct schema *schema, void *value)
{
	for (;;) {
		size_t tag = (size_t)take_number(c);
		if (tag == 0)
			return;
		must(tag <= schema->count);
		const struct schema_field *field = &schema->fields[tag - 1];
		take_value(c, field, (char *)value + field->offset);
	}
}

void unpack_struct(
	const struct schema *schema, struct str packed, struct arena *arena, void *ret_value)
{
	const uint8_t *bytes = (const uint8_t *)packed.p;
	struct cursor c = {bytes, bytes + packed.len, arena};
	memset(ret_value, 0, schema->size);
	take_struct(&c, schema, ret_value);
	must(c.p == c.end);
}
