// SPDX-License-Identifier: Apache-2.0
/*
 * Frames: a 4-byte big-endian length, then that many bytes, one msgpack value. No I/O here: bytes
 * in, bytes out.
 *
 *      0        4                        4 + length
 *      | length | payload: [type, body]  |
 *
 * frame_check() walks a payload without allocating anything before msgpack-c sees it, because
 * msgpack-c reserves memory for what a header announces, not for what follows (five bytes can ask
 * for gigabytes).
 */
#pragma once

#include "common/buf.h"
#include "common/str.h"

#include <stdint.h>

enum {
	FRAME_HEAD_LEN = 4,
	FRAME_LEN_MAX = 4 * 1024 * 1024, /* of the payload */
	FRAME_DEPTH_MAX = 16,            /* nested maps and arrays */
	FRAME_ELEMENTS_MAX = 512 * 1024, /* values in one frame, keys included */
};

enum frame_outcome {
	FRAME_READY,   /* *ret_payload is the next payload; buf_consume() frame_len_of() bytes when
			   done with it */
	FRAME_PARTIAL, /* more bytes are needed */
	FRAME_TOO_LONG, /* the peer announced more than FRAME_LEN_MAX: the stream is unusable from here */
	FRAME_EMPTY, /* the peer announced no bytes: likewise */
};

/* Consumes nothing: *ret_payload is a view of `in`, set only with FRAME_READY. */
enum frame_outcome frame_next(const struct buf *in, struct str *ret_payload);

/* The length of a frame of our own, from its first bytes. */
static inline size_t frame_len_at(const uint8_t head[static FRAME_HEAD_LEN])
{
	return FRAME_HEAD_LEN +
	       ((size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
}

static inline size_t frame_len_of(struct str payload)
{
	return FRAME_HEAD_LEN + payload.len;
}

/* NULL if the payload is exactly one well-formed msgpack value within the limits, its text
 * well-formed UTF-8 without NUL; otherwise a static error message. */
const char *frame_check(struct str payload);
