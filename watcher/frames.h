// SPDX-License-Identifier: Apache-2.0
/*
 * Lines out of a stream of bytes: the frames of a watch, one JSON document each, ended by a line
 * feed. A compact JSON document never holds a line feed. Only new bytes are searched, so a long
 * frame that comes in a thousand pieces costs what its bytes cost; a frame that lies in one piece
 * is handed on without being copied.
 */
#pragma once

#include "common/buf.h"

enum { FRAMES_LINE_MAX = 8 * 1024 * 1024 };

struct frames {
	struct buf part; /* the beginning of a line whose end has not come */
	bool is_secret;  /* wipe what was buffered */
};

void frames_init(struct frames *frames, size_t line_max, bool is_secret);
void frames_fini(struct frames *frames);

/* Calls on_line() for each line that ends in piece, without its line feed; empty lines are left
 * out. -EMSGSIZE when a line passes the limit, else what on_line() returned if that was not 0: the
 * rest of the piece is then dropped, and the frames must be cleared before more is fed. on_line()
 * may end the life of `frames` if it returns something else than 0. */
[[nodiscard]] int frames_feed(struct frames *frames, struct str piece,
	int (*on_line)(void *ctx, struct str line), void *ctx);
