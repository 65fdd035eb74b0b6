// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/proxy_socket.h"

#include "common/files.h"
#include "common/xalloc.h"
#include "proto/listener.h"

#include <bsd/sys/queue.h>
#include <stddef.h>
#include <stdlib.h>

struct proxy_peer {
	TAILQ_ENTRY(proxy_peer) next;
	struct proxy_socket *socket;
	struct stream *stream;
	ev_timer pause;    /* until it is read again */
	uint64_t received; /* before this turn */
	max_align_t state[];
};

TAILQ_HEAD(peer_list, proxy_peer);

struct proxy_socket {
	struct proxy_socket_config config;
	struct listener *listener;
	char *path;
	struct peer_list peers;
	size_t count;
};

/* As many bytes as HAProxy sends at a time when it has more. */
enum { FULL_LEN = 16 * 1024 };

static const double short_pause_s = 0.005;
static const double long_pause_s = 1;

static void drop(struct proxy_peer *peer)
{
	struct proxy_socket *socket = peer->socket;
	ev_timer_stop(socket->config.loop, &peer->pause);
	if (socket->config.on_gone != NULL)
		socket->config.on_gone(peer->state);
	TAILQ_REMOVE(&socket->peers, peer, next);
	socket->count--;
	stream_close(peer->stream);
	free(peer);
}

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct proxy_peer *peer = ctx;
	return peer->socket->config.on_input(peer->socket->config.ctx, peer, in);
}

/* Until HAProxy has sent what it had, then for long: it has been told of room by what was read. */
static void on_dry(void *ctx, struct stream *stream)
{
	struct proxy_peer *peer = ctx;
	struct ev_loop *loop = peer->socket->config.loop;
	uint64_t received = stream_received(stream);
	bool has_more = received - peer->received >= FULL_LEN;
	peer->received = received;
	if (!peer->socket->config.is_read_in_turns)
		return;
	stream_set_reading(stream, false);
	ev_timer_stop(loop, &peer->pause);
	ev_timer_set(&peer->pause, has_more ? short_pause_s : long_pause_s, 0);
	ev_timer_start(loop, &peer->pause);
}

static void on_pause_end(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct proxy_peer *peer = timer->data;
	stream_set_reading(peer->stream, true);
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
	struct proxy_socket *socket = ctx;
	const struct proxy_socket_config *config = &socket->config;
	if (socket->count >= config->peers_max)
		return "too many are connected";
	struct proxy_peer *peer = xcalloc(1, sizeof(*peer) + config->state_size);
	peer->socket = socket;
	peer->stream = stream_new(config->loop, fd, &config->limits, &ops, peer);
	ev_timer_init(&peer->pause, on_pause_end, 0, 0);
	peer->pause.data = peer;
	TAILQ_INSERT_TAIL(&socket->peers, peer, next);
	socket->count++;
	return NULL;
}

struct proxy_socket *proxy_socket_new(const struct proxy_socket_config *config, int *ret_err)
{
	struct proxy_socket *socket = xcalloc(1, sizeof(*socket));
	socket->config = *config;
	socket->path = xstrdup(config->path);
	TAILQ_INIT(&socket->peers);
	struct listener_config listener = {
		.loop = config->loop,
		.path = socket->path,
		.socket_name = config->socket_name,
		.peer = "HAProxy",
		.take = take,
		.ctx = socket,
	};
	socket->listener = listener_new(&listener, ret_err);
	if (socket->listener != NULL)
		return socket;
	proxy_socket_free(socket);
	return NULL;
}

void proxy_socket_free(struct proxy_socket *socket)
{
	struct proxy_peer *peer;
	if (socket == NULL)
		return;
	while ((peer = TAILQ_FIRST(&socket->peers)) != NULL) {
		/* Otherwise it has dropped itself. */
		if (!socket->config.is_read_in_turns || stream_read_now(peer->stream))
			drop(peer);
	}
	if (socket->listener != NULL) {
		listener_free(socket->listener);
		(void)files_remove(socket->path);
	}
	free(socket->path);
	free(socket);
}

void *proxy_peer_state(struct proxy_peer *peer)
{
	return peer->state;
}

void proxy_peer_send(struct proxy_peer *peer, struct str line)
{
	(void)buf_append_str(stream_out(peer->stream), line);
	stream_flush_now(peer->stream);
}
