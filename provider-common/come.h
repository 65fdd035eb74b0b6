// SPDX-License-Identifier: Apache-2.0
/*
 * Part of state.c: a pool that has come alone, as it was decoded to check it. Most changes are one of endpoints, and who is told of it needs
 * just that value. Nothing is kept of it beyond its commit. No I/O.
 */
#pragma once

#include "provider-common/graph.h"

struct come {
	const struct payload *payload; /* whose value it is; NULL: none */
	struct pool value;
	struct arena arena; /* for what belongs to the value */
};

void come_init(struct come *come);
void come_fini(struct come *come);
/* Before the payload may be freed. */
void come_forget(struct come *come);
/* Where the message of a pool that comes alone is to be decoded. What was there is gone. */
struct arena *come_begin(struct come *come);
/* `value` is of the message that the payload has a copy of. */
void come_keep(struct come *come, const struct payload *payload, const struct pool *value,
	struct str message);
/* False: it is not this one. Otherwise the value is the caller's, without its key; what belongs to it stays until the next come_begin(). */
bool come_take(struct come *come, const struct payload *payload, struct pool *ret_value);
