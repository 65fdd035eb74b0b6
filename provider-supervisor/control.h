// SPDX-License-Identifier: Apache-2.0
/*
 * The socket on which a provider sends commands and receives reports on the proxy: lines of words separated by tabs, described in README.md.
 * A client that connects is first sent everything that is known, so that it need not ask for the past. Only our own user and root may connect.
 */
#pragma once

#include "provider-supervisor/listeners.h"

#include <ev.h>

enum {
	CONTROL_CLIENTS_MAX = 8,
	CONTROL_COMMAND_LEN_MAX = 256,
	CONTROL_LINE_LEN_MAX = 8 * 1024,
	CONTROL_COMMAND_S =
		2, /* from the first byte of a command to its end; a provider writes it at once */
};

struct control;
struct client;

struct control_ops {
	void (*on_client)(void *ctx, struct client *client); /* to be greeted */
	/* `argument`: what follows the word; empty: nothing. */
	void (*on_command)(void *ctx, struct client *client, struct str word, struct str argument);
	/* It must not be answered any more. */
	void (*on_gone)(void *ctx, struct client *client);
	/* As `gone` of proto/listener.h: no client can connect any more. */
	void (*on_socket_gone)(void *ctx, const char *path, bool is_inherited);
};

/* NULL and a negative errno when the socket cannot be made. */
struct control *control_new(struct ev_loop *loop, const char *path, const struct control_ops *ops,
	void *ctx, int *ret_err);
void control_free(struct control *control);
/* Accepts no more clients, so that the next supervisor can take our place; those connected stay. */
void control_stop_listening(struct control *control);

bool control_has_clients(const struct control *control);
/* Sends a line to one client, or with NULL to all. One that reads too slowly is disconnected: it is sent everything when it reconnects. */
[[gnu::format(printf, 3, 4)]] void control_tell(
	struct control *control, struct client *client, const char *format, ...);
/* A line with the number of the listening sockets, and with them (SCM_RIGHTS); empty lines follow when there are too many for one message. */
void control_hand_over(struct client *client, const struct listeners *listeners);
/* Sends bytes after such a line. */
void control_tell_bytes(struct control *control, struct client *client, struct str bytes);
