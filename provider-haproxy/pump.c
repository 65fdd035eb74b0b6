// SPDX-License-Identifier: Apache-2.0
/*
 * Sends commands for what differs. A command counts as done when it is sent, so that the next step does not repeat it; if its response says
 * otherwise, everything is read back and compared again.
 */
#include "provider-haproxy/pump.h"

#include "common/clock.h"
#include "common/xalloc.h"
#include "provider-haproxy/binds.h"
#include "provider-haproxy/clients.h"
#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/log_events.h"
#include "provider-haproxy/policies.h"
#include "provider-haproxy/pools.h"
#include "provider-haproxy/pump_certs.h"
#include "provider-haproxy/pump_send.h"
#include "provider-haproxy/pump_trim.h"
#include "provider-haproxy/pump_wait.h"
#include "provider-haproxy/quote.h"
#include "provider-haproxy/users.h"
#include "common/files.h"

#include <stdio.h>

/* A server that holds a WebSocket is in no hurry. */
static const double undelete_quick_s = 0.1;
static const double undelete_all_s = 1;
/* Twice: a thread of HAProxy may have read what led to a row just before it changed. */
static const double release_after_s = 0.25;

struct pump {
	struct engine *engine;
	ev_timer release;          /* rows that requests may have heard of */
	ev_timer undelete;         /* when to retry the deletion of servers with connections */
	ev_tstamp undelete_all_at; /* monotonic; when those are due that were tried often */
	struct pump_trim *trim;
};

enum what {
	WHAT_SILENT,  /* an empty response means success */
	WHAT_FOLLOWS, /* likewise; follows an `add server` that may have been refused */
	WHAT_ADD_SERVER,
	WHAT_DEL_SERVER,
	WHAT_IGNORED,
};

static cli_reply on_reply;

#define SEND(engine, what, ...) pump_send_text((engine), on_reply, (what), __VA_ARGS__)

/* `words` in front of the name of the server, and what is behind it. */
static void send_of_server(struct engine *engine, enum what what, struct str words,
	const struct slot *slot, const struct server *server, struct str behind)
{
	pump_send_parts(engine, on_reply, what,
		STR_PARTS(words, {slot->name, SLOT_NAME_LEN}, STR("/"), str_from(server->name),
			behind));
}

static bool has_room(const struct engine *engine)
{
	return cli_has_room(connection_cli(engine->connection));
}

/* ---- servers ---- */

static void add_server(struct engine *engine, struct slot *slot, struct server *server)
{
	const struct slot_class *sort = slot->group->sort;
	bool is_v6 = server->ip.family == AF_INET6;
	char digits[4][STR_UINT_LEN];
	/* It does not look at default-server, and before 3.0 not at HAProxy's own defaults: no idle connection would be kept. */
	pump_send_parts(engine, on_reply, WHAT_ADD_SERVER,
		STR_PARTS(STR("add server "), {slot->name, SLOT_NAME_LEN}, STR("/"),
			str_from(server->name), is_v6 ? STR(" [") : STR(" "),
			str_from(server->ip.text), is_v6 ? STR("]:") : STR(":"),
			str_from_uint(server->port, digits[0]), STR(" weight "),
			str_from_uint(server->weight, digits[1]),
			STR(" pool-max-conn -1 pool-purge-delay "),
			str_from_uint(RENDER_IDLE_LOOK_S, digits[2]), STR("s pool-low-conn "),
			str_from_uint(RENDER_IDLE_COUNT, digits[3]), str_from(sort->server),
			str_from(slot->words)));
	/* HAProxy 2.6 gives an added server its cookie only with this; stickiness depends on it. */
	if (sort->is_sticky)
		SEND(engine, WHAT_FOLLOWS, "enable dynamic-cookie backend %s", slot->name);
	if (sort->is_checked)
		SEND(engine, WHAT_FOLLOWS, "enable health %s/%s", slot->name, server->name);
	send_of_server(engine, WHAT_FOLLOWS, STR("enable server "), slot, server, STR(""));
	server->has = SERVER_READY;
	server->has_weight = server->weight;
}

