// SPDX-License-Identifier: Apache-2.0
/*
 * struct arena: memory of one operation, freed all at once. Decoded messages and the intermediate
 * results of a translation live in one. Nothing in an arena is freed by itself, and nothing that
 * lives longer may point into it. Secrets do not belong here; views of them may.
 */
#pragma once

#include "common/str.h"

#include <stddef.h>

struct arena_block;

struct arena {
	struct arena_block *blocks; /* newest first */
	size_t used;                /* in the newest block */
};

void arena_init(struct arena *a);
/* Frees everything but one small block, so that a loop of operations need not call malloc. */
void arena_reset(struct arena *a);
void arena_fini(struct arena *a);

/* Zeroed, aligned for any type. */
[[gnu::returns_nonnull]] void *arena_alloc(struct arena *a, size_t size);
/* Zeroed; ends the process when count * size overflows. */
[[gnu::returns_nonnull]] void *arena_calloc(struct arena *a, size_t count, size_t size);
/* NUL-terminated, so that .p is also a C string. */
struct str arena_str(struct arena *a, struct str s);
/* They one after the other, with a NUL behind them. */
struct str arena_parts(struct arena *a, const struct str *parts, size_t count);
[[gnu::format(printf, 2, 3)]] struct str arena_printf(struct arena *a, const char *format, ...);

/* Appends one element to an array that lives in an arena: returns its place. `items` may move; old
 * copies stay valid until the reset. */
void *arena_push(struct arena *a, void **items, size_t *count, size_t size);
