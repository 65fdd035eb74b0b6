// SPDX-License-Identifier: Apache-2.0
/*
 * The form in which structs of proto/model.h are kept in memory: like their messages, but without
 * keys, and with uids and IPv4 addresses in binary. A third of the size of the message, and quicker
 * to read. It never leaves the process.
 *
 *   struct = { tag value } 0      tag: place of the member among the schema's rows, from 1; absent
 *                                 members are left out
 *   text   = length * 2, bytes | 1, 16 bytes of a uid | 3, 4 bytes of an address
 *          | 5, where a part of `known` begins, its length, the length of the rest, the rest
 *   number = seven bits a byte, least first, the eighth set while more follow
 *   list   = count, items
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "proto/schema.h"

enum { PACK_UUID_LEN = 16, PACK_UUID_TEXT_LEN = 36 };

/* Appends. The buffer must have room: -EMSGSIZE is a broken invariant, since every message has its
 * limit. */
void pack_struct(const struct schema *schema, const void *value, struct buf *out);
/* The 16 bytes of a uid; false when the text is not in the one form that comes back the same. */
bool pack_uuid(struct str text, uint8_t *ret_bytes);
/* The opposite, into room for 36. */
void unpack_uuid(const uint8_t *bytes, char *ret_text);
/* The opposite of pack_struct(). Texts in *ret_value are views of `packed` or stand in the arena. */
void unpack_struct(
	const struct schema *schema, struct str packed, struct arena *arena, void *ret_value);
/* Likewise, but reads the first row of the schema alone, whatever follows: all others are zero. */
void unpack_first(
	const struct schema *schema, struct str packed, struct arena *arena, void *ret_value);

/* Likewise of something that is kept beside another text, such as its id: what begins with a part of that text is
 * kept as the place of that part. The same text is needed again for unpacking; the result has views of it, too. */
void pack_struct_beside(
	const struct schema *schema, const void *value, struct str known, struct buf *out);
void unpack_struct_beside(const struct schema *schema, struct str packed, struct str known,
	struct arena *arena, void *ret_value);

/* Packed bytes by themselves, in memory of the slab, to be given back with packed_free(). */
uint8_t *packed_keep(struct str packed);
/* Empty for NULL. */
struct str packed_view(const uint8_t *kept);
/* NULL is nothing. */
void packed_free(uint8_t *kept);
