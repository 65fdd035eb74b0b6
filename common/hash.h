// SPDX-License-Identifier: Apache-2.0
/*
 * Short digests of what this process has seen, to tell whether something has changed: SipHash-1-3 with a key that is
 * made at random for each process, so that nobody outside can choose things that look the same. Far cheaper than
 * SHA-256, and worth nothing to another process or after a restart.
 */
#pragma once

#include "common/str.h"

#include <stdint.h>

struct hash {
	uint64_t v[4];
	uint64_t words;
};

void hash_begin(struct hash *hash);
/* One after the other: where a text ends and the next part begins counts. */
void hash_add_int(struct hash *hash, uint64_t number);
void hash_add_str(struct hash *hash, struct str text);
uint64_t hash_end(struct hash *hash);

/* Of one text. */
uint64_t hash_of(struct str text);
