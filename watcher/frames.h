// SPDX-License-Identifier: Apache-2.0
/*
 * Splits a stream of bytes into lines: the frames of a watch, one JSON document each, ended by a
 * line feed. A compact JSON document never contains one. Only new bytes are searched, so the cost
 * of a long frame does not depend on how many pieces it comes in; a frame that comes in one piece
 * is passed on without being copied.
 */
#pragma once

#include "common/buf.h"

enum { FRAMES_LINE_MAX = 8 * 1024 * 1024 };

struct frames {
	struct buf part; /* the beginning of a line whose end has not arrived */
	bool is_secret;  /* wipe what was buffered */
};

void frames_init(struct frames *frames, size_t line_max, bool is_secret);
void frames_fini(struct frames *frames);

/* Calls on_line() for each line that ends in piece, without its line feed; empty lines are skipped.
 * -EMSGSIZE when a line exceeds the limit, else what on_line() returned if that was not 0: the rest
 * of the piece is then dropped, and the frames must be cleared before more is fed. on_line() may
 * end the life of `frames` if it returns anything but 0. */
[[nodiscard]] int frames_feed(struct frames *frames, struct str piece,
	int (*on_line)(void *ctx, struct str line), void *ctx);
