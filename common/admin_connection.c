// SPDX-License-Identifier: Apache-2.0
#include "common/admin_connection.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/stream.h"
#include "common/admin_http.h"
#include "common/xalloc.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

enum state { READING, ANSWERING, WAITING, CLOSING, LINGERING };

enum {
	HEAD_ROOM_LEN =
		1024 +
		ADMIN_HEADERS_LEN_MAX, /* for the head of a response, or the framing of a chunk */
	/* A peer that sends requests without reading responses is disconnected at this many unread bytes. */
	UNREAD_LEN_MAX = 64 * 1024,
	/* Produced in one turn of the loop. */
	TURN_LEN = 64 * 1024,
	CHUNK_SIZE_DIGITS = 6,
};

struct admin_reply {
	struct ev_loop *loop;
	struct stream *stream;
	const struct admin_connection_ops *ops;
	void *ctx;
	bool is_local;
	enum state state;
	bool is_answered; /* the current request */
	double waits_since;
	ev_timer deadline;
	ev_timer waker; /* never started, only fed to the loop */
	const struct admin_producer *producer;
	void *producer_state;
	void (*on_gone)(void *state); /* of a deferred response; NULL: none */
	void *gone_state;
	bool is_waiting; /* produce() had nothing */
	bool is_chunked;
	uint64_t put;   /* bytes given to the stream for a streamed response */
	uint64_t taken; /* of those, written when the deadline was last checked */
	struct admin_head head;
};

/* ---- ending ---- */

static void release(struct admin_reply *c)
{
	const struct admin_producer *producer = c->producer;
	c->producer = NULL;
	ev_clear_pending(c->loop, &c->waker);
	if (producer != NULL)
		producer->release(c->producer_state);
	if (c->on_gone != NULL)
		c->on_gone(c->gone_state);
	c->on_gone = NULL;
}

void admin_connection_free(struct admin_reply *c)
{
	if (c == NULL)
		return;
	release(c);
	ev_timer_stop(c->loop, &c->deadline);
	stream_close(c->stream);
	free(c);
}

static void end(struct admin_reply *c)
{
	c->ops->on_gone(c->ctx, c);
	admin_connection_free(c);
}

static void set_deadline(struct admin_reply *c, double after_s)
{
	c->deadline.repeat = after_s;
	ev_timer_again(c->loop, &c->deadline);
}

/* Closing at once, with unread input, would make the kernel discard what the peer has not read yet. */
static void linger(struct admin_reply *c)
{
	c->state = LINGERING;
	(void)shutdown(stream_fd(c->stream), SHUT_WR);
	set_deadline(c, ADMIN_LINGER_S);
}

static void close_when_written(struct admin_reply *c)
{
	c->state = CLOSING;
	set_deadline(c, ADMIN_STALL_S);
	stream_flush_now(c->stream);
	if (buf_len(stream_out(c->stream)) == 0)
		linger(c);
	else
		stream_flush(c->stream);
}

/* ---- responses ---- */

static int print_head(struct admin_reply *c, int status, const char *content_type, int64_t length)
{
	struct admin_answer_head head = {
		.status = status,
		.content_type = content_type,
		.length = length,
		.closes = !c->head.keeps_alive,
		.now = (time_t)clock_wall_s(),
		.more = c->ops->headers,
	};
	return admin_print_head(stream_out(c->stream), &head);
}

void admin_reply_bytes(
	struct admin_reply *reply, int status, const char *content_type, struct str body)
{
	must(!reply->is_answered);
	if (body.len > ADMIN_WHOLE_LEN_MAX) {
		status = 500;
		content_type = "text/plain; charset=utf-8";
		body = STR("the answer is too long\n");
	}
	reply->is_answered = true;
	/* There is room: see UNREAD_LEN_MAX. */
	int err = print_head(reply, status, content_type, (int64_t)body.len);
	if (err == 0 && !admin_head_is_head(&reply->head))
		err = buf_append_str(stream_out(reply->stream), body);
	must(err == 0);
	stream_flush_now(reply->stream);
	stream_flush(reply->stream);
	if (reply->state == WAITING) {
		reply->on_gone = NULL;
		close_when_written(reply);
	}
}