static void send_file(struct engine *engine, const char *kind, const struct name *name)
{
	struct cli *cli = connection_cli(engine->connection);
	struct buf content;
	char line[512];
	char *path = trust_files_path(&engine->trust, name);
	buf_init(&content, TRUST_CONTENT_LEN_MAX);
	/* Without the file, the server that needs it is refused, and that is reported. */
	if (files_read(path, &content) == 0 && buf_len(&content) != 0) {
		SEND(engine, WHAT_IGNORED, "new ssl %s %s", kind, path);
		snprintf(line, sizeof(line), "set ssl %s %s", kind, path);
		cli_send(cli, str_from(line), buf_str(&content), WHAT_IGNORED, on_reply, engine);
		SEND(engine, WHAT_IGNORED, "commit ssl %s %s", kind, path);
		/* A refused transaction would block the next one. */
		SEND(engine, WHAT_IGNORED, "abort ssl %s %s", kind, path);
	}
	buf_wipe_fini(&content);
	free(path);
}

/* Loads the files that the servers' options refer to. False: not possible now. */
static bool load_trust(struct engine *engine, const struct slot *slot)
{
	const struct trust *trust = &slot->trust;
	long worker = connection_worker(engine->connection);
	bool needs_ca = trust_files_is_unknown(&engine->trust, &trust->ca, worker);
	bool needs_client = trust_files_is_unknown(&engine->trust, &trust->client, worker);
	if (!trust_files_are_written(&engine->trust, trust)) {
		disk_want_flush(engine->disk);
		return false;
	}
	/* All certificates share one transaction; CAs have another. */
	if (needs_client && pump_certs_are_sending(engine))
		return false;
	if (needs_ca)
		send_file(engine, "ca-file", &trust->ca);
	if (needs_client)
		send_file(engine, "cert", &trust->client);
	trust_files_known(&engine->trust, trust, worker);
	return true;
}

/* CAs and client certificates without users. */
static void unload_trust(struct engine *engine)
{
	struct trust_file *file;
	while (has_room(engine) && (file = trust_files_take_loose(&engine->trust)) != NULL) {
		char *path = trust_files_path(&engine->trust, &file->name);
		/* Refused while a server being deleted has connections; then it stays loaded until a reload. */
		SEND(engine, WHAT_IGNORED, "del ssl %s %s",
			file->name.text[0] == NAME_AUTHORITY ? "ca-file" : "cert", path);
		trust_file_free(file);
		free(path);
	}
}

static void update_server(struct engine *engine, struct slot *slot, struct server *server)
{
	if (server->has == SERVER_ABSENT) {
		if (!server->is_refused)
			add_server(engine, slot, server);
		return;
	}
	if (server->has_weight != server->weight)
		SEND(engine, WHAT_SILENT, "set server %s/%s weight %u", slot->name, server->name,
			server->weight);
	if (server->has == SERVER_MAINTENANCE)
		SEND(engine, WHAT_SILENT, "set server %s/%s state ready", slot->name, server->name);
	server->has_weight = server->weight;
	server->has = SERVER_READY;
}

static void delete_server(struct engine *engine, struct slot *slot, struct server *server)
{
	server->is_deleting = true;
	send_of_server(engine, WHAT_DEL_SERVER, STR("del server "), slot, server, STR(""));
}

/* A request that ended after its endpoint had left has left an idle connection, which keeps the server. HAProxy closes these when maintenance begins;
 * a server that is busy for long, perhaps with a WebSocket, is put through that ever more rarely. */
static void close_idle(struct engine *engine, struct slot *slot, struct server *server)
{
	bool is_turn = (server->retries & (server->retries + 1)) == 0;
	server->retries++;
	if (!is_turn)
		return;
	SEND(engine, WHAT_FOLLOWS, "set server %s/%s state drain", slot->name, server->name);
	SEND(engine, WHAT_FOLLOWS, "set server %s/%s state maint", slot->name, server->name);
}

