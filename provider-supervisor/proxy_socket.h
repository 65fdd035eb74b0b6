// SPDX-License-Identifier: Apache-2.0
/*
 * A stream socket in the proxy's folder, for root and our own user, to which the proxy connects: who is connected, each with a state, until either side ends.
 */
#pragma once

#include "common/stream.h"

#include <ev.h>

struct proxy_socket;
struct proxy_peer; /* one connection */

struct proxy_socket_config {
	struct ev_loop *loop;
	const char *path;
	const char *socket_name; /* for the log */
	struct stream_limits limits;
	size_t peers_max;  /* connections; further ones are refused */
	size_t state_size; /* bytes that each peer has, zero at first */
	/* What it sends is read once a second, and what is there when the socket is freed: the peer has lines to wait in until then. It is told of room for much
	 * at a time then, and neither side is woken for each line. */
	bool is_read_in_turns;
	/* As stream.h has it. */
	int (*on_input)(void *ctx, struct proxy_peer *peer, struct buf *in);
	/* It has gone, or the socket is being freed; `state` is freed afterwards. */
	void (*on_gone)(void *state);
	void *ctx;
};

/* The config is copied, with `path`. NULL and a negative errno in *ret_err if the socket cannot be made. */
struct proxy_socket *proxy_socket_new(const struct proxy_socket_config *config, int *ret_err);
/* Closes all connections, and removes the file. */
void proxy_socket_free(struct proxy_socket *socket);

/* Of `state_size` bytes; it stays the peer's. */
void *proxy_peer_state(struct proxy_peer *peer);
/* Sends a line at once, as far as the peer takes it without waiting; what is longer than its limits is not sent. */
void proxy_peer_send(struct proxy_peer *peer, struct str line);
