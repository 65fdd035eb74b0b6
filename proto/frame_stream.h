// SPDX-License-Identifier: Apache-2.0
/*
 * Frames on a pipe or in a file, for programs that run as filters: what is read meets the limits that it would meet on a link, and no more of it is
 * held than one frame. All calls block.
 */
#pragma once

#include "proto/frame.h"
#include "proto/message.h"

/* Opens the file, "-" being standard input or output. Negative errno. */
int frame_stream_open_input(const char *path);
int frame_stream_open_output(const char *path);
/* Unless it is a standard one. */
void frame_stream_close(int fd);

/* Reads up to the end. `on_message` is called with each message, of unknown ones too, in turn; not 0 ends it, for the reason in *ret_error. NULL, or what is wrong
 * (allocated): "NAME: frame 7: ...". */
char *frame_stream_read(int fd, const char *name,
	int (*on_message)(void *ctx, const struct message *message, struct schema_error *ret_error),
	void *ctx);

/* The first message of a stream, which has to be the hello of such a peer. -EPROTO or -EBADMSG with *ret_error. Texts live in the message or in the arena. */
[[nodiscard]] int frame_stream_take_hello(const struct message *message, enum peer_role role,
	struct arena *arena, struct hello *ret_hello, struct schema_error *ret_error);

/* Writes what stands in the buffer once it is so long (0: in any case), and empties it. Negative errno. */
[[nodiscard]] int frame_stream_write(int fd, struct buf *from, size_t len_min);

enum {
	/* A good length for the call above, and the room that a buffer needs so that any frame fits behind it. */
	FRAME_STREAM_WRITE_LEN = 64 * 1024,
	FRAME_STREAM_BUF_MAX = FRAME_STREAM_WRITE_LEN + FRAME_HEAD_LEN + FRAME_LEN_MAX,
};
