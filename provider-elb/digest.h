// SPDX-License-Identifier: Apache-2.0
/*
 * SHA-256 over members with their lengths: tenants choose some of the members, and must not be able to make two different things look the same. No I/O.
 */
#pragma once

#include "common/arena.h"

#include <sha2.h>
#include <stdint.h>

enum {
	DIGEST_NAME_LEN = 10,    /* hexadecimal digits, in names */
	DIGEST_APPLIED_LEN = 16, /* in TAG_APPLIED, and in identities of rules */
	DIGEST_LEN_MAX = SHA256_DIGEST_LENGTH * 2,
};

struct digest {
	SHA2_CTX context;
};

void digest_begin(struct digest *digest);
void digest_add_str(struct digest *digest, struct str text);
void digest_add_int(struct digest *digest, uint64_t number);
/* The first `len` digits in lower case, in the arena. */
struct str digest_end(struct digest *digest, size_t len, struct arena *arena);
