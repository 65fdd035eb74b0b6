// SPDX-License-Identifier: Apache-2.0
/*
 * The form in which structs of proto/model.h are kept in memory: like their messages, but without
 * keys, and with uids and IPv4 addresses in binary. A third of the size of the message, and quicker
 * to read. It never leaves the process.
 *
 *   struct = { tag value } 0      tag: place of the member among the schema's rows, from 1; absent
 *                                 members are left out
 *   text   = length * 2, bytes | 1, 16 bytes of a uid | 3, 4 bytes of an address
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
