// SPDX-License-Identifier: Apache-2.0
/*
 * Frames on a pipe or in a file, for programs that run as filters: input is checked against the limits of a link, and at most one frame is held in
 * memory. All calls block.
 */
#pragma once

#include "proto/frame.h"
#include "proto/message.h"

/* Opens the file; "-" is standard input or output. Returns a descriptor or a negative errno. */
int frame_stream_open_input(const char *path);
int frame_stream_open_output(const char *path);
/* Leaves standard input and output open. */
void frame_stream_close(int fd);

/* Reads up to the end. `on_message` is called with each message in turn, also with unknown ones; any result but 0 ends the reading, for the reason in
 * *ret_error. NULL, or an error message (allocated): "NAME: frame 7: ...". */
char *frame_stream_read(int fd, const char *name,
	int (*on_message)(void *ctx, const struct message *message, struct schema_error *ret_error),
	void *ctx);

/* Decodes the first message of a stream, which must be the hello of a peer with this role. -EPROTO or -EBADMSG with *ret_error. Texts live in the
 * message or in the arena. */
[[nodiscard]] int frame_stream_take_hello(const struct message *message, enum peer_role role,
	struct arena *arena, struct hello *ret_hello, struct schema_error *ret_error);

/* Writes out the buffer and empties it if it holds at least len_min bytes (0: always). 0 or a negative
 * errno. */
[[nodiscard]] int frame_stream_write(int fd, struct buf *from, size_t len_min);

enum {
	/* A good len_min for the call above, and the capacity with which any frame still fits behind it. */
	FRAME_STREAM_WRITE_LEN = 64 * 1024,
	FRAME_STREAM_BUF_MAX = FRAME_STREAM_WRITE_LEN + FRAME_HEAD_LEN + FRAME_LEN_MAX,
};
