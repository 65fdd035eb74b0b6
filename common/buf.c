// SPDX-License-Identifier: Apache-2.0
#include "common/buf.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { BUF_FIRST_CAP = 256 };

void buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){.max = max};
}

void buf_fini(struct buf *b)
{
	free(b->data);
	*b = (struct buf){.max = b->max};
}

void buf_wipe_fini(struct buf *b)
{
	if (b->data != NULL)
		explicit_bzero(b->data, b->cap);
	buf_fini(b);
}

/* Old bytes may be secret, so a buffer that grows wipes its old memory; this costs little compared with the
 * copy. */
static void buf_grow(struct buf *b, size_t need)
{
	size_t cap = b->cap != 0 ? b->cap : BUF_FIRST_CAP;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	uint8_t *grown = xmalloc(cap);
	size_t len = buf_len(b);
	if (b->data != NULL) {
		memcpy(grown, b->data + b->start, len);
		explicit_bzero(b->data, b->end);
		free(b->data);
	}
	b->data = grown;
	b->cap = cap;
	b->start = 0;
	b->end = len;
}

uint8_t *buf_make_room(struct buf *b, size_t len)
{
	size_t used = buf_len(b);
	if (len > b->max || used > b->max - len)
		return NULL;
	if (b->data == NULL || b->cap - b->end < len) {
		/* Moving is cheaper than growing when at least half of the room was consumed. */
		if (b->data != NULL && b->start >= b->cap / 2 && b->cap - used >= len) {
			memmove(b->data, b->data + b->start, used);
			b->start = 0;
			b->end = used;
		} else {
			buf_grow(b, used + len);
		}
	}
	return b->data + b->end;
}

int buf_append_uint(struct buf *b, uint64_t value)
{
	char digits[STR_UINT_LEN];
	return buf_append_str(b, str_from_uint(value, digits));
}

int buf_append_parts(struct buf *b, const struct str *parts, size_t count)
{
	size_t len = str_parts_len(parts, count);
	uint8_t *room = buf_reserve(b, len);
	if (room == NULL)
		return -EMSGSIZE;
	str_put_parts(room, parts, count);
	buf_commit(b, len);
	return 0;
}

int buf_vprintf(struct buf *b, const char *format, va_list args)
{
	va_list again;
	/* Prints into free space, and a second time if that was too small. */
	char *room = b->data != NULL ? (char *)b->data + b->end : NULL;
	size_t free_len = b->cap - b->end;
	va_copy(again, args);
	int len = vsnprintf(room, free_len, format, again);
	va_end(again);
	must(len >= 0);
	bool fits = (size_t)len < free_len && (size_t)len < b->max - buf_len(b);
	if (!fits) {
		room = (char *)buf_reserve(b, (size_t)len + 1);
		if (room == NULL)
			return -EMSGSIZE;
		vsnprintf(room, (size_t)len + 1, format, args);
	}
	b->end += (size_t)len;
	return 0;
}

int buf_printf(struct buf *b, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int err = buf_vprintf(b, format, args);
	va_end(args);
	return err;
}

void buf_consume(struct buf *b, size_t len)
{
	must(len <= buf_len(b));
	b->start += len;
	if (b->start == b->end)
		b->start = b->end = 0;
}

void buf_cut(struct buf *b, size_t len)
{
	must(len <= buf_len(b));
	b->end = b->start + len;
}

void buf_clear(struct buf *b)
{
	b->start = b->end = 0;
}

void buf_shrink(struct buf *b, size_t keep)
{
	if (b->cap > keep)
		buf_fini(b);
	else
		buf_clear(b);
}
