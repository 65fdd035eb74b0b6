// SPDX-License-Identifier: Apache-2.0
#include "proto/message.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame.h"
#include "proto/messages.h"

#include <errno.h>
#include <msgpack.h>
#include <stdio.h>

enum { READER_ZONE_LEN = 8192 };

#define WORD(literal)                          \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}

static const struct {
	struct str word;
	const struct schema *schema; /* NULL: depends on the kind */
} types[MESSAGE_TYPE_COUNT] = {
	[MESSAGE_HELLO] = {WORD("hello"), &hello_schema},
	[MESSAGE_PING] = {WORD("ping"), &ping_schema},
	[MESSAGE_PONG] = {WORD("pong"), &pong_schema},
	[MESSAGE_BYE] = {WORD("bye"), &bye_schema},
	[MESSAGE_LEAD] = {WORD("lead"), &lead_schema},
	[MESSAGE_SETTINGS] = {WORD("settings"), &source_settings_schema},
	[MESSAGE_SYNC_BEGIN] = {WORD("sync-begin"), &sync_mark_schema},
	[MESSAGE_SYNC_END] = {WORD("sync-end"), &sync_end_schema},
	[MESSAGE_UPSERT] = {WORD("upsert"), NULL},
	[MESSAGE_DELETE] = {WORD("delete"), &delete_schema},
	[MESSAGE_KEEP] = {WORD("keep"), &keep_schema},
	[MESSAGE_STATUS] = {WORD("status"), &status_update_schema},
	[MESSAGE_EVENT] = {WORD("event"), &event_note_schema},
	[MESSAGE_REMOVE] = {WORD("remove"), &lb_remove_schema},
	[MESSAGE_COMMIT] = {WORD("commit"), &lb_commit_schema},
	[MESSAGE_LB_STATUS] = {WORD("lb-status"), &lb_status_schema},
	[MESSAGE_LB_APPLIED] = {WORD("applied"), &lb_applied_schema},
	[MESSAGE_LB_EVENT] = {WORD("lb-event"), &lb_event_schema},
};

const char *message_word(enum message_type type)
{
	return type > MESSAGE_UNKNOWN && type < MESSAGE_TYPE_COUNT ? types[type].word.p : "unknown";
}

const char *record_kind_word(enum record_kind kind)
{
	must(kind < RECORD_KIND_COUNT);
	return record_kind_words[kind];
}

const char *lb_kind_word(enum lb_kind kind)
{
	must(kind < LB_KIND_COUNT);
	return lb_kind_words[kind];
}

const struct schema *message_schema(
	enum message_type type, enum record_kind record_kind, enum lb_kind lb_kind)
{
	if (type <= MESSAGE_UNKNOWN || type >= MESSAGE_TYPE_COUNT)
		return NULL;
	if (type != MESSAGE_UPSERT)
		return types[type].schema;
	if (record_kind != RECORD_NONE)
		return record_kind < RECORD_KIND_COUNT ? record_schemas[record_kind] : NULL;
	return lb_kind < LB_KIND_COUNT ? lb_schemas[lb_kind] : NULL;
}

/* ---- reading ---- */

struct message_reader {
	msgpack_zone zone;
	msgpack_object root;
};

struct message_reader *message_reader_new(void)
{
	struct message_reader *reader = xcalloc(1, sizeof(*reader));
	if (!msgpack_zone_init(&reader->zone, READER_ZONE_LEN))
		xalloc_fail();
	return reader;
}

void message_reader_free(struct message_reader *reader)
{
	if (reader == NULL)
		return;
	msgpack_zone_destroy(&reader->zone);
	free(reader);
}

static struct str text_of(const msgpack_object *o)
{
	if (o->type != MSGPACK_OBJECT_STR)
		return STR_NONE;
	return (struct str){o->via.str.ptr, o->via.str.size};
}

static enum message_type find_type(struct str word)
{
	for (int i = MESSAGE_UNKNOWN + 1; i < MESSAGE_TYPE_COUNT; i++) {
		if (str_eq(word, types[i].word))
			return (enum message_type)i;
	}
	return MESSAGE_UNKNOWN;
}

static int find_word(const char *const *words, struct str word)
{
	for (int i = 1; words[i] != NULL; i++) {
		if (str_eq_c(word, words[i]))
			return i;
	}
	return 0;
}

static struct str kind_word(const struct message *message)
{
	const msgpack_object_map *map = &message->body->via.map;
	struct str word = STR_NONE;
	for (uint32_t i = 0; i < map->size; i++) {
		if (str_eq_c(text_of(&map->ptr[i].key), "kind"))
			word = text_of(&map->ptr[i].val);
	}
	return word;
}

static bool has_kind(enum message_type type)
{
	return type == MESSAGE_UPSERT || type == MESSAGE_DELETE || type == MESSAGE_KEEP ||
	       type == MESSAGE_REMOVE || type == MESSAGE_SYNC_BEGIN || type == MESSAGE_SYNC_END;
}

/* An unknown kind comes from a newer peer: the message is skipped. The kind of an upsert decides which struct it is. */
static void find_kind(struct message *message)
{
	bool is_upsert = message->type == MESSAGE_UPSERT;
	struct str word = kind_word(message);
	int record_kind = find_word(record_kind_words, word);
	int lb_kind = find_word(lb_kind_words, word);
	if (record_kind == RECORD_NONE && lb_kind == LB_NONE && (is_upsert || word.len != 0))
		message->type = MESSAGE_UNKNOWN;
	message->record_kind = is_upsert ? (enum record_kind)record_kind : RECORD_NONE;
	message->lb_kind = is_upsert ? (enum lb_kind)lb_kind : LB_NONE;
}

