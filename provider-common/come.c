// SPDX-License-Identifier: Apache-2.0
#include "provider-common/come.h"

#include "proto/message.h"
#include "proto/schema_move.h"

void come_init(struct come *come)
{
	come->payload = NULL;
	arena_init(&come->arena);
}

void come_fini(struct come *come)
{
	arena_fini(&come->arena);
}

void come_forget(struct come *come)
{
	come->payload = NULL;
}

struct arena *come_begin(struct come *come)
{
	come_forget(come);
	arena_reset(&come->arena);
	return &come->arena;
}

void come_keep(struct come *come, const struct payload *payload, const struct pool *value,
	struct str message)
{
	come->payload = payload;
	come->value = *value;
	schema_move(message_schema(MESSAGE_UPSERT, RECORD_NONE, LB_POOL), &come->value, message,
		payload_message(payload).p);
}

bool come_take(struct come *come, const struct payload *payload, struct pool *ret_value)
{
	if (come->payload == NULL || come->payload != payload)
		return false;
	*ret_value = come->value;
	/* Whoever has it may change it. */
	come_forget(come);
	return true;
}
