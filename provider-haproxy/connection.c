// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/connection.h"

#include "common/backoff.h"
#include "common/xalloc.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/render.h"

#include <stdio.h>

static const double reload_poll_s = 0.02;
/* One that has just been started is about to answer, when it has read its configuration. */
static const double start_poll_s = 0.05;

struct connection {
	struct ev_loop *loop;
	const struct connection_ops *ops;
	void *ctx;
	char *socket;
	char *former_socket; /* in the state folder; NULL: the same */
	struct cli *cli;
	enum connection_state state;
	unsigned number;
	ev_timer reconnect;
	struct backoff backoff;
	char running[RENDER_DESCRIPTION_LEN];
	size_t group_count;
	long worker;
	long former_worker; /* while a reload is under way: the worker being replaced; 0: none */
	bool is_fresh;
	bool has_maps;
};

/* ---- what is known ---- */

void connection_set_sockets(struct connection *connection, char *socket, char *former)
{
	free(connection->socket);
	free(connection->former_socket);
	connection->socket = socket;
	connection->former_socket = former;
}

const char *connection_socket(const struct connection *connection)
{
	return connection->socket;
}

enum connection_state connection_state(const struct connection *connection)
{
	return connection->state;
}

bool connection_is_ready(const struct connection *connection)
{
	return connection->state == CONNECTION_READY;
}

void connection_set_reading(struct connection *connection)
{
	connection->state = CONNECTION_READING;
}

void connection_set_ready(struct connection *connection)
{
	connection->state = CONNECTION_READY;
	connection->is_fresh = false;
}

unsigned connection_number(const struct connection *connection)
{
	return connection->number;
}

struct cli *connection_cli(const struct connection *connection)
{
	return connection->cli;
}

bool connection_is_fresh(const struct connection *connection)
{
	return connection->is_fresh;
}

void connection_set_fresh(struct connection *connection)
{
	connection->is_fresh = true;
}

long connection_worker(const struct connection *connection)
{
	return connection->worker;
}

const char *connection_running(const struct connection *connection)
{
	return connection->running;
}

void connection_set_running(struct connection *connection, const char *description)
{
	snprintf(connection->running, sizeof(connection->running), "%s", description);
}

bool connection_has_maps(const struct connection *connection)
{
	return connection->has_maps;
}

void connection_set_has_maps(struct connection *connection, bool has_maps)
{
	connection->has_maps = has_maps;
}

size_t connection_group_count(const struct connection *connection)
{
	return connection->group_count;
}

void connection_expect_other_worker(struct connection *connection)
{
	connection->former_worker = connection->worker;
}

void connection_expect_any_worker(struct connection *connection)
{
	connection->former_worker = 0;
}

bool connection_is_reloading(const struct connection *connection)
{
	return connection->former_worker != 0;
}

/* ---- connecting ---- */

static void again(struct connection *connection)
{
	double pause_s = connection_is_reloading(connection) ? reload_poll_s
							     : backoff_next(&connection->backoff);
	if (connection->is_fresh && pause_s > start_poll_s)
		pause_s = start_poll_s;
	ev_timer_stop(connection->loop, &connection->reconnect);
	ev_timer_set(&connection->reconnect, pause_s, 0.);
	ev_timer_start(connection->loop, &connection->reconnect);
}

void connection_close(struct connection *connection, const char *why)
{
	if (why != NULL)
		log_event(&EV_PROXY_LOST, LOG_STR("socket", connection->socket),
			LOG_STR("reason", why));
	ev_timer_stop(connection->loop, &connection->reconnect);
	cli_close(connection->cli);
	connection->cli = NULL;
	connection->state = CONNECTION_DOWN;
	connection->number++;
}

static void on_lost(void *ctx, const char *why)
{
	struct connection *connection = ctx;
	connection_close(connection, connection_is_reloading(connection) ? NULL : why);
	again(connection);
}

void connection_reopen(struct connection *connection)
{
	connection_close(connection, NULL);
	connection->is_fresh = false;
	again(connection);
}

