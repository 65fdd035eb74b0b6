// SPDX-License-Identifier: Apache-2.0
/*
 * Digests of what is compared, so that the state of ten thousand load balancers fits in a few bytes
 * each. The first 64 bits of SHA-256 over members with their lengths: tenants choose some of the
 * members, and must not be able to make two different states look the same.
 */
#pragma once

#include "common/str.h"

#include <sha2.h>
#include <stdint.h>

enum { DIGEST_TEXT_LEN = 16 };

struct digest {
	SHA2_CTX context;
};

void digest_begin(struct digest *digest);
void digest_add_str(struct digest *digest, struct str text);
void digest_add_int(struct digest *digest, uint64_t number);
uint64_t digest_end(struct digest *digest);

uint64_t digest_of(struct str text);
/* Lower-case hexadecimal with a NUL behind it. */
void digest_text(uint64_t digest, char ret_text[DIGEST_TEXT_LEN + 1]);
bool digest_parse(struct str text, uint64_t *ret_digest);
