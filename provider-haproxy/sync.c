// SPDX-License-Identifier: Apache-2.0
/* Reads back maps, servers and the list of certificates. */
#include "provider-haproxy/sync.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/log_events.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

enum { WHAT_WHOLE = ROW_WHOLE, WHAT_PREFIX = ROW_PREFIX, WHAT_OTHER };

static const double reload_poll_s = 0.02;
/* An HAProxy that has just started may take this long to read a large configuration. */
static const double deaf_at_start_s = 60;
static const double deaf_s = 5;
/* One that was started with a damaged main file has no socket, and serves nothing. */
static const double deaf_of_damaged_s = 1.5;

/* ---- lines of responses ---- */

static bool next_line(struct str *rest, struct str *ret_line)
{
	if (rest->len == 0)
		return false;
	const char *end = str_find(*rest, '\n');
	size_t len = end != NULL ? (size_t)(end - rest->p) : rest->len;
	*ret_line = (struct str){rest->p, len};
	*rest = str_skip(*rest, len + 1);
	return true;
}

static struct str next_word(struct str *line)
{
	while (line->len != 0 && line->p[0] == ' ')
		*line = str_skip(*line, 1);
	const char *end = str_find(*line, ' ');
	struct str word = {line->p, end != NULL ? (size_t)(end - line->p) : line->len};
	*line = str_skip(*line, word.len);
	return word;
}

/* ---- current state ---- */

/* `0x55ed852d5750 key value` */
static void read_row(struct engine *engine, enum row_table table, struct str line)
{
	struct rows *rows = local_rows(engine->local);
	next_word(&line);
	struct str key = next_word(&line);
	struct str value = str_skip(line, 1);
	struct row *row = key.len != 0 ? rows_find(rows, table, key) : NULL;
	/* If a key exists twice, the first one counts. */
	if (key.len != 0 && (row == NULL || row_has(row).p == NULL))
		rows_found(rows, table, key, value);
}

static void on_map(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	struct str line;
	(void)command;
	while (next_line(&reply, &line)) {
		if (str_starts_with(line, STR("0x")))
			read_row(engine, (enum row_table)what, line);
	}
}

/* Fields of `show servers state`, management guide, section 9.3. */
enum {
	FIELD_BACKEND = 1,
	FIELD_SERVER = 3,
	FIELD_ADDRESS = 4,
	FIELD_ADMIN = 6,
	FIELD_WEIGHT = 7,
	FIELD_PORT = 18,
	FIELD_COUNT = 19
};

static void read_server(struct engine *engine, struct str line)
{
	struct str fields[FIELD_COUNT];
	struct check_ip ip;
	int64_t admin;
	int64_t weight;
	int64_t port;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		fields[i] = next_word(&line);
	struct slot *slot = slots_by_name(&engine->slots, fields[FIELD_BACKEND]);
	if (slot == NULL || !check_ip(fields[FIELD_ADDRESS], &ip) ||
		!str_to_int(fields[FIELD_ADMIN], 0, 65535, &admin) ||
		!str_to_int(fields[FIELD_WEIGHT], 0, 256, &weight) ||
		!str_to_int(fields[FIELD_PORT], 1, 65535, &port))
		return;
	struct server *server =
		slots_found_server(&engine->slots, slot, fields[FIELD_SERVER], &ip, (uint16_t)port);
	if (server == NULL)
		return;
	/* Any administrative state: maintenance, or drain set by somebody else. */
	server->has = admin != 0 ? SERVER_MAINTENANCE : SERVER_READY;
	server->has_weight = (uint16_t)weight;
	slots_settle(&engine->slots, slot);
}

static void on_servers(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	struct str line;
	(void)what;
	(void)command;
	while (next_line(&reply, &line)) {
		if (line.len != 0 && line.p[0] != '#')
			read_server(engine, line);
	}
}

/* `/path/file.pem:LINE names`; the last of the responses. */
static void on_certificates(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	struct str line;
	(void)what;
	(void)command;
	while (next_line(&reply, &line)) {
		struct str word = next_word(&line);
		const char *colon = word.len != 0 ? memrchr(word.p, ':', word.len) : NULL;
		const char *slash = word.len != 0 ? memrchr(word.p, '/', word.len) : NULL;
		if (word.len == 0 || word.p[0] != '/' || colon == NULL || slash == NULL ||
			colon < slash)
			continue;
		certs_found(&engine->certs, (struct str){slash + 1, (size_t)(colon - slash - 1)},
			engine->is_fresh);
	}
	engine->is_fresh = false;
	engine->connection = CONNECTION_READY;
	engine->certs.is_running = true;
	log_event(&EV_PROXY_CONNECTED, LOG_INT("pid", engine->worker),
		LOG_STR("running", engine->running),
		LOG_INT("differences", rows_dirty_count(local_rows(engine->local))));
	engine_wake(engine);
}

static void ask(struct engine *engine, unsigned what, cli_reply *on_reply, const char *format,
	const char *name)
{
	char line[512];
	snprintf(line, sizeof(line), "%s %s/%s", format, engine->config->local.state_dir, name);
	cli_send(engine->cli, str_from(line), STR_NONE, what, on_reply);
}

void sync_begin(struct engine *engine)
{
	engine->connection = CONNECTION_READING;
	rows_forget_has(local_rows(engine->local));
	slots_forget_has(&engine->slots);
	certs_forget_has(&engine->certs);
	ask(engine, WHAT_WHOLE, on_map, "show map", "maps/whole.map");
	ask(engine, WHAT_PREFIX, on_map, "show map", "maps/prefix.map");
	cli_send(engine->cli, STR("show servers state"), STR_NONE, WHAT_OTHER, on_servers);
	ask(engine, WHAT_OTHER, on_certificates, "show ssl crt-list -n", "certs/list.txt");
}