static void retire_server(struct engine *engine, struct slot *slot, struct server *server)
{
	if (server->has == SERVER_MAINTENANCE)
		close_idle(engine, slot, server);
	if (server->has == SERVER_READY)
		send_of_server(
			engine, WHAT_SILENT, STR("set server "), slot, server, STR(" state maint"));
	if (server->has != SERVER_ABSENT) {
		server->has = SERVER_MAINTENANCE;
		delete_server(engine, slot, server);
	}
}

/* New servers are added before old ones are deleted; while a wanted one is still being deleted, none is. */
static void pump_slot(struct engine *engine, struct slot *slot)
{
	struct server *server;
	bool is_waiting = false;
	bool is_known = load_trust(engine, slot);
	for (server = slot_first_server(slot); server != NULL; server = slot_next_server(server)) {
		bool is_blocked =
			server->is_deleting || (server->has == SERVER_ABSENT && !is_known);
		if (server->is_wanted && !is_blocked)
			update_server(engine, slot, server);
		is_waiting = is_waiting || (server->is_wanted && is_blocked);
	}
	server = is_waiting ? NULL : slot_first_server(slot);
	for (; server != NULL; server = slot_next_server(server)) {
		if (!server->is_wanted && !server->is_deleting && !server->is_busy)
			retire_server(engine, slot, server);
	}
	slots_settle(&engine->slots, slot);
}

static void pump_slots(struct engine *engine)
{
	struct slot *slot;
	struct slot *next;
	TAILQ_FOREACH_SAFE (slot, &engine->slots.dirty, dirty, next) {
		if (!has_room(engine))
			return;
		if (pump_is_live(engine, slot))
			pump_slot(engine, slot);
	}
}

/* `VERB server SLOT/NAME ...` */
static struct server *server_of(struct engine *engine, const char *command, struct slot **ret_slot)
{
	const char *start = strstr(command, " server ");
	struct str rest = str_from(start != NULL ? start + 8 : "");
	if (rest.len <= SLOT_NAME_LEN || rest.p[SLOT_NAME_LEN] != '/')
		return NULL;
	struct slot *slot = slots_by_name(&engine->slots, (struct str){rest.p, SLOT_NAME_LEN});
	rest = str_skip(rest, SLOT_NAME_LEN + 1);
	const char *end = str_find(rest, ' ');
	if (end != NULL)
		rest.len = (size_t)(end - rest.p);
	*ret_slot = slot;
	return slot != NULL ? slots_find_server(slot, rest) : NULL;
}

static void retry_within(struct pump *pump, double seconds)
{
	struct ev_loop *loop = pump->engine->loop;
	if (ev_is_active(&pump->undelete) && ev_timer_remaining(loop, &pump->undelete) <= seconds)
		return;
	ev_timer_stop(loop, &pump->undelete);
	ev_timer_set(&pump->undelete, seconds, 0.);
	ev_timer_start(loop, &pump->undelete);
}

static void on_deleted(struct engine *engine, const char *command, struct str reply)
{
	struct slot *slot;
	struct server *server = server_of(engine, command, &slot);
	if (server == NULL)
		return;
	server->is_deleting = false;
	if (str_starts_with(reply, STR("Server deleted")) ||
		str_starts_with(reply, STR("No such server"))) {
		server->has = SERVER_ABSENT;
	} else {
		/* It has connections, which are left to end by themselves. One that is wanted again meanwhile must not count as busy: it would be left
		 * alone when it is to go once more. */
		server->is_busy = !server->is_wanted;
		if (server->is_busy)
			retry_within(engine->pump, server->retries < SLOTS_QUICK_RETRIES
							   ? undelete_quick_s
							   : undelete_all_s);
	}
	slots_settle(&engine->slots, slot);
}

