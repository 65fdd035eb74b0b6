// SPDX-License-Identifier: Apache-2.0
#include "proto/frame.h"

#include <stdbool.h>

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

enum frame_outcome frame_next(const struct buf *in, struct str *ret_payload)
{
	if (buf_len(in) < FRAME_HEAD_LEN)
		return FRAME_PARTIAL;
	uint32_t len = be32(buf_data(in));
	if (len > FRAME_LEN_MAX)
		return FRAME_TOO_LONG;
	if (len == 0)
		return FRAME_EMPTY;
	if (buf_len(in) - FRAME_HEAD_LEN < len)
		return FRAME_PARTIAL;
	*ret_payload = (struct str){(const char *)buf_data(in) + FRAME_HEAD_LEN, len};
	return FRAME_READY;
}

/* A decoded msgpack header: how many bytes and how many values follow it. */
struct head {
	uint64_t bytes;
	uint64_t values;
	bool is_text;
	bool is_nested;
};

struct walk {
	const uint8_t *p;
	const uint8_t *end;
};

static bool take_be(struct walk *w, unsigned width, uint64_t *ret_value)
{
	if ((size_t)(w->end - w->p) < width)
		return false;
	uint64_t value = 0;
	for (unsigned i = 0; i < width; i++)
		value = value << 8 | w->p[i];
	w->p += width;
	*ret_value = value;
	return true;
}

static bool take_sized(struct walk *w, unsigned width, struct head *ret_head, unsigned extra)
{
	uint64_t len = 0;
	if (!take_be(w, width, &len))
		return false;
	ret_head->bytes = len + extra;
	return true;
}

static bool take_counted(struct walk *w, unsigned width, struct head *ret_head, unsigned factor)
{
	uint64_t count = 0;
	if (!take_be(w, width, &count))
		return false;
	ret_head->values = count * factor;
	ret_head->is_nested = true;
	return true;
}

/* The long forms, 0xc0 to 0xdf (msgpack specification, "Overview of formats"). */
static bool take_long_head(struct walk *w, uint8_t lead, struct head *h)
{
	switch (lead) {
	case 0xc0: /* nil */
	case 0xc2: /* false */
	case 0xc3: /* true */
		return true;
	case 0xc4: /* bin */
	case 0xc5:
	case 0xc6:
		return take_sized(w, 1U << (lead - 0xc4), h, 0);
	case 0xc7: /* ext: one more byte for the type */
	case 0xc8:
	case 0xc9:
		return take_sized(w, 1U << (lead - 0xc7), h, 1);
	case 0xca: /* float */
		h->bytes = 4;
		return true;
	case 0xcb:
		h->bytes = 8;
		return true;
	case 0xcc: /* uint */
	case 0xcd:
	case 0xce:
	case 0xcf:
		h->bytes = 1U << (lead - 0xcc);
		return true;
	case 0xd0: /* int */
	case 0xd1:
	case 0xd2:
	case 0xd3:
		h->bytes = 1U << (lead - 0xd0);
		return true;
	case 0xd4: /* fixext */
	case 0xd5:
	case 0xd6:
	case 0xd7:
	case 0xd8:
		h->bytes = 1 + (1U << (lead - 0xd4));
		return true;
	case 0xd9: /* str */
	case 0xda:
	case 0xdb:
		h->is_text = true;
		return take_sized(w, 1U << (lead - 0xd9), h, 0);
	case 0xdc: /* array */
	case 0xdd:
		return take_counted(w, 2U << (lead - 0xdc), h, 1);
	case 0xde: /* map */
	case 0xdf:
		return take_counted(w, 2U << (lead - 0xde), h, 2);
	default: /* 0xc1 is never used */
		return false;
	}
}

static bool take_head(struct walk *w, struct head *ret_head)
{
	*ret_head = (struct head){0};
	if (w->p == w->end)
		return false;
	uint8_t lead = *w->p++;
	if (lead <= 0x7f || lead >= 0xe0) /* small integers */
		return true;
	if (lead <= 0x8f) { /* fixmap */
		ret_head->values = (uint64_t)(lead & 0x0f) * 2;
		ret_head->is_nested = true;
		return true;
	}
	if (lead <= 0x9f) { /* fixarray */
		ret_head->values = lead & 0x0f;
		ret_head->is_nested = true;
		return true;
	}
	if (lead <= 0xbf) { /* fixstr */
		ret_head->bytes = lead & 0x1f;
		ret_head->is_text = true;
		return true;
	}
	return take_long_head(w, lead, ret_head);
}

const char *frame_check(struct str payload)
{
	struct walk w = {(const uint8_t *)payload.p, (const uint8_t *)payload.p + payload.len};
	uint64_t open[FRAME_DEPTH_MAX + 1] = {1}; /* values still to come, per level */
	unsigned depth = 0;
	uint64_t elements = 0;
	for (;;) {
		while (open[depth] == 0) {
			if (depth == 0)
				return w.p == w.end ? NULL : "bytes behind the value";
			depth--;
		}
		open[depth]--;
		struct head h;
		if (!take_head(&w, &h))
			return "truncated or no msgpack";
		uint64_t left = (uint64_t)(w.end - w.p);
		/* Every announced value takes at least one byte, so a false length is found before
		 * anything is allocated. */
		if (h.bytes > left || h.values > left)
			return "a length beyond the end of the frame";
		if (h.is_text && !str_is_utf8((struct str){(const char *)w.p, h.bytes}))
			return "text that is no UTF-8 or holds NUL";
		w.p += h.bytes;
		if (++elements > FRAME_ELEMENTS_MAX || h.values > FRAME_ELEMENTS_MAX)
			return "too many values";
		if (h.is_nested) {
			if (depth == FRAME_DEPTH_MAX)
				return "nested too deeply";
			open[++depth] = h.values;
		}
	}
}
