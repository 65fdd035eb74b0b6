// SPDX-License-Identifier: Apache-2.0
/* What a pool looks like in its row; lua/sluice/pools.lua reads it. No I/O. */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "proto/model.h"
#include "provider-proxy/trust.h"

enum { POOL_TEXT_LEN_MAX = 3 * 1024 * 1024 };
#define POOL_TEXT_SYSTEM "system" /* in place of a CA's name: those that the machine trusts */

/* The lines that say what is spoken to the endpoints, in the arena; with TLS as trust_of() has let it pass. */
struct str pool_text_protocol(
	const struct pool *pool, const struct trust *trust, struct arena *arena);
/* Appends these and the others. What breaks a check is left out, and *ret_problem says so in words, in the arena or static; untouched when all is well. */
void pool_text_append(const struct pool *wanted, struct str protocol, struct arena *arena,
	struct buf *out, struct str *ret_problem);
