// SPDX-License-Identifier: Apache-2.0
/* Reads back maps, servers and the list of certificates. */
#include "provider-haproxy/sync.h"

#include "provider-haproxy/connection.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/log_events.h"

#include <stdio.h>

enum { WHAT_OTHER = ROW_TABLE_COUNT }; /* below it: a table */

/* `0x55ed852d5750 key value` */
static void read_row(struct engine *engine, enum row_table table, struct str line)
{
	struct rows *rows = local_rows(engine->local);
	cli_next_word(&line);
	struct str key = cli_next_word(&line);
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
	while (cli_next_line(&reply, &line)) {
		if (str_starts_with(line, STR("Unknown map")))
			connection_set_has_maps(engine->connection, false);
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
		fields[i] = cli_next_word(&line);
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
	while (cli_next_line(&reply, &line)) {
		if (line.len != 0 && line.p[0] != '#')
			read_server(engine, line);
	}
}

/* `/path/file.pem:LINE names`; the last of the responses. */
static void on_certificates(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct engine *engine = ctx;
	struct str line;
	while (cli_next_line(&reply, &line)) {
		struct str word = cli_next_word(&line);
		const char *colon = word.len != 0 ? memrchr(word.p, ':', word.len) : NULL;
		const char *slash = word.len != 0 ? memrchr(word.p, '/', word.len) : NULL;
		if (word.len == 0 || word.p[0] != '/' || colon == NULL || slash == NULL ||
			colon < slash)
			continue;
		certs_found(&engine->certs, (struct str){slash + 1, (size_t)(colon - slash - 1)},
			connection_is_fresh(engine->connection));
	}
	connection_set_ready(engine->connection);
	engine->certs.is_running = true;
	log_event(&EV_PROXY_CONNECTED, LOG_INT("pid", connection_worker(engine->connection)),
		LOG_STR("running", connection_running(engine->connection)),
		LOG_INT("differences", rows_dirty_count(local_rows(engine->local))));
	engine_wake(engine);
}

static void ask(struct engine *engine, unsigned what, cli_reply *on_reply, const char *format,
	const char *name)
{
	char line[512];
	snprintf(line, sizeof(line), "%s %s/%s", format, engine->config->local.state_dir, name);
	cli_send(connection_cli(engine->connection), str_from(line), STR_NONE, what, on_reply,
		engine);
}

void sync_begin(struct engine *engine)
{
	connection_set_reading(engine->connection);
	rows_forget_has(local_rows(engine->local));
	slots_forget_has(&engine->slots);
	certs_forget_has(&engine->certs);
	connection_set_has_maps(engine->connection, true);
	for (int table = 0; table < ROW_TABLE_COUNT; table++)
		ask(engine, (unsigned)table, on_map, "show map",
			disk_map_name((enum row_table)table));
	cli_send(connection_cli(engine->connection), STR("show servers state"), STR_NONE,
		WHAT_OTHER, on_servers, engine);
	ask(engine, WHAT_OTHER, on_certificates, "show ssl crt-list -n", "certs/list.txt");
}
