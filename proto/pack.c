// SPDX-License-Identifier: Apache-2.0
#include "proto/pack.h"

#include "common/must.h"
#include "common/slab.h"

enum { TEXT_UUID = 1, TEXT_IPV4 = 3, TEXT_PART = 5, NUMBER_LEN_MAX = 10 };
enum { PART_LEN_MIN = 5 /* a shorter one saves nothing */ };

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

/* One of the four numbers, as it is written out: no zeros before it. Returns how many digits it has; 0: none. */
static size_t octet_from_text(struct str text, uint8_t *ret_octet)
{
	unsigned value = 0;
	size_t len = 0;
	while (len < text.len && len < 3 && text.p[len] >= '0' && text.p[len] <= '9')
		value = value * 10 + (unsigned)(text.p[len++] - '0');
	if (value > UINT8_MAX || (len > 1 && text.p[0] == '0'))
		return 0;
	*ret_octet = (uint8_t)value;
	return len;
}

/* Likewise. */
static bool ipv4_from_text(struct str text, uint8_t *ret_bytes)
{
	for (size_t i = 0; i < 4; i++) {
		if (i != 0 && (text.len == 0 || text.p[0] != '.'))
			return false;
		if (i != 0)
			text = str_skip(text, 1);
		size_t len = octet_from_text(text, &ret_bytes[i]);
		if (len == 0)
			return false;
		text = str_skip(text, len);
	}
	return text.len == 0;
}