static void on_undelete(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = ((struct pump *)watcher->data)->engine;
	double now = clock_monotonic_s();
	bool is_all = now >= engine->pump->undelete_all_at;
	ev_timer_stop(loop, watcher);
	slots_retry_busy(&engine->slots, is_all ? SLOTS_RETRY_ALL : SLOTS_RETRY_QUICK);
	if (is_all)
		engine->pump->undelete_all_at = now + undelete_all_s;
	if (slots_any_busy(&engine->slots))
		retry_within(engine->pump, engine->pump->undelete_all_at - now);
	engine_wake(engine);
}

static void on_server_refused(struct engine *engine, const char *command)
{
	struct slot *slot;
	struct server *server = server_of(engine, command, &slot);
	if (server == NULL)
		return;
	server->is_refused = true;
	server->has = SERVER_ABSENT;
	/* HAProxy would not start with it. */
	slots_touch(slot);
	disk_want_flush(engine->disk);
	slots_settle(&engine->slots, slot);
}

/* ---- rows ---- */

static void send_row(struct engine *engine, struct row *row)
{
	bool is_there = row_has(row).p != NULL;
	bool is_wanted = row_wanted(row).p != NULL;
	/* The file alone said something else. */
	if (is_there == is_wanted && (!is_there || str_eq(row_has(row), row_wanted(row))))
		return;
	struct buf line;
	buf_init(&line, CLI_LINE_LEN_MAX);
	const char *verb = !is_wanted ? "del" : is_there ? "set" : "add";
	int err = buf_printf(&line, "%s map %s/%s ", verb, engine->config->local.state_dir,
		disk_map_name(row_table(row)));
	if (err == 0)
		err = quote_command(&line, row_key(row));
	if (err == 0 && is_wanted)
		err = buf_append(&line, " ", 1);
	if (err == 0 && is_wanted)
		err = quote_command(&line, row_wanted(row));
	/* A line that ends in "<<" would start a payload. */
	if (err == 0)
		err = buf_append(&line, " ", 1);
	/* Values were checked before they became rows; and keys that HAProxy reports were once ours. */
	if (err == 0)
		cli_send(connection_cli(engine->connection), buf_str(&line), STR_NONE, WHAT_SILENT,
			on_reply, engine);
	buf_fini(&line);
}

enum which { WHICH_ALL, WHICH_WANTED };

/* False if rows are left that must wait. */
static bool pump_rows(struct engine *engine, enum row_table table, enum which which)
{
	bool is_done = true;
	struct rows *rows = local_rows(engine->local);
	struct row *row;
	size_t left = rows_dirty_count(rows);
	while (left-- != 0 && has_room(engine) && (row = rows_first_dirty(rows, table)) != NULL) {
		bool is_leaving = row_wanted(row).p == NULL;
		bool is_kept = is_leaving && binds_keep_routes(engine->binds);
		bool is_later = is_leaving && which == WHICH_WANTED;
		if (is_kept || is_later || pump_has_to_wait(engine, row)) {
			is_done = is_done && is_later && !is_kept;
			rows_defer(rows, row);
			continue;
		}
		if (disk_put_row(engine->disk, row) != 0)
			return false;
		/* Nobody wants certificates for it any more. */
		if (clients_key_of(row_key(row)).p != NULL &&
			(is_leaving || !clients_are_asked(row_wanted(row))))
			certs_ask(&engine->certs, clients_key_of(row_key(row)), false);
		send_row(engine, row);
		rows_has(rows, row, row_wanted(row));
	}
	return is_done && has_room(engine);
}

/* Pools first, then the routes that lead to them, what is done there before that, and the hosts. Paths of a host go when it leads elsewhere, a pool when no route can lead to it. */
static void pump_tables(struct engine *engine)
{
	bool is_done = pump_rows(engine, ROW_POOL, WHICH_WANTED);
	is_done = pump_rows(engine, ROW_RULE, WHICH_WANTED) && is_done;
	is_done = pump_rows(engine, ROW_PREFIX, WHICH_WANTED) && is_done;
	is_done = pump_rows(engine, ROW_WHOLE, WHICH_ALL) && is_done;
	is_done = pump_rows(engine, ROW_PREFIX, WHICH_ALL) && is_done;
	if (is_done && pump_rows(engine, ROW_RULE, WHICH_ALL))
		(void)pump_rows(engine, ROW_POOL, WHICH_ALL);
}