/* ---- connecting ---- */

void sync_expect_other_worker(struct engine *engine)
{
	engine->former_worker = engine->worker;
}

void sync_expect_any_worker(struct engine *engine)
{
	engine->former_worker = 0;
}

bool sync_is_reloading(const struct engine *engine)
{
	return engine->former_worker != 0;
}

static void connect_later(struct engine *engine, double after_s)
{
	ev_timer_stop(engine->loop, &engine->reconnect);
	ev_timer_set(&engine->reconnect, after_s, 0.);
	ev_timer_start(engine->loop, &engine->reconnect);
}

static void again(struct engine *engine)
{
	connect_later(engine, sync_is_reloading(engine) ? reload_poll_s
							: backoff_next(&engine->reconnect_backoff));
}

void sync_disconnect(struct engine *engine, const char *why)
{
	if (why != NULL)
		log_event(
			&EV_PROXY_LOST, LOG_STR("socket", engine->socket), LOG_STR("reason", why));
	ev_timer_stop(engine->loop, &engine->reconnect);
	cli_close(engine->cli);
	engine->cli = NULL;
	engine->connection = CONNECTION_DOWN;
	engine->connection_count++;
}

static void on_lost(void *ctx, const char *why)
{
	struct engine *engine = ctx;
	sync_disconnect(engine, sync_is_reloading(engine) ? NULL : why);
	again(engine);
}

void sync_again(struct engine *engine)
{
	sync_disconnect(engine, NULL);
	engine->is_fresh = false;
	again(engine);
}

static void on_room(void *ctx)
{
	engine_wake(ctx);
}

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

static void greet(struct engine *engine, long pid, struct str description)
{
	size_t groups = 0;
	if (sync_is_reloading(engine) && pid == engine->former_worker) {
		sync_disconnect(engine, NULL);
		again(engine);
		return;
	}
	snprintf(engine->running, sizeof(engine->running), "%.*s",
		(int)(description.len < sizeof(engine->running) ? description.len : 0),
		description.p != NULL ? description.p : "");
	if (!read_groups(engine->running, &groups)) {
		groups = 0;
		snprintf(engine->running, sizeof(engine->running), "something else");
	}
	bool is_other = engine->worker != pid;
	if (!is_other)
		engine->is_fresh = false;
	engine->live_groups = groups;
	engine->worker = pid;
	if (is_other)
		probe_set_proxy(engine->probe, true);
	probe_control_answered(engine->probe);
	engine->deaths = 0;
	engine->has_greeted = true;
	if (engine->proxy != NULL)
		proxy_is_well(engine->proxy);
	if (!engine_is_complete(engine))
		local_set_missing(engine->local, NULL);
	engine_wake(engine);
}

static void on_info(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct str line;
	struct str description = STR_NONE;
	int64_t pid = 0;
	(void)what;
	(void)command;
	while (next_line(&reply, &line)) {
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

/* Our own HAProxy runs, but its socket refuses connections: somebody has removed it, and not even a reload restores it. */
static void end_if_deaf(struct engine *engine)
{
	double now = clock_monotonic_s();
	double patience_s = engine->are_held_unknown ? deaf_of_damaged_s
			    : engine->is_fresh       ? deaf_at_start_s
						     : deaf_s;
	if (!proxy_is_up(engine->proxy) || sync_is_reloading(engine)) {
		engine->deaf_since = 0;
		return;
	}
	if (engine->deaf_since == 0)
		engine->deaf_since = now;
	if (now - engine->deaf_since < patience_s)
		return;
	engine->deaf_since = 0;
	log_event(&EV_PROXY_DEAF, LOG_STR("socket", engine->socket));
	proxy_replace(engine->proxy);
}

void sync_connect(struct engine *engine)
{
	static const struct cli_ops ops = {.on_room = on_room, .on_lost = on_lost};
	int err = 0;
	if (engine->cli != NULL)
		return;
	engine->cli = cli_open(engine->loop, engine->socket, &ops, engine, &err);
	if (engine->cli == NULL && engine->former_socket != NULL) {
		int former_err = 0;
		engine->cli =
			cli_open(engine->loop, engine->former_socket, &ops, engine, &former_err);
	}
	if (engine->cli == NULL) {
		bool is_starting =
			engine->proxy != NULL && (err == -ENOENT || err == -ECONNREFUSED);
		if (is_starting)
			end_if_deaf(engine);
		else
			log_event(
				&EV_PROXY_LOST, LOG_STR("socket", engine->socket), LOG_ERRNO(err));
		again(engine);
		/* A first configuration is written for it. */
		engine_wake(engine);
		return;
	}
	engine->deaf_since = 0;
	engine->connection = CONNECTION_GREETING;
	engine->running[0] = 0;
	cli_send(engine->cli, STR("show info"), STR_NONE, WHAT_OTHER, on_info);
}

static void on_reconnect(struct ev_loop *loop, ev_timer *watcher, int events)
{
	(void)loop;
	(void)events;
	sync_connect(watcher->data);
}

void sync_init(struct engine *engine)
{
	ev_init(&engine->reconnect, on_reconnect);
	engine->reconnect.data = engine;
	backoff_init(&engine->reconnect_backoff, 0.02, 1);
}
