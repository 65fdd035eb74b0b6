// SPDX-License-Identifier: Apache-2.0
/*
 * Messages: converts [type, body] payloads to and from the structs of proto/model.h.
 *
 * Reading: message_open() checks a payload and finds its type (and, for records and objects, its
 * kind); then message_decode() fills the struct that belongs to it. Writing: message_encode()
 * appends a whole frame.
 *
 * An object is kept as its payload, and read again with message_read_kept().
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "proto/model.h"
#include "proto/schema.h"

/* MESSAGE(id, "word", link, direction, schema) for messages with one schema; for the others the
 * kind decides. */
enum message_type {
	MESSAGE_UNKNOWN, /* skip it */
	/* both links, both directions */
	MESSAGE_HELLO,
	MESSAGE_PING,
	MESSAGE_PONG,
	MESSAGE_BYE,
	MESSAGE_LEAD,
	/* source link, downwards */
	MESSAGE_SETTINGS,
	MESSAGE_SYNC_BEGIN, /* also on the provider link, there without kind */
	MESSAGE_SYNC_END,
	MESSAGE_UPSERT, /* on both links; record_kind or lb_kind tells which struct */
	MESSAGE_DELETE,
	MESSAGE_KEEP,
	/* source link, upwards */
	MESSAGE_STATUS,
	MESSAGE_EVENT,
	/* provider link, downwards */
	MESSAGE_REMOVE,
	MESSAGE_COMMIT,
	/* provider link, upwards */
	MESSAGE_LB_STATUS,
	MESSAGE_LB_APPLIED,
	MESSAGE_LB_EVENT,
	MESSAGE_TYPE_COUNT,
};

struct message {
	enum message_type type;
	struct str payload;
	enum record_kind record_kind; /* of an upsert on the source link */
	enum lb_kind lb_kind;         /* of an upsert on the provider link */
	const struct msgpack_object *body;
};

/* Memory for opening one message at a time. */
struct message_reader;
struct message_reader *message_reader_new(void);
void message_reader_free(struct message_reader *reader);

/* `payload` must outlive the use of *ret_message, which is valid until the reader opens another.
 * Unknown types and kinds give MESSAGE_UNKNOWN and 0. -EBADMSG: not a message at all. */
[[nodiscard]] int message_open(struct message_reader *reader, struct str payload,
	struct message *ret_message, struct schema_error *ret_error);

/* Fills the struct that belongs to the message's type and kind (see message_schema()). Its texts are views of the payload,
 * or live in the arena. -EBADMSG: it does not fit the schema, *ret_error says where. */
[[nodiscard]] int message_decode(const struct message *message, struct arena *arena,
	void *ret_value, struct schema_error *ret_error);

/* Reads again a payload that message_decode() has accepted, or that message_encode() and its kin have produced. Texts in *ret_value
 * are views of the payload, or live in the arena. */
void message_read_kept(
	const struct schema *schema, struct str payload, struct arena *arena, void *ret_value);
/* The same for whoever does so often: with the memory of a reader, which is not the one of a message that is still in use. */
void message_reader_read_kept(struct message_reader *reader, const struct schema *schema,
	struct str payload, struct arena *arena, void *ret_value);

/* Appends the frame; on failure the buffer is unchanged. `value` is the struct that belongs to
 * `type`. For MESSAGE_UPSERT use the next two. -EINVAL: the value breaks a limit, *ret_error says
 * which. -EMSGSIZE: the frame or the buffer would be too long. */
[[nodiscard]] int message_encode(
	enum message_type type, const void *value, struct buf *out, struct schema_error *ret_error);
/* `record` is one of the *_record structs, key.kind says which. */
[[nodiscard]] int message_encode_record(
	const void *record, struct buf *out, struct schema_error *ret_error);
/* `object` is one of the structs that begin with an object key; key.kind says which. key.rev is
 * not read: the digest of the object is computed, written into the frame, and stored in *ret_rev.
 */
[[nodiscard]] int message_encode_object(
	const void *object, struct buf *out, uint64_t *ret_rev, struct schema_error *ret_error);

/* The schema of a message; kinds are 0 where they do not apply. NULL for unknown ones. For tests
 * and documents. */
const struct schema *message_schema(
	enum message_type type, enum record_kind record_kind, enum lb_kind lb_kind);
const char *message_word(enum message_type type);
const char *record_kind_word(enum record_kind kind);
const char *lb_kind_word(enum lb_kind kind);