/* ---- responses ---- */

static void on_unexpected(struct engine *engine, const char *command, struct str reply)
{
	char *shown = str_dup_utf8((struct str){reply.p, reply.len < 300 ? reply.len : 300});
	/* Names and hashes of users are not to be read in logs. */
	const char *secret = strstr(command, USERS_SECRET);
	char *told = secret != NULL ? xstrndup(command, (size_t)(secret - command)) : NULL;
	log_event(&EV_PROXY_ANSWER, LOG_STR("command", told != NULL ? told : command),
		LOG_STR("answer", told != NULL ? "" : shown));
	free(told);
	engine_set_problem(
		engine, xasprintf("HAProxy answers \"%s\"", secret != NULL ? "no" : shown));
	free(shown);
}

static void on_reply(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	bool is_good = true;
	probe_control_answered(engine->probe);
	switch (what) {
	case WHAT_SILENT:
		is_good = reply.len == 0;
		break;
	case WHAT_FOLLOWS:
		is_good = reply.len == 0 || str_starts_with(reply, STR("No such server"));
		break;
	case WHAT_ADD_SERVER:
		is_good = str_starts_with(reply, STR("New server registered"));
		if (!is_good && !pump_reply_has(reply, "Already exists")) {
			on_server_refused(engine, command);
			on_unexpected(engine, command, reply);
			is_good = true;
		}
		break;
	case WHAT_DEL_SERVER:
		on_deleted(engine, command, reply);
		break;
	default:
		break;
	}
	if (!is_good) {
		on_unexpected(engine, command, reply);
		connection_reopen(engine->connection);
	} else if (cli_in_flight(connection_cli(engine->connection)) == 0) {
		engine_wake(engine);
	}
}

static void on_release(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct engine *engine = ((struct pump *)watcher->data)->engine;
	ev_timer_stop(loop, watcher);
	ev_timer_set(watcher, release_after_s, 0.);
	if (rows_release(local_rows(engine->local)))
		ev_timer_start(loop, watcher);
	engine_wake(engine);
}

/* ---- public functions ---- */

void pump_run(struct engine *engine)
{
	pump_slots(engine);
	/* One that was started by a former release has other tables, and is about to be reloaded. */
	if (disk_may_store(engine->disk) && connection_has_maps(engine->connection))
		pump_tables(engine);
	if (rows_any_stays(local_rows(engine->local)) && !ev_is_active(&engine->pump->release))
		ev_timer_start(engine->loop, &engine->pump->release);
	pump_certs_run(engine);
	unload_trust(engine);
	if (pump_is_done(engine))
		pump_trim_later(engine->pump->trim);
}

bool pump_is_done(const struct engine *engine)
{
	return !pump_certs_are_sending(engine) &&
	       cli_in_flight(connection_cli(engine->connection)) == 0 &&
	       rows_dirty_count(local_rows(engine->local)) == 0 &&
	       TAILQ_EMPTY(&engine->slots.dirty) && TAILQ_EMPTY(&engine->certs.dirty);
}

bool pump_is_idle(const struct engine *engine)
{
	return pump_is_done(engine) && pools_leaving_count(engine->pools) == 0;
}

struct pump *pump_new(struct engine *engine)
{
	struct pump *pump = xcalloc(1, sizeof(*pump));
	pump->engine = engine;
	ev_timer_init(&pump->undelete, on_undelete, undelete_all_s, 0.);
	pump->undelete.data = pump;
	ev_timer_init(&pump->release, on_release, release_after_s, 0.);
	pump->release.data = pump;
	pump->trim = pump_trim_new(engine);
	rows_set_stays(local_rows(engine->local), policies_stays);
	return pump;
}

void pump_free(struct pump *pump)
{
	ev_timer_stop(pump->engine->loop, &pump->undelete);
	ev_timer_stop(pump->engine->loop, &pump->release);
	pump_trim_free(pump->trim);
	free(pump);
}
