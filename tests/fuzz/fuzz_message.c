// SPDX-License-Identifier: Apache-2.0
/* Any payload: what decodes must encode, and what was encoded must decode to the same bytes again. */
#include "common/must.h"
#include "proto/frame.h"
#include "proto/message.h"

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

enum { VALUE_MAX = 1024 };

static bool decode(struct message_reader *reader, struct str payload, struct message *message,
	struct arena *arena, void *value)
{
	struct schema_error error;
	return message_open(reader, payload, message, &error) == 0 &&
	       message->type != MESSAGE_UNKNOWN &&
	       message_decode(message, arena, value, &error) == 0;
}

static bool encode(const struct message *message, const void *value, struct buf *out)
{
	struct schema_error error;
	uint64_t rev = 0;
	if (message->type != MESSAGE_UPSERT)
		return message_encode(message->type, value, out, &error) == 0;
	if (message->record_kind != RECORD_NONE)
		return message_encode_record(value, out, &error) == 0;
	return message_encode_object(value, out, &rev, &error) == 0;
}

static struct str payload_of(const struct buf *frame)
{
	return str_skip(buf_str(frame), FRAME_HEAD_LEN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	alignas(max_align_t) unsigned char value[VALUE_MAX];
	struct message_reader *reader = message_reader_new();
	struct message message;
	struct arena arena;
	struct buf once;
	struct buf twice;
	arena_init(&arena);
	buf_init(&once, (size_t)2 * FRAME_LEN_MAX);
	buf_init(&twice, (size_t)2 * FRAME_LEN_MAX);
	if (decode(reader, (struct str){(const char *)data, len}, &message, &arena, value)) {
		must(encode(&message, value, &once));
		must(decode(reader, payload_of(&once), &message, &arena, value));
		must(encode(&message, value, &twice));
		must(str_eq(buf_str(&once), buf_str(&twice)));
	}
	buf_fini(&once);
	buf_fini(&twice);
	arena_fini(&arena);
	message_reader_free(reader);
	return 0;
}