static struct str ipv4_to_text(const uint8_t *bytes, struct arena *arena)
{
	char *text = arena_alloc(arena, sizeof("255.255.255.255"));
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

struct packing {
	struct buf *out;
	struct str known;
};

static void put_struct(struct packing *packing, const struct schema *schema, const void *value);

static uint8_t *room_for(struct buf *out, size_t len)
{
	uint8_t *room = buf_reserve(out, len);
	must(room != NULL);
	return room;
}

static void put_bytes(struct buf *out, const void *bytes, size_t len)
{
	must(buf_append(out, bytes, len) == 0);
}

/* Returns how many bytes it takes. */
static size_t write_number(uint8_t *bytes, uint64_t value)
{
	size_t len = 0;
	for (; value > 0x7f; value >>= 7)
		bytes[len++] = (uint8_t)(value | 0x80);
	bytes[len++] = (uint8_t)value;
	return len;
}

static void put_number(struct buf *out, uint64_t value)
{
	buf_commit(out, write_number(room_for(out, NUMBER_LEN_MAX), value));
}

/* The longest beginning of `text` that stands in `known`; returns its length. */
static size_t find_part(struct str text, struct str known, size_t *ret_start)
{
	size_t best = 0;
	for (size_t i = 0; i + best < known.len; i++) {
		size_t max = known.len - i < text.len ? known.len - i : text.len;
		size_t len = 0;
		while (len < max && known.p[i + len] == text.p[len])
			len++;
		if (len > best) {
			best = len;
			*ret_start = i;
		}
	}
	return best;
}

static void put_text(struct packing *packing, struct str text)
{
	struct buf *out = packing->out;
	size_t start = 0;
	size_t part = find_part(text, packing->known, &start);
	uint8_t bytes[PACK_UUID_LEN];
	if (pack_uuid(text, bytes)) {
		put_number(out, TEXT_UUID);
		put_bytes(out, bytes, PACK_UUID_LEN);
	} else if (ipv4_from_text(text, bytes)) {
		put_number(out, TEXT_IPV4);
		put_bytes(out, bytes, 4);
	} else if (part >= PART_LEN_MIN) {
		put_number(out, TEXT_PART);
		put_number(out, start);
		put_number(out, part);
		put_number(out, text.len - part);
		put_bytes(out, text.p + part, text.len - part);
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

static void put_list(
	struct packing *packing, const struct schema_field *field, const struct any_list *list)
{
	put_number(packing->out, list->count);
	for (size_t i = 0; i < list->count; i++) {
		if (field->type == SCHEMA_LIST_STR)
			put_text(packing, ((const struct str *)list->items)[i]);
		else if (field->type == SCHEMA_LIST_ENUM)
			put_number(packing->out, (uint64_t)((const int *)list->items)[i]);
		else
			put_struct(packing, field->sub,
				(const char *)list->items + i * field->sub->size);
	}
}

static void put_value(struct packing *packing, const struct schema_field *field, const void *member)
{
	switch (field->type) {
	case SCHEMA_STR:
		put_text(packing, *(const struct str *)member);
		return;
	case SCHEMA_BIN:
		put_number(packing->out, ((const struct str *)member)->len);
		put_bytes(packing->out, ((const struct str *)member)->p,
			((const struct str *)member)->len);
		return;
	case SCHEMA_BOOL:
		return; /* that it stands here says true */
	case SCHEMA_UINT:
	case SCHEMA_REV:
		put_number(packing->out, *(const uint64_t *)member);
		return;
	case SCHEMA_ENUM:
		put_number(packing->out, (uint64_t) * (const int *)member);
		return;
	case SCHEMA_STRUCT:
	case SCHEMA_INLINE:
		put_struct(packing, field->sub, member);
		return;
	case SCHEMA_POINTER:
		put_struct(packing, field->sub, *(void *const *)member);
		return;
	case SCHEMA_LIST:
	case SCHEMA_LIST_STR:
	case SCHEMA_LIST_ENUM:
		put_list(packing, field, member);
		return;
	}
}

static void put_struct(struct packing *packing, const struct schema *schema, const void *value)
{
	must(schema->count < 255);
	for (size_t i = 0; i < schema->count; i++) {
		const struct schema_field *field = &schema->fields[i];
		const void *member = (const char *)value + field->offset;
		if (!is_present(field, member))
			continue;
		put_number(packing->out, i + 1);
		put_value(packing, field, member);
	}
	put_number(packing->out, 0);
}

void pack_struct_beside(
	const struct schema *schema, const void *value, struct str known, struct buf *out)
{
	struct packing packing = {out, known};
	put_struct(&packing, schema, value);
}

void pack_struct(const struct schema *schema, const void *value, struct buf *out)
{
	pack_struct_beside(schema, value, STR_NONE, out);
}

/* ---- unpacking ---- */

/* What is read was written by the above: anything else is a bug of ours. */
struct cursor {
	const uint8_t *p;
	const uint8_t *end;
	struct str known;
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

static struct str take_part(struct cursor *c)
{
	size_t start = (size_t)take_number(c);
	size_t len = (size_t)take_number(c);
	size_t rest_len = (size_t)take_number(c);
	const uint8_t *rest = take_bytes(c, rest_len);
	must(start <= c->known.len && len <= c->known.len - start);
	if (rest_len == 0)
		return (struct str){c->known.p + start, len};
	char *text = arena_alloc(c->arena, len + rest_len);
	memcpy(text, c->known.p + start, len);
	memcpy(text + len, rest, rest_len);
	return (struct str){text, len + rest_len};
}

static struct str take_text(struct cursor *c)
{
	uint64_t form = take_number(c);
	if (form == TEXT_PART)
		return take_part(c);
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

void unpack_struct_beside(const struct schema *schema, struct str packed, struct str known,
	struct arena *arena, void *ret_value)
{
	const uint8_t *bytes = (const uint8_t *)packed.p;
	struct cursor c = {bytes, bytes + packed.len, known, arena};
	memset(ret_value, 0, schema->size);
	take_struct(&c, schema, ret_value);
	must(c.p == c.end);
}

void unpack_struct(
	const struct schema *schema, struct str packed, struct arena *arena, void *ret_value)
{
	unpack_struct_beside(schema, packed, STR_NONE, arena, ret_value);
}

void unpack_first(
	const struct schema *schema, struct str packed, struct arena *arena, void *ret_value)
{
	const uint8_t *bytes = (const uint8_t *)packed.p;
	struct cursor c = {.p = bytes, .end = bytes + packed.len, .arena = arena};
	memset(ret_value, 0, schema->size);
	size_t tag = (size_t)take_number(&c);
	if (tag == 1)
		take_value(&c, &schema->fields[0], (char *)ret_value + schema->fields[0].offset);
}

/* ---- kept ---- */

uint8_t *packed_keep(struct str packed)
{
	uint8_t head[NUMBER_LEN_MAX];
	size_t head_len = write_number(head, packed.len);
	uint8_t *kept = slab_alloc(head_len + packed.len);
	memcpy(kept, head, head_len);
	str_put(kept + head_len, packed);
	return kept;
}

struct str packed_view(const uint8_t *kept)
{
	if (kept == NULL)
		return STR_NONE;
	struct cursor c = {.p = kept, .end = kept + NUMBER_LEN_MAX};
	size_t len = (size_t)take_number(&c);
	return (struct str){(const char *)c.p, len};
}

void packed_free(uint8_t *kept)
{
	struct str packed = packed_view(kept);
	if (kept != NULL)
		slab_free(kept, (size_t)((const uint8_t *)packed.p - kept) + packed.len);
}
