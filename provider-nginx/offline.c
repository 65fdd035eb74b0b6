// SPDX-License-Identifier: Apache-2.0
/* The configuration that a first start with this state installs, and the rows that nginx gets. */
#include "provider-common/offline.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-local/capabilities.h"
#include "provider-nginx/config.h"
#include "provider-nginx/wanted.h"

#include <stdlib.h>

enum { ROWS_LEN_MAX = 512 * 1024 * 1024 };

struct room {
	const struct offline_job *job;
	struct config config;
	struct conf_options options;
	struct rows *rows;
	struct notices *notices;
	struct routes *routes;
	struct publish *publish;
	struct objects *objects;
	struct wanted *wanted;
	struct buf text;
};

static void room_init(struct room *room)
{
	config_fill(&room->config, &room->options);
	room->options.control = 'a';
	buf_init(&room->text, ROWS_LEN_MAX);
	room->rows = rows_new();
	room->notices = notices_new(NULL, NULL);
	room->routes = routes_new(room->rows, room->notices);
	room->objects = objects_new(room->notices, NULL, !str_is_empty(room->options.system_ca));
	room->wanted = wanted_new(&(struct wanted_parts){
		.state = room->job->state,
		.rows = room->rows,
		.routes = room->routes,
		.notices = room->notices,
		.publish = room->publish,
		.objects = room->objects,
		.options = &room->options,
		.is_offline = true,
	});
}

static void room_fini(struct room *room)
{
	wanted_free(room->wanted);
	objects_free(room->objects);
	routes_free(room->routes, room->job->state);
	notices_free(room->notices);
	rows_free(room->rows);
	buf_wipe_fini(&room->text);
}

/* One row a line; of certificates the digest, as objects.h has it: the state file itself is no text. */
static void add_rows(struct room *room, struct rows *rows, enum row_table table)
{
	struct row *row = rows_first(rows, table);
	for (; row != NULL; row = rows_next(row)) {
		if (row_wanted(row).p == NULL)
			continue;
		must(buf_printf(&room->text, "%s%.*s %.*s\n", table == ROW_PREFIX ? "prefix:" : "",
			     STR_FMT(row_key(row)), STR_FMT(row_wanted(row))) == 0);
	}
}

static char *show_all(struct room *room)
{
	const struct offline_job *job = room->job;
	uint64_t generation = 0;
	const struct conf *conf = wanted_collect(room->wanted, false);
	int err = conf_render(conf, NULL, &room->text, &generation);
	if (err != 0)
		return xasprintf("nginx.conf cannot be written: %s", strerrordesc_np(-err));
	job->on_file(job->ctx, "nginx.conf", buf_str(&room->text));
	buf_clear(&room->text);
	add_rows(room, objects_rows(room->objects), ROW_WHOLE);
	add_rows(room, room->rows, ROW_WHOLE);
	add_rows(room, room->rows, ROW_PREFIX);
	job->on_file(job->ctx, "state.rows", buf_str(&room->text));
	struct arena arena;
	struct lb_notice *notices;
	arena_init(&arena);
	size_t count = notices_list(room->notices, &arena, &notices);
	for (size_t i = 0; i < count; i++)
		job->on_notice(job->ctx, &notices[i]);
	arena_fini(&arena);
	return NULL;
}

static char *render(const struct offline_job *job)
{
	struct room room = {.job = job};
	char *problem = NULL;
	if (options_parse(&config_table, &room.config, job->argc, job->argv, getenv, &problem) ==
		OPTIONS_OK)
		problem = config_check(&room.config);
	if (problem == NULL)
		room.publish = publish_new(&room.config.local.publish_addresses,
			&room.config.local.bind_addresses, &problem);
	if (problem == NULL) {
		room_init(&room);
		routes_on_commit(room.routes, job->state, job->commit);
		objects_on_commit(room.objects, job->state, job->commit);
		problem = show_all(&room);
		room_fini(&room);
		publish_free(room.publish);
	}
	options_free(&config_table, &room.config);
	return problem;
}

extern const struct offline nginx_offline;
const struct offline nginx_offline = {
	.name = "nginx",
	.options = &config_table,
	.capabilities = local_capabilities,
	.render = render,
};
