// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/access_socket.h"

#include "common/clock.h"
#include "common/files.h"
#include "common/stream.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/listener.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A worker of HAProxy; a reload makes another one. */
struct sender {
	TAILQ_ENTRY(sender) next;
	struct access_socket *socket;
	struct stream *stream;
	struct traffic_sender numbers;
	ev_timer pause;    /* until it is read again */
	uint64_t received; /* before this turn */
};

TAILQ_HEAD(sender_list, sender);

/* As many bytes as HAProxy sends at a time when it has more. */
enum { FULL_LEN = 16 * 1024 };

struct access_socket {
	struct ev_loop *loop;
	struct listener *listener;
	char *path;
	char *file;
	struct traffic_counts *counts;
	struct sender_list senders;
	struct buf wanted; /* empty between two calls */
};

static const struct stream_limits limits = {.in_max = ACCESS_SOCKET_LINE_MAX, .out_max = 1};

static const double short_pause_s = 0.005;
static const double long_pause_s = 1; /* the ring of HAProxy holds what comes meanwhile */

static void drop(struct sender *sender)
{
	TAILQ_REMOVE(&sender->socket->senders, sender, next);
	ev_timer_stop(sender->socket->loop, &sender->pause);
	stream_close(sender->stream);
	free(sender);
}

/* What the file does not take is lost: there is no room in memory. */
static void append(const struct access_socket *socket, struct str lines)
{
	if (lines.len == 0)
		return;
	int fd = open(socket->file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	while (lines.len != 0) {
		ssize_t done = write(fd, lines.p, lines.len);
		if (done <= 0)
			break;
		lines = str_skip(lines, (size_t)done);
	}
	close(fd);
}

/* Of one line, what is to be logged. Nothing of connections that ended before HAProxy knew what to do with them, most of which are TLS handshakes that
 * failed, also those by which the provider asks whether we listen. */
static struct str take_line(struct sender *sender, struct str line)
{
	struct traffic_counts *counts = sender->socket->counts;
	if (line.p[0] != ACCESS_SOCKET_ERROR_MARK)
		return traffic_counts_take(counts, &sender->numbers, line, true);
	const char *blank = str_find(line, ' ');
	struct str rest = str_skip(line, blank != NULL ? (size_t)(blank - line.p) + 1 : line.len);
	bool is_request = str_starts_with(str_skip(line, 1), STR("0 "));
	struct str left = traffic_counts_take(counts, &sender->numbers, rest, is_request);
	return is_request ? left : STR_NONE;
}

static void take_lines(struct sender *sender, struct str lines)
{
	struct access_socket *socket = sender->socket;
	struct timespec now = clock_wall();
	traffic_counts_set_time(socket->counts, now.tv_sec * 1000 + now.tv_nsec / 1000000);
	while (lines.len != 0) {
		size_t len = (size_t)(str_find(lines, '\n') - lines.p) + 1;
		/* No longer than what came. */
		must(buf_append_str(
			     &socket->wanted, take_line(sender, (struct str){lines.p, len})) == 0);
		lines = str_skip(lines, len);
	}
	append(socket, buf_str(&socket->wanted));
	buf_clear(&socket->wanted);
}

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct sender *sender = ctx;
	struct str lines = buf_str(in);
	const char *end = lines.len != 0 ? memrchr(lines.p, '\n', lines.len) : NULL;
	if (end == NULL)
		return 0;
	lines.len = (size_t)(end - lines.p) + 1;
	take_lines(sender, lines);
	buf_consume(in, lines.len);
	return 0;
}

/* Until HAProxy has sent what it had, then for long: it has been told of room by what was read. */
static void on_dry(void *ctx, struct stream *stream)
{
	struct sender *sender = ctx;
	uint64_t received = stream_received(stream);
	bool has_more = received - sender->received >= FULL_LEN;
	stream_set_reading(stream, false);
	sender->received = received;
	ev_timer_stop(sender->socket->loop, &sender->pause);
	ev_timer_set(&sender->pause, has_more ? short_pause_s : long_pause_s, 0);
	ev_timer_start(sender->socket->loop, &sender->pause);
}

static void on_pause_end(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct sender *sender = timer->data;
	stream_set_reading(sender->stream, true);
}

static void on_room(void *ctx, struct stream *stream)
{
}

static void on_closed(void *ctx, struct stream *stream, int err)
{
	drop(ctx);
}

static const char *take(void *ctx, int fd)
{
	static const struct stream_ops ops = {
		.on_input = on_input,
		.on_dry = on_dry,
		.on_room = on_room,
		.on_closed = on_closed,
	};
	struct access_socket *socket = ctx;
	struct sender *sender = xcalloc(1, sizeof(*sender));
	sender->socket = socket;
	sender->stream = stream_new(socket->loop, fd, &limits, &ops, sender);
	ev_timer_init(&sender->pause, on_pause_end, 0, 0);
	sender->pause.data = sender;
	TAILQ_INSERT_TAIL(&socket->senders, sender, next);
	return NULL;
}

struct access_socket *access_socket_new(struct ev_loop *loop, const char *path, const char *file,
	struct traffic_counts *counts, int *ret_err)
{
	struct access_socket *socket = xcalloc(1, sizeof(*socket));
	socket->loop = loop;
	socket->path = xstrdup(path);
	socket->file = xstrdup(file);
	socket->counts = counts;
	TAILQ_INIT(&socket->senders);
	buf_init(&socket->wanted, ACCESS_SOCKET_LINE_MAX);
	struct listener_config config = {
		.loop = loop,
		.path = path,
		.socket_name = "access.sock",
		.peer = "HAProxy",
		.take = take,
		.ctx = socket,
	};
	socket->listener = listener_new(&config, ret_err);
	if (socket->listener != NULL)
		return socket;
	access_socket_free(socket);
	return NULL;
}

void access_socket_free(struct access_socket *socket)
{
	struct sender *sender;
	if (socket == NULL)
		return;
	while ((sender = TAILQ_FIRST(&socket->senders)) != NULL) {
		if (stream_read_now(sender->stream))
			drop(sender);
	}
	if (socket->listener != NULL) {
		listener_free(socket->listener);
		(void)files_remove(socket->path);
	}
	buf_fini(&socket->wanted);
	free(socket->path);
	free(socket->file);
	free(socket);
}
