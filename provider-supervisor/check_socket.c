// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/check_socket.h"

#include "common/stream.h"
#include "common/xalloc.h"
#include "proto/listener.h"
#include "proto/proxy_folder.h"
#include "provider-supervisor/check_threads.h"
#include "provider-supervisor/checks.h"

#include <bsd/sys/queue.h>
#include <errno.h>

struct asker {
	TAILQ_ENTRY(asker) next;
	struct check_socket *socket;
	struct stream *stream;
	struct check_job *job; /* NULL: nothing was asked yet, or it is answered */
	bool has_asked;
};

TAILQ_HEAD(asker_list, asker);

struct check_socket {
	struct ev_loop *loop;
	struct listener *listener;
	void (*on_gone)(void *ctx, const char *path, bool is_inherited);
	void *ctx;
	struct check_threads *threads;
	struct asker_list askers;
	size_t count;
};

static const struct stream_limits limits = {
	.in_max = CHECKS_QUESTION_LEN_MAX, .out_max = CHECK_ANSWER_LEN_MAX};

static void drop(struct asker *asker)
{
	if (asker->job != NULL)
		check_job_forget(asker->job);
	TAILQ_REMOVE(&asker->socket->askers, asker, next);
	asker->socket->count--;
	stream_close(asker->stream);
	free(asker);
}

/* ---- questions ---- */

static void answer(struct asker *asker, struct str line)
{
	(void)buf_append_str(stream_out(asker->stream), line);
	stream_flush_now(asker->stream);
}

static void on_answer(void *ctx, struct str line)
{
	struct asker *asker = ctx;
	asker->job = NULL;
	answer(asker, line);
}

static int take_question(struct asker *asker, struct str line)
{
	struct str list = checks_list_of(line);
	if (list.p == NULL)
		return -EBADMSG;
	asker->job = check_threads_ask(asker->socket->threads, list, line, on_answer, asker);
	if (asker->job == NULL)
		answer(asker, STR("busy\n"));
	return 0;
}

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct asker *asker = ctx;
	struct str text = buf_str(in);
	const char *end = text.len != 0 ? str_find(text, '\n') : NULL;
	if (end == NULL)
		return 0;
	/* More than one. */
	if (asker->has_asked || end + 1 != text.p + text.len)
		return -EBADMSG;
	asker->has_asked = true;
	int err = take_question(asker, (struct str){text.p, text.len - 1});
	explicit_bzero(in->data + in->start, text.len);
	buf_consume(in, text.len);
	return err;
}

static void on_quiet(void *ctx, struct stream *stream)
{
}

static void on_closed(void *ctx, struct stream *stream, int err)
{
	drop(ctx);
}

/* ---- connections ---- */

static const char *take(void *ctx, int fd)
{
	static const struct stream_ops ops = {
		.on_input = on_input,
		.on_dry = on_quiet,
		.on_room = on_quiet,
		.on_closed = on_closed,
	};
	struct check_socket *socket = ctx;
	if (socket->count >= CHECK_SOCKET_ASKERS_MAX)
		return "too many are connected";
	struct asker *asker = xcalloc(1, sizeof(*asker));
	asker->socket = socket;
	asker->stream = stream_new(socket->loop, fd, &limits, &ops, asker);
	TAILQ_INSERT_TAIL(&socket->askers, asker, next);
	socket->count++;
	return NULL;
}

static void on_socket_gone(void *ctx, const char *path, bool is_inherited)
{
	struct check_socket *socket = ctx;
	socket->on_gone(socket->ctx, path, is_inherited);
}

struct check_socket *check_socket_new(struct ev_loop *loop, const char *path,
	void (*on_gone)(void *ctx, const char *path, bool is_inherited), void *ctx, int *ret_err)
{
	struct check_socket *socket = xcalloc(1, sizeof(*socket));
	socket->loop = loop;
	socket->on_gone = on_gone;
	socket->ctx = ctx;
	socket->threads = check_threads_new(loop, checks_answer);
	TAILQ_INIT(&socket->askers);
	struct listener_config config = {
		.loop = loop,
		.path = path,
		.socket_name = CHECKS_SOCKET,
		.peer = "HAProxy",
		.take = take,
		.gone = on_socket_gone,
		.ctx = socket,
	};
	socket->listener = listener_new(&config, ret_err);
	if (socket->listener != NULL)
		return socket;
	check_socket_free(socket);
	return NULL;
}

void check_socket_free(struct check_socket *socket)
{
	struct asker *asker;
	if (socket == NULL)
		return;
	while ((asker = TAILQ_FIRST(&socket->askers)) != NULL)
		drop(asker);
	listener_remove(socket->listener);
	check_threads_free(socket->threads);
	free(socket);
}
