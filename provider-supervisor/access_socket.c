// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/access_socket.h"

#include "common/files.h"
#include "common/stream.h"
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
};

TAILQ_HEAD(sender_list, sender);

struct access_socket {
	struct ev_loop *loop;
	struct listener *listener;
	char *path;
	char *file;
	struct sender_list senders;
};

static const struct stream_limits limits = {.in_max = ACCESS_SOCKET_LINE_MAX, .out_max = 1};

static void drop(struct sender *sender)
{
	TAILQ_REMOVE(&sender->socket->senders, sender, next);
	stream_close(sender->stream);
	free(sender);
}

/* What the file does not take is lost: there is no room in memory. */
static void append(const struct access_socket *socket, struct str lines)
{
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

/* Without the connections that ended before HAProxy knew what to do with them, most of which are TLS handshakes that failed, also those by which the
 * provider asks whether we listen. */
static void append_wanted(const struct access_socket *socket, struct str lines)
{
	while (lines.len != 0) {
		size_t len = (size_t)(str_find(lines, '\n') - lines.p) + 1;
		struct str line = {lines.p, len};
		if (lines.p[0] != ACCESS_SOCKET_ERROR_MARK)
			append(socket, line);
		else if (str_starts_with(str_skip(line, 1), STR("0 ")))
			append(socket, str_skip(line, 3));
		lines = str_skip(lines, len);
	}
}

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct sender *sender = ctx;
	struct str lines = buf_str(in);
	const char *end = lines.len != 0 ? memrchr(lines.p, '\n', lines.len) : NULL;
	if (end == NULL)
		return 0;
	lines.len = (size_t)(end - lines.p) + 1;
	if (memchr(lines.p, ACCESS_SOCKET_ERROR_MARK, lines.len) == NULL)
		append(sender->socket, lines);
	else
		append_wanted(sender->socket, lines);
	buf_consume(in, lines.len);
	return 0;
}

static void on_quiet(void *ctx, struct stream *stream)
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
		.on_dry = on_quiet,
		.on_room = on_quiet,
		.on_closed = on_closed,
	};
	struct access_socket *socket = ctx;
	struct sender *sender = xcalloc(1, sizeof(*sender));
	sender->socket = socket;
	sender->stream = stream_new(socket->loop, fd, &limits, &ops, sender);
	TAILQ_INSERT_TAIL(&socket->senders, sender, next);
	return NULL;
}

struct access_socket *access_socket_new(
	struct ev_loop *loop, const char *path, const char *file, int *ret_err)
{
	struct access_socket *socket = xcalloc(1, sizeof(*socket));
	socket->loop = loop;
	socket->path = xstrdup(path);
	socket->file = xstrdup(file);
	TAILQ_INIT(&socket->senders);
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
	while ((sender = TAILQ_FIRST(&socket->senders)) != NULL)
		drop(sender);
	if (socket->listener != NULL) {
		listener_free(socket->listener);
		(void)files_remove(socket->path);
	}
	free(socket->path);
	free(socket->file);
	free(socket);
}
