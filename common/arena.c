// SPDX-License-Identifier: Apache-2.0
#include "common/arena.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ARENA_BLOCK_LEN = 8192, ARENA_SHORT_TEXT_LEN = 256 };

struct arena_block {
	struct arena_block *next;
	size_t len;
	alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *a)
{
	*a = (struct arena){0};
}

static void arena_free_blocks(struct arena_block *block)
{
	while (block != NULL) {
		struct arena_block *next = block->next;
		free(block);
		block = next;
	}
}

void arena_reset(struct arena *a)
{
	struct arena_block *keep = a->blocks;
	if (keep == NULL)
		return;
	arena_free_blocks(keep->next);
	keep->next = NULL;
	if (keep->len > ARENA_BLOCK_LEN) {
		free(keep);
		keep = NULL;
	}
	a->blocks = keep;
	a->used = 0;
}

void arena_fini(struct arena *a)
{
	arena_free_blocks(a->blocks);
	*a = (struct arena){0};
}

void *arena_alloc(struct arena *a, size_t size)
{
	must(size < SIZE_MAX / 2);
	size_t need = (size + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
	if (a->blocks == NULL || a->blocks->len - a->used < need) {
		size_t len = need > ARENA_BLOCK_LEN ? need : ARENA_BLOCK_LEN;
		struct arena_block *block = xmalloc(sizeof(*block) + len);
		block->len = len;
		block->next = a->blocks;
		a->blocks = block;
		a->used = 0;
	}
	void *place = a->blocks->bytes + a->used;
	a->used += need;
	return memset(place, 0, size);
}

void *arena_calloc(struct arena *a, size_t count, size_t size)
{
	size_t bytes = 0;
	must(!__builtin_mul_overflow(count, size, &bytes));
	return arena_alloc(a, bytes);
}

struct str arena_str(struct arena *a, struct str s)
{
	if (s.p == NULL)
		return s;
	char *copy = arena_alloc(a, s.len + 1);
	str_put(copy, s);
	return (struct str){copy, s.len};
}

struct str arena_parts(struct arena *a, const struct str *parts, size_t count)
{
	size_t len = str_parts_len(parts, count);
	char *text = arena_alloc(a, len + 1);
	return str_join(text, len + 1, parts, count);
}

struct str arena_printf(struct arena *a, const char *format, ...)
{
	char first[ARENA_SHORT_TEXT_LEN];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(first, sizeof(first), format, args);
	va_end(args);
	must(len >= 0);
	/* Nearly all texts are short, and formatted once. */
	if ((size_t)len < sizeof(first))
		return arena_str(a, (struct str){first, (size_t)len});
	char *text = arena_alloc(a, (size_t)len + 1);
	va_start(args, format);
	vsnprintf(text, (size_t)len + 1, format, args);
	va_end(args);
	return (struct str){text, (size_t)len};
}

void *arena_push(struct arena *a, void **items, size_t *count, size_t size)
{
	/* Capacity is implied: arrays grow when the count is zero, or a power of two from four on. */
	size_t n = *count;
	if (n == 0 || (n >= 4 && (n & (n - 1)) == 0)) {
		void *grown = arena_calloc(a, n == 0 ? 4 : n * 2, size);
		if (n != 0)
			memcpy(grown, *items, n * size);
		*items = grown;
	}
	*count = n + 1;
	return (char *)*items + n * size;
}