void admin_reply_later(struct admin_reply *reply, void (*on_gone)(void *state), void *state)
{
	must(!reply->is_answered && reply->state == READING);
	reply->state = WAITING;
	reply->head.keeps_alive = false;
	reply->on_gone = on_gone;
	reply->gone_state = state;
	ev_timer_stop(reply->loop, &reply->deadline);
}

void admin_reply_text(struct admin_reply *reply, int status, const char *format, ...)
{
	char *text = NULL;
	va_list args;
	va_start(args, format);
	int len = vasprintf(&text, format, args);
	va_end(args);
	must(len >= 0);
	admin_reply_bytes(
		reply, status, "text/plain; charset=utf-8", (struct str){text, (size_t)len});
	free(text);
}

void admin_reply_stream(struct admin_reply *reply, int status, const char *content_type,
	const struct admin_producer *producer, void *state)
{
	bool was_put_off = reply->state == WAITING;
	must(!reply->is_answered);
	reply->is_answered = true;
	reply->on_gone = NULL;
	reply->is_chunked = !admin_head_is_http_1_0(&reply->head);
	reply->head.keeps_alive = false;
	must(print_head(reply, status, content_type,
		     reply->is_chunked ? ADMIN_LENGTH_CHUNKED : ADMIN_LENGTH_CLOSE) == 0);
	if (admin_head_is_head(&reply->head)) {
		producer->release(state);
		if (was_put_off)
			close_when_written(reply);
		return;
	}
	reply->state = ANSWERING;
	reply->producer = producer;
	reply->producer_state = state;
	set_deadline(reply, ADMIN_STALL_S);
	admin_reply_wake(reply);
}

void admin_reply_wake(struct admin_reply *reply)
{
	ev_feed_event(reply->loop, &reply->waker, EV_CUSTOM);
}

/* Appends one piece; a chunk's size is filled in afterwards. */
static enum admin_turn produce_piece(struct admin_reply *c)
{
	static const char blank[] = "000000\r\n";
	struct buf *out = stream_out(c->stream);
	size_t before = buf_len(out);
	if (c->is_chunked)
		must(buf_append(out, blank, sizeof(blank) - 1) == 0);
	size_t start = buf_len(out);
	enum admin_turn turn = c->producer->produce(c->producer_state, out);
	size_t len = buf_len(out) - start;
	must(len <= ADMIN_PIECE_LEN_MAX && (turn != ADMIN_MORE || len != 0));
	if (len == 0) {
		buf_cut(out, before);
	} else if (c->is_chunked) {
		char size[CHUNK_SIZE_DIGITS + 1];
		snprintf(size, sizeof(size), "%06x", (unsigned)len);
		memcpy(out->data + out->start + before, size, CHUNK_SIZE_DIGITS);
		must(buf_append(out, "\r\n", 2) == 0);
	}
	c->put += buf_len(out) - before;
	return turn;
}

/* Produces enough for this turn of the loop. */
static void produce(struct admin_reply *c)
{
	enum admin_turn turn = ADMIN_MORE;
	while (turn == ADMIN_MORE && buf_len(stream_out(c->stream)) < TURN_LEN)
		turn = produce_piece(c);
	c->is_waiting = turn == ADMIN_WAIT;
	if (turn != ADMIN_END) {
		stream_flush(c->stream);
		return;
	}
	release(c);
	if (c->is_chunked)
		must(buf_append_str(stream_out(c->stream), STR("0\r\n\r\n")) == 0);
	close_when_written(c);
}

static void on_wake(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct admin_reply *c = timer->data;
	/* While something is still to be written, what follows is asked for when it is. */
	c->is_waiting = false;
	if (c->producer != NULL && buf_len(stream_out(c->stream)) < TURN_LEN)
		produce(c);
}

/* ---- requests ---- */

static void refuse(struct admin_reply *c, int status, const char *problem)
{
	c->head.keeps_alive = false;
	c->is_answered = false;
	admin_reply_text(c, status, "%s\n", problem);
	close_when_written(c);
}

static void begin_reading(struct admin_reply *c)
{
	c->state = READING;
	admin_head_init(&c->head);
	c->waits_since = clock_monotonic_s();
	set_deadline(c, ADMIN_IDLE_S);
}

