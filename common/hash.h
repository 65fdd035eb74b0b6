// SPDX-License-Identifier: Apache-2.0
/*
 * Short digests for detecting changes within this process: SipHash-1-3 with a random key per process, so that nobody
 * outside can construct collisions. Far cheaper than SHA-256, and worth nothing to another process or after a
 * restart.
 */
#pragma once

#include "common/str.h"

#include <stdint.h>

struct hash {
	uint64_t v[4];
	uint64_t words;
};

void hash_begin(struct hash *hash);
/* Parts are added in order, and the boundaries between them count. */
void hash_add_int(struct hash *hash, uint64_t number);
void hash_add_str(struct hash *hash, struct str text);
uint64_t hash_end(struct hash *hash);

/* Of one text. */
uint64_t hash_of(struct str text);
