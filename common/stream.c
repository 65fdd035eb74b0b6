// SPDX-License-Identifier: Apache-2.0
#include "common/stream.h"

#include "common/xalloc.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	/* Of the first read, which mostly gets all there is: the buffer is kept for the next one. */
	READ_FIRST_LEN = 16 * 1024,
	READ_STEP_LEN = 64 * 1024,
	/* Bytes read from one socket before others get their turn. */
	READ_TURN_LEN = 1024 * 1024,
	/* Memory kept by an idle buffer. */
	KEEP_LEN = READ_FIRST_LEN,
};

struct stream {
	struct ev_loop *loop;
	ev_io reader;
	ev_io writer;
	ev_io pusher; /* never started: fed when something was appended */
	int fd;
	struct stream_limits limits;
	const struct stream_ops *ops;
	void *ctx;
	struct buf in;
	struct buf out;
	bool wants_room; /* the high mark has been exceeded since the last on_room() */
	bool is_in_room; /* on_room() is running */
	uint64_t received;
	uint64_t sent;
	bool *gone; /* set while a callback runs, which may close the stream */
};

static void stop(struct stream *s)
{
	ev_io_stop(s->loop, &s->reader);
	ev_io_stop(s->loop, &s->writer);
	ev_clear_pending(s->loop, &s->pusher);
}

static void run_on_closed(struct stream *s, int err)
{
	stop(s);
	s->ops->on_closed(s->ctx, s, err);
}

/* Reads once, so much at most. Positive: bytes read; 0: nothing available; negative: the stream has ended (-EPIPE: closed by
 * the peer). */
static ssize_t read_step(struct stream *s, size_t len)
{
	size_t room = s->limits.in_max - buf_len(&s->in);
	if (room > len)
		room = len;
	uint8_t *place = room != 0 ? buf_reserve(&s->in, room) : NULL;
	if (place == NULL)
		return -EMSGSIZE;
	ssize_t got = recv(s->fd, place, room, 0);
	if (got > 0) {
		buf_commit(&s->in, (size_t)got);
		s->received += (uint64_t)got;
		return got;
	}
	if (got == 0)
		return -EPIPE;
	return errno == EAGAIN || errno == EINTR ? 0 : -errno;
}

/* False: the stream has ended, and must not be used any more. */
static bool take_input(const ev_io *reader)
{
	struct stream *s = reader->data;
	bool gone = false;
	size_t total = 0;
	ssize_t got = 0;
	size_t step = READ_FIRST_LEN;
	s->gone = &gone;
	while (total < READ_TURN_LEN && (got = read_step(s, step)) > 0) {
		total += (size_t)got;
		int err = s->ops->on_input(s->ctx, s, &s->in);
		if (gone)
			return false;
		if (err < 0) {
			got = err;
			break;
		}
		/* A short read means that the kernel has no more: this saves the call that would confirm it. */
		if ((size_t)got < step)
			break;
		step = READ_STEP_LEN;
	}
	if (total != 0 && got >= 0) {
		if (buf_len(&s->in) == 0)
			buf_shrink(&s->in, KEEP_LEN);
		s->ops->on_dry(s->ctx, s);
	}
	if (gone)
		return false;
	s->gone = NULL;
	if (got < 0)
		run_on_closed(s, got == -EPIPE ? 0 : (int)got);
	return got >= 0;
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)take_input(watcher);
}

/* Writes what the socket accepts; 0 or a negative errno. */
static int write_some(struct stream *s)
{
	while (buf_len(&s->out) != 0) {
		ssize_t put = send(s->fd, buf_data(&s->out), buf_len(&s->out), MSG_NOSIGNAL);
		if (put < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		buf_consume(&s->out, (size_t)put);
		s->sent += (uint64_t)put;
	}
	return 0;
}

static void on_writable(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct stream *s = watcher->data;
	int err = write_some(s);
	if (err < 0) {
		/* The peer's last words may explain why it left. */
		if (take_input(&s->reader))
			run_on_closed(s, err);
		return;
	}
	if (s->wants_room && buf_len(&s->out) <= s->limits.out_low) {
		bool gone = false;
		s->wants_room = false;
		s->gone = &gone;
		s->is_in_room = true;
		s->ops->on_room(s->ctx, s);
		if (gone)
			return;
		s->gone = NULL;
		s->is_in_room = false;
	}
	if (buf_len(&s->out) == 0) {
		buf_shrink(&s->out, KEEP_LEN);
		ev_io_stop(loop, &s->writer);
	} else {
		ev_io_start(loop, &s->writer);
	}
}

/* At the end of this turn of the loop: nearly always the socket takes it, and asking the kernel first would cost three more calls. */
static void on_pushed(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct stream *s = watcher->data;
	if (!ev_is_active(&s->writer))
		on_writable(loop, &s->writer, EV_WRITE);
}

struct stream *stream_new(struct ev_loop *loop, int fd, const struct stream_limits *limits,
	const struct stream_ops *ops, void *ctx)
{
	struct stream *s = xcalloc(1, sizeof(*s));
	s->loop = loop;
	s->fd = fd;
	s->limits = *limits;
	s->ops = ops;
	s->ctx = ctx;
	s->wants_room = true;
	buf_init(&s->in, limits->in_max + READ_STEP_LEN);
	buf_init(&s->out, limits->out_max);
	ev_io_init(&s->reader, on_readable, fd, EV_READ);
	ev_io_init(&s->writer, on_writable, fd, EV_WRITE);
	ev_io_init(&s->pusher, on_pushed, fd, EV_WRITE);
	ev_set_priority(&s->pusher, EV_MINPRI);
	s->reader.data = s->writer.data = s->pusher.data = s;
	ev_io_start(loop, &s->reader);
	ev_io_start(loop, &s->writer);
	return s;
}

void stream_close(struct stream *s)
{
	if (s == NULL)
		return;
	if (s->gone != NULL)
		*s->gone = true;
	stop(s);
	close(s->fd);
	/* Frames may contain private keys. */
	buf_wipe_fini(&s->in);
	buf_wipe_fini(&s->out);
	free(s);
}

struct buf *stream_out(struct stream *s)
{
	return &s->out;
}

void stream_flush(struct stream *s)
{
	if (stream_is_full(s))
		s->wants_room = true;
	/* Whoever produces without end must let others have their turn. */
	if (s->is_in_room)
		ev_io_start(s->loop, &s->writer);
	else
		ev_feed_event(s->loop, &s->pusher, EV_WRITE);
}

void stream_flush_now(struct stream *s)
{
	/* A failure cannot be reported: the stream is being closed. */
	(void)write_some(s);
}

bool stream_is_full(const struct stream *s)
{
	return buf_len(&s->out) > s->limits.out_high;
}

uint64_t stream_received(const struct stream *s)
{
	return s->received;
}

uint64_t stream_sent(const struct stream *s)
{
	return s->sent;
}

int stream_fd(const struct stream *s)
{
	return s->fd;
}
