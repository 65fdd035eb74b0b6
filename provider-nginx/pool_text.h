// SPDX-License-Identifier: Apache-2.0
/* What a pool looks like in its row; lua/sluice/pools.lua reads it. No I/O. */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "proto/model.h"

enum { POOL_TEXT_LEN_MAX = 3 * 1024 * 1024 };

/* Appends it. What breaks a check is left out, and *ret_problem says so in words, in the arena or static; untouched when all is well. */
void pool_text_append(
	const struct pool *pool, struct arena *arena, struct buf *out, struct str *ret_problem);
