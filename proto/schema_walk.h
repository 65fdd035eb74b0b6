// SPDX-License-Identifier: Apache-2.0
/*
 * What schema_encode.c and schema_decode.c share as they walk the rows of a schema: above all where they are, so that errors name the place.
 */
#pragma once

#include "proto/schema.h"

/* The common layout of all LIST_OF(). */
struct schema_list {
	void *items;
	size_t count;
};

static inline struct str schema_key(const struct schema_field *field)
{
	return (struct str){field->key, field->key_len};
}

/* The position in the value, for error messages: a chain through the callers' stack frames. */
struct schema_place {
	const struct schema_place *outer;
	const char *key;
	size_t index; /* + 1; 0: no list */
};

[[gnu::format(printf, 3, 4)]] void schema_fail_at(
	struct schema_error *error, const struct schema_place *place, const char *format, ...);
