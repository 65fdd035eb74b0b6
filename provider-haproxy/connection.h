// SPDX-License-Identifier: Apache-2.0
/*
 * The connection to HAProxy's socket, kept open, and what is known of the worker at its other end.
 *
 *   DOWN --connected--> GREETING --it has said what it is--> GREETED --snapshot there--> READING --compared--> READY
 */
#pragma once

#include "provider-haproxy/cli.h"

enum connection_state {
	CONNECTION_DOWN,
	CONNECTION_GREETING,
	CONNECTION_GREETED,
	CONNECTION_READING,
	CONNECTION_READY
};

struct connection;

struct connection_ops {
	/* 0, or a negative errno: nobody listens; it is tried again. */
	void (*on_connect)(void *ctx, int err);
	/* GREETED. `is_other`: by another worker than before. */
	void (*on_greeting)(void *ctx, bool is_other);
	/* More commands can be sent. */
	void (*on_room)(void *ctx);
};

struct connection *connection_new(
	struct ev_loop *loop, const struct connection_ops *ops, void *ctx);
void connection_free(struct connection *connection);
/* Where HAProxy may be found, from the next time on; takes ownership of both texts. `former` may be NULL. */
void connection_set_sockets(struct connection *connection, char *socket, char *former);
const char *connection_socket(const struct connection *connection);

/* Unless there is a connection. */
void connection_open(struct connection *connection);
void connection_close(struct connection *connection, const char *why);
/* HAProxy is not as was thought: everything is to be read back. */
void connection_reopen(struct connection *connection);
/* HAProxy runs anew, or was found. `is_fresh`: it has started from our files. */
void connection_restart(struct connection *connection, bool is_fresh);
/* HAProxy has ended. */
void connection_end(struct connection *connection);

enum connection_state connection_state(const struct connection *connection);
bool connection_is_ready(const struct connection *connection);
void connection_set_reading(struct connection *connection);
void connection_set_ready(struct connection *connection);
/* Of a connection; that of no other is the same. */
unsigned connection_number(const struct connection *connection);
/* NULL when it is DOWN. */
struct cli *connection_cli(const struct connection *connection);

/* The worker has started from our files and nobody has commanded it. */
bool connection_is_fresh(const struct connection *connection);
void connection_set_fresh(struct connection *connection);
/* Its pid; 0: it is not known, or has ended. */
long connection_worker(const struct connection *connection);
/* It has the tables in which we put rows; without a connection this is not known to be otherwise. */
bool connection_has_maps(const struct connection *connection);
void connection_set_has_maps(struct connection *connection, bool has_maps);
/* The description of what it runs, see render.h; "": not known. */
const char *connection_running(const struct connection *connection);
/* Of somebody else's HAProxy that is not up: it will run that when it comes. */
void connection_set_running(struct connection *connection, const char *description);
/* How many groups of slots it has. */
size_t connection_group_count(const struct connection *connection);

/* A reload is under way: the worker of now does not count any more, and its end is nothing to tell. */
void connection_expect_other_worker(struct connection *connection);
void connection_expect_any_worker(struct connection *connection);
bool connection_is_reloading(const struct connection *connection);
