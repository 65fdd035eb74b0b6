// SPDX-License-Identifier: Apache-2.0
/* For tests of what lies on a state: objects arrive in it as from a translator, encoded and read again. Include it after cmocka.h. */
#pragma once

#include "objects.h"
#include "provider-common/state.h"

struct stage {
	struct state *state;
	struct message_reader *reader;
	struct arena arena;
	struct buf buf;
};

static inline void stage_init(struct stage *stage, const struct state_config *config)
{
	stage->state = state_new(config);
	stage->reader = message_reader_new();
	arena_init(&stage->arena);
	buf_init(&stage->buf, FRAME_LEN_MAX);
}

static inline void stage_fini(struct stage *stage)
{
	state_free(stage->state);
	message_reader_free(stage->reader);
	arena_fini(&stage->arena);
	buf_fini(&stage->buf);
}

static inline void stage_upsert(struct stage *stage, const void *object)
{
	struct schema_error error = {""};
	struct message message;
	struct str payload = encode_upsert(&stage->buf, object);
	assert_int_equal(message_open(stage->reader, payload, &message, &error), 0);
	assert_int_equal(state_stage_upsert(stage->state, &message, &stage->arena, &error), 0);
	arena_reset(&stage->arena);
}

static inline void stage_remove(struct stage *stage, enum lb_kind kind, const char *id)
{
	struct schema_error error = {""};
	struct lb_remove remove = {.kind = kind, .id = str_from(id)};
	assert_int_equal(state_stage_remove(stage->state, &remove, &error), 0);
}
