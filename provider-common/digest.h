// SPDX-License-Identifier: Apache-2.0
/*
 * Digests of what is compared or named, so that the state of ten thousand load balancers fits in a few bytes each. SHA-256 over members with their
 * lengths: tenants choose some of the members, and must not be able to make two different things look the same. No I/O.
 */
#pragma once

#include "common/arena.h"

#include <sha2.h>
#include <stdint.h>

enum {
	DIGEST_TEXT_LEN = 16,                      /* hexadecimal digits of 64 bits */
	DIGEST_LEN_MAX = SHA256_DIGEST_LENGTH * 2, /* of all */
};

struct digest {
	SHA2_CTX context;
};

void digest_begin(struct digest *digest);
void digest_add_str(struct digest *digest, struct str text);
void digest_add_int(struct digest *digest, uint64_t number);
/* The first 64 bits. */
uint64_t digest_end(struct digest *digest);
/* The first `len` hexadecimal digits in lower case, in the arena. */
struct str digest_end_text(struct digest *digest, size_t len, struct arena *arena);

/* Of a single member. */
uint64_t digest_of(struct str text);
/* Lower-case hexadecimal with a NUL behind it. */
void digest_text(uint64_t digest, char ret_text[DIGEST_TEXT_LEN + 1]);
bool digest_parse(struct str text, uint64_t *ret_digest);
