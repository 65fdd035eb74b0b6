// SPDX-License-Identifier: Apache-2.0
/*
 * struct buf: growing bytes with a ceiling. The ceiling is given when the buffer is made, without a
 * default: nothing that is filled from outside may grow without a named limit. Bytes are appended
 * at the end and consumed from the front.
 */
#pragma once

#include "common/must.h"
#include "common/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	uint8_t *data; /* start of the allocation */
	size_t start;  /* bytes consumed from the front */
	size_t end;    /* one past the last byte */
	size_t cap;
	size_t max; /* ceiling of end - start */
};

/* `max` in bytes. Takes no memory yet. */
void buf_init(struct buf *b, size_t max);
/* Frees the memory; may be called twice. Use buf_wipe_fini() for secrets. */
void buf_fini(struct buf *b);
void buf_wipe_fini(struct buf *b);

static inline size_t buf_len(const struct buf *b)
{
	return b->end - b->start;
}

/* NULL of a buffer that never held anything; adding to a null pointer, even nothing, is undefined. */
static inline const uint8_t *buf_data(const struct buf *b)
{
	return (const uint8_t *)((uintptr_t)b->data + b->start);
}

/* A view, valid until the buffer changes. */
static inline struct str buf_str(const struct buf *b)
{
	return (struct str){(const char *)buf_data(b), buf_len(b)};
}

/* What buf_reserve() does when there is no room yet. */
uint8_t *buf_make_room(struct buf *b, size_t len);
/* Makes room for len more bytes at the returned place; call buf_commit() with the number written.
 * NULL if the ceiling would be exceeded. */
static inline uint8_t *buf_reserve(struct buf *b, size_t len)
{
	bool has_room = len < b->cap - b->end && len <= b->max - buf_len(b);
	return has_room ? b->data + b->end : buf_make_room(b, len);
}
/* These copy what they append. -EMSGSIZE if the ceiling would be exceeded; the buffer is then
 * unchanged. */
[[nodiscard]] static inline int buf_append(struct buf *b, const void *data, size_t len)
{
	uint8_t *room = buf_reserve(b, len);
	if (room == NULL)
		return -EMSGSIZE;
	if (len != 0)
		memcpy(room, data, len);
	b->end += len;
	return 0;
}
[[nodiscard]] static inline int buf_append_str(struct buf *b, struct str s)
{
	return buf_append(b, s.p, s.len);
}
/* All of them or none. For what is written with every change: a format takes several times as long. */
[[nodiscard]] int buf_append_parts(struct buf *b, const struct str *parts, size_t count);
[[nodiscard, gnu::format(printf, 2, 3)]] int buf_printf(struct buf *b, const char *format, ...);
[[nodiscard, gnu::format(printf, 2, 0)]] int buf_vprintf(
	struct buf *b, const char *format, va_list args);
/* In decimal digits. -EMSGSIZE. */
[[nodiscard]] int buf_append_uint(struct buf *b, uint64_t value);
/* `len` bytes of the room that buf_reserve() has given now belong to the buffer. */
static inline void buf_commit(struct buf *b, size_t len)
{
	must(len <= b->cap - b->end);
	b->end += len;
}
/* Drops len bytes from the front; len is at most buf_len(). */
void buf_consume(struct buf *b, size_t len);
/* Drops everything after the first len bytes; len is at most buf_len(). */
void buf_cut(struct buf *b, size_t len);
/* Empties it and keeps the memory. */
void buf_clear(struct buf *b);
/* Empties it and frees memory beyond `keep` bytes. */
void buf_shrink(struct buf *b, size_t keep);
