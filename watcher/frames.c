// SPDX-License-Identifier: Apache-2.0
#include "watcher/frames.h"

#include <errno.h>

/* Memory that stays allocated between lines. */
enum { FRAMES_KEEP_LEN = 16 * 1024 };

void frames_init(struct frames *frames, size_t line_max, bool is_secret)
{
	buf_init(&frames->part, line_max);
	frames->is_secret = is_secret;
}

void frames_fini(struct frames *frames)
{
	if (frames->is_secret)
		buf_wipe_fini(&frames->part);
	else
		buf_fini(&frames->part);
}

static void clear(struct frames *frames)
{
	if (frames->is_secret)
		buf_wipe_fini(&frames->part);
	else
		buf_shrink(&frames->part, FRAMES_KEEP_LEN);
}

/* Completes a line whose beginning was buffered. */
static int end_part(struct frames *frames, struct str end,
	int (*on_line)(void *ctx, struct str line), void *ctx)
{
	int err = buf_append_str(&frames->part, end);
	if (err != 0)
		return err;
	err = on_line(ctx, buf_str(&frames->part));
	if (err == 0)
		clear(frames);
	return err;
}

int frames_feed(struct frames *frames, struct str piece, int (*on_line)(void *ctx, struct str line),
	void *ctx)
{
	while (piece.len != 0) {
		const char *end = str_find(piece, '\n');
		if (end == NULL)
			return buf_append_str(&frames->part, piece);
		struct str line = {piece.p, (size_t)(end - piece.p)};
		int err = 0;
		if (buf_len(&frames->part) != 0)
			err = end_part(frames, line, on_line, ctx);
		else if (line.len > frames->part.max)
			err = -EMSGSIZE;
		else if (line.len != 0)
			err = on_line(ctx, line);
		if (err != 0)
			return err;
		piece = str_skip(piece, line.len + 1);
	}
	return 0;
}
