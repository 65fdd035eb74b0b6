// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/traffic_socket.h"

#include "common/admin_server.h"
#include "common/must.h"
#include "common/socket_watch.h"
#include "common/xalloc.h"

#include <stdlib.h>

enum { PIECE_LEN = 32 * 1024 };

struct traffic_socket {
	struct admin_server *server;
	struct traffic_counts *counts;
	struct socket_watch *watch; /* NULL: the kernel cannot report changes */
	char *path;
	void (*on_gone)(void *ctx, const char *path, bool is_inherited);
	void *ctx;
};

/* One answer. */
struct telling {
	struct traffic_counts *counts;
	size_t next;
};

static enum admin_turn produce(void *state, struct buf *out)
{
	struct telling *telling = state;
	while (telling->next < traffic_counts_number(telling->counts)) {
		if (buf_len(out) >= PIECE_LEN)
			return ADMIN_MORE;
		must(traffic_counts_print(telling->counts, telling->next++, out) == 0);
	}
	return ADMIN_END;
}

static void answer(void *ctx, const struct admin_request *request, struct admin_reply *reply)
{
	static const struct admin_producer producer = {produce, free};
	struct traffic_socket *socket = ctx;
	struct telling *telling = xcalloc(1, sizeof(*telling));
	telling->counts = socket->counts;
	admin_reply_stream(reply, 200, "text/plain", &producer, telling);
}

static void on_socket_gone(void *ctx)
{
	struct traffic_socket *socket = ctx;
	socket->on_gone(socket->ctx, socket->path, false);
}

struct traffic_socket *traffic_socket_new(struct ev_loop *loop, const char *path,
	struct traffic_counts *counts,
	void (*on_gone)(void *ctx, const char *path, bool is_inherited), void *ctx, int *ret_err)
{
	struct traffic_socket *socket = xcalloc(1, sizeof(*socket));
	socket->counts = counts;
	socket->path = xstrdup(path);
	socket->on_gone = on_gone;
	socket->ctx = ctx;
	socket->server = admin_server_new(loop, NULL, 0);
	admin_add_path(socket->server, "/v1/traffic", ADMIN_LOCAL, answer, socket);
	*ret_err = admin_listen_unix(socket->server, path);
	if (*ret_err == 0) {
		socket->watch = socket_watch_new(loop, path, on_socket_gone, socket);
		return socket;
	}
	traffic_socket_free(socket);
	return NULL;
}

void traffic_socket_free(struct traffic_socket *socket)
{
	if (socket == NULL)
		return;
	socket_watch_free(socket->watch);
	admin_server_free(socket->server);
	free(socket->path);
	free(socket);
}
