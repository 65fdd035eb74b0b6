// SPDX-License-Identifier: Apache-2.0
#include "proto/frame_stream.h"

#include "common/xalloc.h"
#include "proto/messages.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { READ_LEN = 64 * 1024 };

static bool is_standard(const char *path)
{
	return strcmp(path, "-") == 0;
}

int frame_stream_open_input(const char *path)
{
	int fd = is_standard(path) ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	return fd >= 0 ? fd : -errno;
}

int frame_stream_open_output(const char *path)
{
	int fd = is_standard(path) ? STDOUT_FILENO
				   : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	return fd >= 0 ? fd : -errno;
}

void frame_stream_close(int fd)
{
	if (fd > STDERR_FILENO)
		close(fd);
}

/* ---- reading ---- */

struct reading {
	const char *name;
	int (*on_message)(void *ctx, const struct message *message, struct schema_error *ret_error);
	void *ctx;
	struct message_reader *reader;
	struct buf in;
	size_t frame_count;
};

static char *complain(const struct reading *reading, const char *what)
{
	return xasprintf("%s: frame %zu: %s", reading->name, reading->frame_count + 1, what);
}

static char *take_message(struct reading *reading, struct str payload)
{
	struct schema_error error = {""};
	struct message message;
	int err = message_open(reading->reader, payload, &message, &error);
	if (err == 0)
		err = reading->on_message(reading->ctx, &message, &error);
	if (err == 0)
		return NULL;
	return complain(reading, error.text[0] != '\0' ? error.text : strerrordesc_np(-err));
}

static char *take_frames(struct reading *reading)
{
	struct str payload;
	for (;;) {
		char *problem = NULL;
		switch (frame_next(&reading->in, &payload)) {
		case FRAME_PARTIAL:
			return NULL;
		case FRAME_TOO_LONG:
			return complain(reading, "it is longer than a frame may be");
		case FRAME_EMPTY:
			return complain(reading, "it is empty");
		case FRAME_READY:
			problem = take_message(reading, payload);
			if (problem != NULL)
				return problem;
			buf_consume(&reading->in, frame_len_of(payload));
			reading->frame_count++;
		}
	}
}

static ssize_t read_some(int fd, struct buf *in)
{
	uint8_t *room = buf_reserve(in, READ_LEN);
	ssize_t got = -1;
	do {
		got = read(fd, room, READ_LEN);
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		buf_commit(in, (size_t)got);
	return got;
}

static char *read_all(int fd, struct reading *reading)
{
	for (;;) {
		ssize_t got = read_some(fd, &reading->in);
		if (got < 0)
			return xasprintf("%s: %s", reading->name, strerrordesc_np(errno));
		if (got == 0)
			break;
		char *problem = take_frames(reading);
		if (problem != NULL)
			return problem;
	}
	return buf_len(&reading->in) != 0 ? complain(reading, "it ends in the middle") : NULL;
}

char *frame_stream_read(int fd, const char *name,
	int (*on_message)(void *ctx, const struct message *message, struct schema_error *ret_error),
	void *ctx)
{
	struct reading reading = {.name = name, .on_message = on_message, .ctx = ctx};
	reading.reader = message_reader_new();
	/* An incomplete frame, and the next read. */
	buf_init(&reading.in, FRAME_HEAD_LEN + FRAME_LEN_MAX + READ_LEN);
	char *problem = read_all(fd, &reading);
	buf_wipe_fini(&reading.in);
	message_reader_free(reading.reader);
	return problem;
}

int frame_stream_take_hello(const struct message *message, enum peer_role role, struct arena *arena,
	struct hello *ret_hello, struct schema_error *ret_error)
{
	struct hello hello;
	if (message->type != MESSAGE_HELLO) {
		snprintf(ret_error->text, sizeof(ret_error->text), "the hello of a %s is expected",
			peer_role_words[role]);
		return -EPROTO;
	}
	int err = message_decode(message, arena, &hello, ret_error);
	if (err != 0)
		return err;
	if (hello.role != role) {
		snprintf(ret_error->text, sizeof(ret_error->text),
			"a %s is expected here, and this is a %s", peer_role_words[role],
			peer_role_words[hello.role]);
		return -EPROTO;
	}
	if (hello.version_min > PROTO_VERSION_MAX || hello.version_max < PROTO_VERSION_MIN) {
		snprintf(ret_error->text, sizeof(ret_error->text),
			"no common protocol version: run releases that are closer to each other");
		return -EPROTO;
	}
	*ret_hello = hello;
	return 0;
}

/* ---- writing ---- */

int frame_stream_write(int fd, struct buf *from, size_t len_min)
{
	if (buf_len(from) < len_min)
		return 0;
	while (buf_len(from) != 0) {
		ssize_t done = write(fd, buf_data(from), buf_len(from));
		if (done < 0 && errno != EINTR)
			return -errno;
		buf_consume(from, done > 0 ? (size_t)done : 0);
	}
	return 0;
}
