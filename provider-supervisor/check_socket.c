// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/check_socket.h"

#include "common/xalloc.h"
#include "provider-supervisor/check_threads.h"
#include "provider-supervisor/checks.h"
#include "provider-supervisor/proxy_socket.h"

#include <errno.h>
#include <stdlib.h>

/* The state of a connection. */
struct asker {
	struct check_job *job; /* NULL: nothing was asked yet, or it is answered */
	bool has_asked;
};

struct check_socket {
	struct proxy_socket *socket;
	struct check_threads *threads;
};

static void on_answer(void *ctx, struct str line)
{
	struct proxy_peer *peer = ctx;
	struct asker *asker = proxy_peer_state(peer);
	asker->job = NULL;
	proxy_peer_send(peer, line);
}

static int take_question(struct check_socket *socket, struct proxy_peer *peer, struct str line)
{
	struct asker *asker = proxy_peer_state(peer);
	struct str list = checks_list_of(line);
	if (list.p == NULL)
		return -EBADMSG;
	asker->job = check_threads_ask(socket->threads, list, line, on_answer, peer);
	if (asker->job == NULL)
		proxy_peer_send(peer, STR("busy\n"));
	return 0;
}

static int on_input(void *ctx, struct proxy_peer *peer, struct buf *in)
{
	struct asker *asker = proxy_peer_state(peer);
	struct str text = buf_str(in);
	const char *end = text.len != 0 ? str_find(text, '\n') : NULL;
	if (end == NULL)
		return 0;
	/* More than one. */
	if (asker->has_asked || end + 1 != text.p + text.len)
		return -EBADMSG;
	asker->has_asked = true;
	int err = take_question(ctx, peer, (struct str){text.p, text.len - 1});
	explicit_bzero(in->data + in->start, text.len);
	buf_consume(in, text.len);
	return err;
}

static void on_gone(void *state)
{
	struct asker *asker = state;
	if (asker->job != NULL)
		check_job_forget(asker->job);
}

struct check_socket *check_socket_new(struct ev_loop *loop, const char *path, int *ret_err)
{
	struct check_socket *socket = xcalloc(1, sizeof(*socket));
	struct proxy_socket_config config = {
		.loop = loop,
		.path = path,
		.socket_name = "checks.sock",
		.limits = {.in_max = CHECKS_QUESTION_LEN_MAX, .out_max = CHECK_ANSWER_LEN_MAX},
		.peers_max = CHECK_SOCKET_ASKERS_MAX,
		.state_size = sizeof(struct asker),
		.on_input = on_input,
		.on_gone = on_gone,
		.ctx = socket,
	};
	socket->threads = check_threads_new(loop, checks_answer);
	socket->socket = proxy_socket_new(&config, ret_err);
	if (socket->socket != NULL)
		return socket;
	check_socket_free(socket);
	return NULL;
}

void check_socket_free(struct check_socket *socket)
{
	if (socket == NULL)
		return;
	proxy_socket_free(socket->socket);
	check_threads_free(socket->threads);
	free(socket);
}
