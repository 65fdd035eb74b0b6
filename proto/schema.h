// SPDX-License-Identifier: Apache-2.0
/*
 * A schema says how a struct of proto/model.h looks on the wire: one row per member with key, type,
 * limit and meaning. Encoding and decoding walk the rows, so a message has one description, and
 * PROTOCOL.md's tables are printed from it.
 *
 * Members that are zero (empty text with NULL, false, 0, the first word of an enum, an empty list,
 * NULL) are left out when encoding, except required ones. Rows are written in order, so equal
 * values give equal bytes. Decoding skips unknown keys, and refuses, by name, wrong types,
 * duplicate keys, missing required keys, unknown words and values over their limits.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum schema_type {
	SCHEMA_STR,       /* struct str; UTF-8 without NUL, at most `limit` bytes */
	SCHEMA_BIN,       /* struct str; any bytes, at most `limit` */
	SCHEMA_BOOL,      /* bool */
	SCHEMA_UINT,      /* uint64_t, at most `limit` */
	SCHEMA_REV,       /* uint64_t, always nine bytes: message_encode_object() sets it */
	SCHEMA_ENUM,      /* int-sized enum, one of `words` on the wire */
	SCHEMA_STRUCT,    /* nested struct of `sub` */
	SCHEMA_POINTER,   /* pointer to a struct of `sub`, NULL: absent */
	SCHEMA_LIST,      /* LIST_OF(struct of `sub`), at most `limit` items */
	SCHEMA_LIST_STR,  /* struct str_list, at most `limit` items of at most SCHEMA_ITEM_LEN_MAX
			     bytes */
	SCHEMA_LIST_ENUM, /* LIST_OF(int), `words` */
	SCHEMA_INLINE,    /* members of `sub` in this map itself, without a key */
};

enum { SCHEMA_FIELDS_MAX = 32, SCHEMA_ITEM_LEN_MAX = 1024, SCHEMA_ERROR_LEN = 256 };

struct schema;

struct schema_field {
	const char *key;
	uint8_t key_len;
	bool required;
	enum schema_type type;
	uint32_t offset;
	uint64_t limit;
	const struct schema *sub;
	const char *const *words; /* NULL after the last; "" means: not on the wire */
	const char *help;
};

/* Initializes both members of a key; for literals only. */
#define SCHEMA_KEY(key_) .key = "" key_, .key_len = sizeof(key_) - 1

struct schema {
	const char *name;
	size_t size; /* of the struct */
	const struct schema_field *fields;
	size_t count;
};

/* Why a value was refused, and where: "rules[3].paths[0].path: longer than 4096 bytes". */
struct schema_error {
	char text[SCHEMA_ERROR_LEN];
};

/* Appends the map. -EINVAL when a member breaks its own schema, -EMSGSIZE when the buffer is full;
 * the buffer then ends in part of the map, and the caller must cut it. */
[[nodiscard]] int schema_encode(const struct schema *schema, const void *value, struct buf *out,
	struct schema_error *ret_error);

/* `map` is a msgpack_object of any type. Fills *ret_value (schema->size bytes, zeroed first) with
 * views into the frame and memory of the arena. -EBADMSG if it does not fit the schema. */
struct msgpack_object;
[[nodiscard]] int schema_decode(const struct schema *schema, const struct msgpack_object *map,
	struct arena *arena, void *ret_value, struct schema_error *ret_error);
