// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/password_socket.h"

#include "common/files.h"
#include "common/stream.h"
#include "common/xalloc.h"
#include "proto/listener.h"
#include "provider-supervisor/password.h"
#include "provider-supervisor/password_threads.h"

#include <bsd/sys/queue.h>
#include <errno.h>

enum {
	LIST_LEN_MAX = 64,
	QUESTION_LEN_MAX = LIST_LEN_MAX + 2 * PASSWORD_HASH_LEN_MAX + 2 * PASSWORD_LEN_MAX + 3,
};

struct asker {
	TAILQ_ENTRY(asker) next;
	struct password_socket *socket;
	struct stream *stream;
	struct password_job *job; /* NULL: nothing was asked yet, or it is answered */
	bool has_asked;
};

TAILQ_HEAD(asker_list, asker);

struct password_socket {
	struct ev_loop *loop;
	struct listener *listener;
	char *path;
	struct password_threads *threads;
	struct asker_list askers;
	size_t count;
};

static const struct stream_limits limits = {.in_max = QUESTION_LEN_MAX, .out_max = 16};

static void drop(struct asker *asker)
{
	if (asker->job != NULL)
		password_job_forget(asker->job);
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

static void on_answer(void *ctx, bool fits)
{
	struct asker *asker = ctx;
	asker->job = NULL;
	answer(asker, fits ? STR("yes\n") : STR("no\n"));
}

static int value_of(char digit)
{
	return digit >= '0' && digit <= '9'   ? digit - '0'
	       : digit >= 'A' && digit <= 'F' ? digit - 'A' + 10
					      : -1;
}

/* `out` holds at least half of the text. False: it is none. */
static bool decode(struct str text, size_t len_max, char *out, struct str *ret_bytes)
{
	if (text.len % 2 != 0 || text.len / 2 > len_max)
		return false;
	for (size_t i = 0; i < text.len; i += 2) {
		int high = value_of(text.p[i]);
		int low = value_of(text.p[i + 1]);
		if (high < 0 || low < 0)
			return false;
		out[i / 2] = (char)(high << 4 | low);
	}
	*ret_bytes = (struct str){out, text.len / 2};
	return true;
}

static struct str next_word(struct str *line)
{
	const char *end = str_find(*line, ' ');
	struct str word = {line->p, end != NULL ? (size_t)(end - line->p) : line->len};
	*line = str_skip(*line, end != NULL ? word.len + 1 : word.len);
	return word;
}

static int take_question(struct asker *asker, struct str line)
{
	char hash[PASSWORD_HASH_LEN_MAX];
	char password[PASSWORD_LEN_MAX];
	struct password_question question = {.list = next_word(&line)};
	struct str hash_digits = next_word(&line);
	bool is_good = question.list.len != 0 && question.list.len <= LIST_LEN_MAX &&
		       hash_digits.len != 0 &&
		       decode(hash_digits, PASSWORD_HASH_LEN_MAX, hash, &question.hash) &&
		       decode(line, PASSWORD_LEN_MAX, password, &question.password);
	if (is_good) {
		asker->job =
			password_threads_ask(asker->socket->threads, &question, on_answer, asker);
		if (asker->job == NULL)
			answer(asker, STR("busy\n"));
	}
	explicit_bzero(password, sizeof(password));
	return is_good ? 0 : -EBADMSG;
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
	struct password_socket *socket = ctx;
	if (socket->count >= PASSWORD_SOCKET_ASKERS_MAX)
		return "too many are connected";
	struct asker *asker = xcalloc(1, sizeof(*asker));
	asker->socket = socket;
	asker->stream = stream_new(socket->loop, fd, &limits, &ops, asker);
	TAILQ_INSERT_TAIL(&socket->askers, asker, next);
	socket->count++;
	return NULL;
}

struct password_socket *password_socket_new(struct ev_loop *loop, const char *path, int *ret_err)
{
	struct password_socket *socket = xcalloc(1, sizeof(*socket));
	socket->loop = loop;
	socket->path = xstrdup(path);
	socket->threads = password_threads_new(loop);
	TAILQ_INIT(&socket->askers);
	struct listener_config config = {
		.loop = loop,
		.path = path,
		.socket_name = "passwords.sock",
		.peer = "HAProxy",
		.take = take,
		.ctx = socket,
	};
	socket->listener = listener_new(&config, ret_err);
	if (socket->listener != NULL)
		return socket;
	password_socket_free(socket);
	return NULL;
}

void password_socket_free(struct password_socket *socket)
{
	struct asker *asker;
	if (socket == NULL)
		return;
	while ((asker = TAILQ_FIRST(&socket->askers)) != NULL)
		drop(asker);
	if (socket->listener != NULL) {
		listener_free(socket->listener);
		(void)files_remove(socket->path);
	}
	password_threads_free(socket->threads);
	free(socket->path);
	free(socket);
}
