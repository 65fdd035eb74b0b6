// SPDX-License-Identifier: Apache-2.0
/*
 * Payloads of records at rest: the same msgpack, shorter. Words of the protocol take one or two bytes instead of their text, and UUIDs
 * 16 instead of 38; half of a typical record is such. The types of msgpack that our encoder never writes (negative numbers,
 * fractions, extensions) are free to stand for them:
 *
 *      0xd8 + 16 bytes          a UUID in its usual form, as text
 *      0xe0-0xff and others     one of the frequent words
 *      0xc1 + 1 byte            one of the other words
 *
 * Equal payloads pack to equal bytes. The texts of the keys `namespace` and `name` are left as they are, so that an object's
 * name can be looked at in place. Which words are known matters for the length alone, not for the meaning: they need not be complete.
 */
#pragma once

#include "common/buf.h"

enum { PACK_UUID_LEN = 36, PACK_UUID_MARK = 0xd8, PACK_UUID_BYTES = 16 };

/* Appends the packed form of what message_encode_record() wrote; it is never longer. */
void pack_payload(struct str payload, struct buf *out);
/* Appends what was packed. */
void pack_expand(struct str packed, struct buf *out);
/* One value of a packed payload; containers are a value, and so are their elements. */
struct pack_value {
	struct str text;  /* of a text or UUID value (absent for words and all others) */
	const char *word; /* NULL: none */
	bool is_uuid;     /* text is its 16 bytes */
};
/* The value at *at, which goes behind it. */
void pack_next(struct str packed, size_t *at, struct pack_value *ret_value);
/* The text of a packed UUID (16 bytes), into room for 36. */
void pack_expand_uuid(const unsigned char *bytes, char *ret_text);