static void handle(struct admin_reply *c)
{
	struct admin_request request;
	admin_head_request(&c->head, &request);
	request.is_local = c->is_local;
	c->is_answered = false;
	c->ops->on_request(c->ctx, &request, c);
	must(c->is_answered || c->state == WAITING);
	if (c->state != READING)
		return;
	if (c->head.keeps_alive)
		begin_reading(c);
	else
		close_when_written(c);
}

static void read_head(struct admin_reply *c, struct buf *in)
{
	size_t used = 0;
	bool is_begun = c->head.len != 0;
	if (buf_len(stream_out(c->stream)) > UNREAD_LEN_MAX) {
		/* The peer does not read: nothing is sent. */
		buf_clear(in);
		linger(c);
		return;
	}
	enum admin_head_outcome outcome = admin_head_feed(&c->head, buf_str(in), &used);
	if (outcome == ADMIN_HEAD_BAD) {
		refuse(c, c->head.status, c->head.problem);
		return;
	}
	buf_consume(in, used);
	if (outcome == ADMIN_HEAD_READY)
		handle(c);
	else if (!is_begun)
		set_deadline(c, ADMIN_HEAD_S);
}

/* ---- the stream ---- */

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct admin_reply *c = ctx;
	while (c->state == READING && buf_len(in) != 0)
		read_head(c, in);
	/* The connection ends with the current response. */
	if (c->state != READING)
		buf_clear(in);
	return 0;
}

static void on_dry(void *ctx, struct stream *stream)
{
}

/* Everything is written: see the limits in admin_connection_new(). */
static void on_room(void *ctx, struct stream *stream)
{
	struct admin_reply *c = ctx;
	if (c->state == CLOSING)
		linger(c);
	else if (c->producer != NULL && !c->is_waiting)
		produce(c);
}

static void on_closed(void *ctx, struct stream *stream, int err)
{
	end(ctx);
}

static const struct stream_ops stream_ops = {on_input, on_dry, on_room, on_closed};

/* Whether the peer has read something since the last call, or there was nothing to read. */
static bool is_moving(struct admin_reply *c)
{
	uint64_t waiting = buf_len(stream_out(c->stream));
	uint64_t taken = c->put - (waiting < c->put ? waiting : c->put);
	bool moves = waiting == 0 || taken != c->taken;
	c->taken = taken;
	return moves;
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct admin_reply *c = timer->data;
	if (c->state == ANSWERING && is_moving(c))
		return;
	if (c->state == READING && c->head.len != 0)
		refuse(c, 408, "the request did not arrive in time");
	else
		end(c);
}

/* ---- lifecycle ---- */

struct admin_reply *admin_connection_new(struct ev_loop *loop, int fd, bool is_local,
	const struct admin_connection_ops *ops, void *ctx)
{
	/* With marks of zero, on_room() means that everything is written. */
	static const struct stream_limits limits = {
		.in_max = ADMIN_HEAD_LEN_MAX,
		.out_high = 0,
		.out_low = 0,
		.out_max = UNREAD_LEN_MAX + ADMIN_WHOLE_LEN_MAX + HEAD_ROOM_LEN,
	};
	_Static_assert(TURN_LEN + ADMIN_PIECE_LEN_MAX <= UNREAD_LEN_MAX + ADMIN_WHOLE_LEN_MAX,
		"a piece must fit");
	_Static_assert(ADMIN_PIECE_LEN_MAX < 1 << (4 * CHUNK_SIZE_DIGITS), "its size must fit");
	struct admin_reply *c = xcalloc(1, sizeof(*c));
	c->loop = loop;
	c->ops = ops;
	c->ctx = ctx;
	c->is_local = is_local;
	ev_init(&c->deadline, on_deadline);
	ev_init(&c->waker, on_wake);
	c->deadline.data = c->waker.data = c;
	c->stream = stream_new(loop, fd, &limits, &stream_ops, c);
	begin_reading(c);
	return c;
}

double admin_connection_waits_since(const struct admin_reply *c)
{
	return c->producer == NULL && c->state != WAITING ? c->waits_since : -1;
}
