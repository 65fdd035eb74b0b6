// SPDX-License-Identifier: Apache-2.0
/*
 * Part of state.c: a pool that has come alone, as it was decoded to check it. Most changes are one of endpoints, and who is told of it needs
 * just that value. Nothing is kept of it beyond its commit. No I/O.
 */
#pragma once

#include "provider-common/graph.h"

struct decoded_pool {
	const struct payload *payload; /* whose value it is; NULL: none */
	struct pool value;
	struct arena arena; /* for what belongs to the value */
};

void decoded_pool_init(struct decoded_pool *decoded);
void decoded_pool_fini(struct decoded_pool *decoded);
/* Before the payload may be freed. */
void decoded_pool_forget(struct decoded_pool *decoded);
/* Where the message of a pool that comes alone is to be decoded. What was there is gone. */
struct arena *decoded_pool_begin(struct decoded_pool *decoded);
/* `value` is of the message that the payload has a copy of. */
void decoded_pool_keep(struct decoded_pool *decoded, const struct payload *payload,
	const struct pool *value, struct str message);
/* False: it is not this one. Otherwise the value is the caller's, without its key; what belongs to it stays until the next decoded_pool_begin(). */
bool decoded_pool_take(
	struct decoded_pool *decoded, const struct payload *payload, struct pool *ret_value);
