// SPDX-License-Identifier: Apache-2.0
#include "provider-common/decoded_pool.h"

#include "proto/message.h"
#include "proto/schema_rebase.h"

void decoded_pool_init(struct decoded_pool *decoded)
{
	decoded->payload = NULL;
	arena_init(&decoded->arena);
}

void decoded_pool_fini(struct decoded_pool *decoded)
{
	arena_fini(&decoded->arena);
}

void decoded_pool_forget(struct decoded_pool *decoded)
{
	decoded->payload = NULL;
}

struct arena *decoded_pool_begin(struct decoded_pool *decoded)
{
	decoded_pool_forget(decoded);
	arena_reset(&decoded->arena);
	return &decoded->arena;
}

void decoded_pool_keep(struct decoded_pool *decoded, const struct payload *payload,
	const struct pool *value, struct str message)
{
	decoded->payload = payload;
	decoded->value = *value;
	schema_rebase(message_schema(MESSAGE_UPSERT, RECORD_NONE, LB_POOL), &decoded->value,
		message, payload_message(payload).p);
}

bool decoded_pool_take(
	struct decoded_pool *decoded, const struct payload *payload, struct pool *ret_value)
{
	if (decoded->payload == NULL || decoded->payload != payload)
		return false;
	*ret_value = decoded->value;
	/* Whoever has it may change it. */
	decoded_pool_forget(decoded);
	return true;
}