void connection_restart(struct connection *connection, bool is_fresh)
{
	connection->is_fresh = is_fresh;
	backoff_succeeded(&connection->backoff);
	connection_close(connection, NULL);
	connection_open(connection);
}

void connection_end(struct connection *connection)
{
	connection->worker = 0;
	connection->is_fresh = false;
	connection->running[0] = 0;
	connection_close(connection, NULL);
}

static void on_room(void *ctx)
{
	struct connection *connection = ctx;
	connection->ops->on_room(connection->ctx);
}

/* ---- greeting ---- */

/* "sluice DIGEST GROUPS", as render.c describes a configuration. */
static bool read_groups(const char *description, size_t *ret_groups)
{
	const char *prefix = "sluice ";
	char *end;
	if (!str_starts_with(str_from(description), str_from(prefix)))
		return false;
	(void)strtoull(description + strlen(prefix), &end, 16);
	if (*end != ' ')
		return false;
	*ret_groups = strtoull(end + 1, &end, 10);
	return *end == '\0';
}

static void greet(struct connection *connection, long pid, struct str description)
{
	size_t groups = 0;
	if (connection_is_reloading(connection) && pid == connection->former_worker) {
		connection_close(connection, NULL);
		again(connection);
		return;
	}
	snprintf(connection->running, sizeof(connection->running), "%.*s",
		(int)(description.len < sizeof(connection->running) ? description.len : 0),
		description.p != NULL ? description.p : "");
	if (!read_groups(connection->running, &groups)) {
		groups = 0;
		connection_set_running(connection, "something else");
	}
	bool is_other = connection->worker != pid;
	if (!is_other)
		connection->is_fresh = false;
	connection->group_count = groups;
	connection->worker = pid;
	connection->state = CONNECTION_GREETED;
	connection->ops->on_greeting(connection->ctx, is_other);
}

static void on_info(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct str line;
	struct str description = STR_NONE;
	int64_t pid = 0;
	while (cli_next_line(&reply, &line)) {
		if (str_starts_with(line, STR("Pid: ")) &&
			!str_to_int(str_skip(line, 5), 1, INT32_MAX, &pid))
			pid = 0;
		if (str_starts_with(line, STR("description: ")))
			description = str_skip(line, 13);
	}
	if (pid == 0)
		on_lost(ctx, "it is no HAProxy that answers");
	else
		greet(ctx, (long)pid, description);
}

void connection_open(struct connection *connection)
{
	static const struct cli_ops ops = {.on_room = on_room, .on_lost = on_lost};
	int err = 0;
	if (connection->cli != NULL)
		return;
	connection->cli = cli_open(connection->loop, connection->socket, &ops, connection, &err);
	if (connection->cli == NULL && connection->former_socket != NULL) {
		int former_err = 0;
		connection->cli = cli_open(
			connection->loop, connection->former_socket, &ops, connection, &former_err);
	}
	if (connection->cli == NULL) {
		again(connection);
	} else {
		err = 0;
		connection->state = CONNECTION_GREETING;
		connection->running[0] = 0;
		cli_send(connection->cli, STR("show info"), STR_NONE, 0, on_info, connection);
	}
	connection->ops->on_connect(connection->ctx, err);
}

static void on_reconnect(struct ev_loop *loop, ev_timer *watcher, int events)
{
	connection_open(watcher->data);
}

struct connection *connection_new(struct ev_loop *loop, const struct connection_ops *ops, void *ctx)
{
	struct connection *connection = xcalloc(1, sizeof(*connection));
	connection->loop = loop;
	connection->ops = ops;
	connection->ctx = ctx;
	connection->has_maps = true;
	ev_init(&connection->reconnect, on_reconnect);
	connection->reconnect.data = connection;
	backoff_init(&connection->backoff, 0.02, 1);
	return connection;
}

void connection_free(struct connection *connection)
{
	connection_close(connection, NULL);
	free(connection->socket);
	free(connection->former_socket);
	free(connection);
}
