// SPDX-License-Identifier: Apache-2.0
/* The files that a first start with this state writes, in the steps of engine.c and change.c. */
#include "provider-common/offline.h"

#include "common/must.h"
#include "common/xalloc.h"
#include "provider-haproxy/assign.h"
#include "provider-haproxy/certs.h"
#include "provider-haproxy/config.h"
#include "provider-haproxy/render.h"
#include "provider-local/capabilities.h"
#include "provider-local/rowfile.h"

#include <stdio.h>
#include <stdlib.h>

struct room {
	const struct offline_job *job;
	struct config config;
	struct arena arena;
	struct rows *rows;
	struct notices *notices;
	struct routes *routes;
	struct publish *publish;
	struct slots slots;
	struct certs certs;
	struct trust_files trust;
	struct ports ports;
	struct buf text;
};

static void room_init(struct room *room)
{
	struct state *state = room->job->state;
	char *dir = xasprintf("%s/certs", room->config.local.state_dir);
	arena_init(&room->arena);
	buf_init(&room->text, RENDER_LEN_MAX);
	room->rows = rows_new();
	room->notices = notices_new(NULL, NULL);
	room->routes = routes_new(room->rows, room->notices);
	slots_init(&room->slots);
	certs_init_offline(&room->certs, state, room->notices, dir);
	free(dir);
	dir = xasprintf("%s/trust", room->config.local.state_dir);
	trust_files_init(&room->trust, dir);
	free(dir);
}

static void room_fini(struct room *room)
{
	certs_fini(&room->certs);
	trust_files_fini(&room->trust);
	slots_fini(&room->slots);
	routes_free(room->routes, room->job->state);
	notices_free(room->notices);
	rows_free(room->rows);
	buf_fini(&room->text);
	arena_fini(&room->arena);
}

static void take_commit(struct room *room)
{
	const struct state_commit *commit = room->job->commit;
	struct str default_certificate = STR_NONE;
	struct assign assign = {
		.slots = &room->slots,
		.state = room->job->state,
		.rows = room->rows,
		.notices = room->notices,
		.arena = &room->arena,
		.trust = &room->trust,
		.paths = {.state_dir = room->config.local.state_dir,
			.system_ca = room->config.trusted_certificates},
		.cookie_key = room->config.cookie_key,
		.slots_min = (size_t)room->config.slots,
	};
	routes_on_commit(room->routes, room->job->state, commit);
	for (size_t i = 0; i < commit->change_count; i++) {
		struct object *object = commit->changes[i].object;
		struct slot *left = NULL;
		if (object_kind(object) == LB_POOL)
			(void)assign_pool(&assign, object, &left);
		else if (object_kind(object) == LB_CERTIFICATE)
			certs_on_change(&room->certs, object, false);
	}
	ports_collect(
		room->job->state, room->routes, room->notices, NULL, &room->arena, &room->ports);
	for (size_t i = 0; i < room->ports.count && str_is_empty(default_certificate); i++)
		default_certificate = room->ports.items[i].default_certificate;
	certs_set_default(&room->certs, default_certificate);
	assign_provide(&assign);
}

static void show(struct room *room, const char *name)
{
	room->job->on_file(room->job->ctx, name, buf_str(&room->text));
	buf_clear(&room->text);
}

static void on_cert_file(void *ctx, const char *name, struct str content)
{
	struct room *room = ctx;
	char *path = xasprintf("certs/%s", name);
	room->job->on_file(room->job->ctx, path, content);
	free(path);
}

static void show_main(struct room *room)
{
	char description[RENDER_DESCRIPTION_LEN];
	char *socket = room->config.socket != NULL ? xstrdup(room->config.socket)
						   : xasprintf("%s/" HAPROXY_SOCKET,
							     local_proxy_dir(&room->config.local));
	struct render_input input = {
		.state_dir = room->config.local.state_dir,
		.proxy_dir = local_proxy_dir(&room->config.local),
		.socket = socket,
		.ports = &room->ports,
		.group_count = room->slots.group_count,
		.has_default = certs_has_default(&room->certs),
		.hard_stop_after_s = (unsigned)room->config.hard_stop_after,
	};
	input.bind_count = publish_binds(room->publish, &input.binds);
	render_main(&room->text, &input, description);
	show(room, "haproxy.d/00-main.cfg");
	free(socket);
}

static void on_trust_file(void *ctx, const char *name, struct str content)
{
	struct room *room = ctx;
	char *path = xasprintf("trust/%s", name);
	room->job->on_file(room->job->ctx, path, content);
	free(path);
}

static void show_all(struct room *room)
{
	static const char *const names[] = {"maps/whole.map", "maps/prefix.map"};
	/* The list says whether there is a default certificate, which the main file needs. */
	certs_show(&room->certs, on_cert_file, room);
	show_main(room);
	trust_files_show(&room->trust, on_trust_file, room);
	for (size_t i = 0; i < room->slots.group_count; i++) {
		char name[64];
		snprintf(name, sizeof(name), "haproxy.d/slots-%05u.cfg",
			room->slots.groups[i]->number);
		render_group(&room->text, room->slots.groups[i]);
		show(room, name);
	}
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		must(rowfile_text(room->rows, (enum row_table)table, &room->text) == 0);
		show(room, names[table]);
	}
	struct lb_notice *notices;
	size_t count = notices_list(room->notices, &room->arena, &notices);
	for (size_t i = 0; i < count; i++)
		room->job->on_notice(room->job->ctx, &notices[i]);
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
		take_commit(&room);
		show_all(&room);
		room_fini(&room);
		publish_free(room.publish);
	}
	options_free(&config_table, &room.config);
	return problem;
}

extern const struct offline haproxy_offline;
const struct offline haproxy_offline = {
	.name = "haproxy",
	.options = &config_table,
	.capabilities = local_capabilities,
	.render = render,
};