static int refuse(struct schema_error *error, const char *why)
{
	snprintf(error->text, sizeof(error->text), "%s", why);
	return -EBADMSG;
}

/* For a payload that frame_check() has accepted: it can fail only for lack of memory. */
static bool unpack(struct str payload, msgpack_zone *zone, msgpack_object *ret_root)
{
	size_t at = 0;
	msgpack_unpack_return got = msgpack_unpack(payload.p, payload.len, &at, zone, ret_root);
	if (got == MSGPACK_UNPACK_NOMEM_ERROR)
		xalloc_fail();
	return got == MSGPACK_UNPACK_SUCCESS;
}

int message_open(struct message_reader *reader, struct str payload, struct message *ret_message,
	struct schema_error *ret_error)
{
	const char *problem = payload.len > FRAME_LEN_MAX ? "too long" : frame_check(payload);
	if (problem != NULL)
		return refuse(ret_error, problem);
	msgpack_zone_clear(&reader->zone);
	if (!unpack(payload, &reader->zone, &reader->root))
		return refuse(ret_error, "no msgpack");
	const msgpack_object *root = &reader->root;
	if (root->type != MSGPACK_OBJECT_ARRAY || root->via.array.size < 2 ||
		root->via.array.ptr[0].type != MSGPACK_OBJECT_STR ||
		root->via.array.ptr[1].type != MSGPACK_OBJECT_MAP)
		return refuse(ret_error, "no array of a type and a map");
	*ret_message = (struct message){
		.type = find_type(text_of(&root->via.array.ptr[0])),
		.payload = payload,
		.body = &root->via.array.ptr[1],
	};
	if (has_kind(ret_message->type))
		find_kind(ret_message);
	return 0;
}

int message_decode(const struct message *message, struct arena *arena, void *ret_value,
	struct schema_error *ret_error)
{
	const struct schema *schema =
		message_schema(message->type, message->record_kind, message->lb_kind);
	must(schema != NULL);
	return schema_decode(schema, message->body, arena, ret_value, ret_error);
}

/* Not a part of message_read_kept(): tests/e2e/test_codec_counts.py counts its calls. */
[[gnu::noinline]] void message_reader_read_kept(struct message_reader *reader,
	const struct schema *schema, struct str payload, struct arena *arena, void *ret_value)
{
	struct schema_error error = {""};
	msgpack_zone_clear(&reader->zone);
	must(unpack(payload, &reader->zone, &reader->root));
	must(schema_decode(schema, &reader->root.via.array.ptr[1], arena, ret_value, &error) == 0);
}

void message_read_kept(
	const struct schema *schema, struct str payload, struct arena *arena, void *ret_value)
{
	struct message_reader reader;
	if (!msgpack_zone_init(&reader.zone, READER_ZONE_LEN))
		xalloc_fail();
	message_reader_read_kept(&reader, schema, payload, arena, ret_value);
	msgpack_zone_destroy(&reader.zone);
}

/* ---- writing ---- */

static int append_head(struct buf *out, struct str word)
{
	unsigned char head[FRAME_HEAD_LEN + 2] = {0};
	must(word.len < 32);
	head[FRAME_HEAD_LEN] = 0x92;                                 /* array of two */
	head[FRAME_HEAD_LEN + 1] = (unsigned char)(0xa0 | word.len); /* short text */
	int err = buf_append(out, head, sizeof(head));
	return err != 0 ? err : buf_append_str(out, word);
}

static void put_be32(uint8_t *p, size_t value)
{
	p[0] = (uint8_t)(value >> 24);
	p[1] = (uint8_t)(value >> 16);
	p[2] = (uint8_t)(value >> 8);
	p[3] = (uint8_t)value;
}

/* Appends a whole frame or nothing. *ret_body is the offset of the body from the old end. */
static int append_frame(enum message_type type, const struct schema *schema, const void *value,
	struct buf *out, size_t *ret_body, struct schema_error *ret_error)
{
	size_t before = buf_len(out);
	int err = append_head(out, types[type].word);
	size_t body = buf_len(out) - before;
	if (err == 0)
		err = schema_encode(schema, value, out, ret_error);
	else
		snprintf(ret_error->text, sizeof(ret_error->text), "the buffer is full");
	size_t len = buf_len(out) - before;
	if (err == 0 && len - FRAME_HEAD_LEN > FRAME_LEN_MAX) {
		snprintf(ret_error->text, sizeof(ret_error->text), "longer than %d bytes in all",
			FRAME_LEN_MAX);
		err = -EMSGSIZE;
	}
	if (err != 0) {
		out->end -= len;
		return err;
	}
	put_be32(out->data + out->end - len, len - FRAME_HEAD_LEN);
	*ret_body = body;
	return 0;
}

int message_encode(
	enum message_type type, const void *value, struct buf *out, struct schema_error *ret_error)
{
	size_t body = 0;
	must(type > MESSAGE_UNKNOWN && type < MESSAGE_TYPE_COUNT && types[type].schema != NULL);
	return append_frame(type, types[type].schema, value, out, &body, ret_error);
}

int message_encode_upsert(const struct schema *schema, const void *value, struct buf *out,
	size_t *ret_body, struct schema_error *ret_error)
{
	return append_frame(MESSAGE_UPSERT, schema, value, out, ret_body, ret_error);
}

int message_encode_record(const void *record, struct buf *out, struct schema_error *ret_error)
{
	const struct record_key *key = record;
	size_t body = 0;
	must(key->kind > RECORD_NONE && key->kind < RECORD_KIND_COUNT);
	return message_encode_upsert(record_schemas[key->kind], record, out, &body, ret_error);
}
