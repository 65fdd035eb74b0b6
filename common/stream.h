// SPDX-License-Identifier: Apache-2.0
/*
 * struct stream: one connected, non-blocking stream socket on a libev loop, with a bounded buffer
 * each way.
 *
 * Reading: bytes pile up in the input buffer and on_input() consumes what it understands. Writing:
 * stream_out() is appended to and stream_flush() called; when the output has fallen below the low
 * mark, on_room() may produce more. That is all the flow control there is: a producer that waits
 * for on_room() coalesces by itself, so a slow peer never makes a queue grow.
 *
 * Callbacks never run inside a call of these functions, only from the loop. stream_close() may be
 * called from any callback; on_closed() is not called then. Whoever gets on_closed() calls
 * stream_close().
 */
#pragma once

#include "common/buf.h"

#include <ev.h>
#include <stdbool.h>

struct stream;

struct stream_ops {
	/* New bytes stand in `in`; consume what is whole. A negative errno ends the stream with
	 * on_closed(). */
	int (*on_input)(void *ctx, struct stream *stream, struct buf *in);
	/* All that the kernel had was given to on_input(): the moment to work on what it brought.
	 */
	void (*on_dry)(void *ctx, struct stream *stream);
	/* The output is below the low mark. Called once on start and whenever the mark is crossed
	 * downwards. */
	void (*on_room)(void *ctx, struct stream *stream);
	/* The peer closed (0) or the socket failed (negative errno). */
	void (*on_closed)(void *ctx, struct stream *stream, int err);
};

struct stream_limits {
	size_t in_max;   /* a peer that needs more than this at once is cut off with -EMSGSIZE */
	size_t out_high; /* above this stream_is_full() */
	size_t out_low;
	size_t out_max; /* ceiling of the output buffer; out_high plus the longest single message */
};

/* Takes fd, which is non-blocking. The ops are kept, not copied; the limits are copied. Never NULL. */
struct stream *stream_new(struct ev_loop *loop, int fd, const struct stream_limits *limits,
	const struct stream_ops *ops, void *ctx);
/* Stops and frees it; bytes not yet written are lost unless stream_flush_now() wrote them. */
void stream_close(struct stream *stream);

/* What is appended here is sent after stream_flush(). It may hold stream_limits.out_max bytes, and stays the stream's. */
struct buf *stream_out(struct stream *stream);
/* Has what stands in the output written as soon as the loop comes round. */
void stream_flush(struct stream *stream);
/* Writes what the socket takes without blocking: for last words before stream_close(). */
void stream_flush_now(struct stream *stream);
/* Whether the output is above out_high: then wait for on_room(). */
bool stream_is_full(const struct stream *stream);
/* Bytes read and written so far. */
uint64_t stream_received(const struct stream *stream);
uint64_t stream_sent(const struct stream *stream);
/* For asking about the peer; it stays the stream's. */
int stream_fd(const struct stream *stream);
