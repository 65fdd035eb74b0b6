// SPDX-License-Identifier: Apache-2.0
/* The files that a first start with this state writes, in the steps of engine.c and change.c. */
#include "provider-haproxy/filter.h"

#include "provider-proxy/checksum.h"
#include "provider-proxy/rendering.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-haproxy/assign.h"
#include "provider-haproxy/certs.h"
#include "provider-haproxy/config.h"
#include "provider-haproxy/render.h"
#include "provider-proxy/capabilities.h"
#include "provider-proxy/rowfile.h"

#include <stdio.h>
#include <stdlib.h>

struct room {
	struct rendering common;
	const struct config *config;
	struct slots slots;
	struct certs certs;
	struct trust_files trust;
	struct ports ports;
};

static void room_init(struct room *room)
{
	const struct rendering *common = &room->common;
	char *dir = xasprintf("%s/certs", common->options->state_dir);
	slots_init(&room->slots);
	certs_init_offline(&room->certs, common->job->state, common->notices, dir);
	free(dir);
	dir = xasprintf("%s/trust", common->options->state_dir);
	trust_files_init(&room->trust, dir);
	free(dir);
}

static void room_fini(struct room *room)
{
	certs_fini(&room->certs);
	trust_files_fini(&room->trust);
	slots_fini(&room->slots);
}

static void take_commit(struct room *room)
{
	struct rendering *common = &room->common;
	const struct state_commit *commit = common->job->commit;
	struct str default_certificate = STR_NONE;
	struct assign assign = {
		.slots = &room->slots,
		.state = common->job->state,
		.rows = common->rows,
		.notices = common->notices,
		.arena = &common->arena,
		.trust = &room->trust,
		.paths = {.state_dir = common->options->state_dir,
			.system_ca = room->config->trusted_certificates},
		.cookie_key = room->config->cookie_key,
		.slots_min = (size_t)room->config->slots,
	};
	for (size_t i = 0; i < commit->change_count; i++) {
		struct object *object = commit->changes[i].object;
		struct slot *left = NULL;
		if (object_kind(object) == LB_POOL)
			(void)assign_pool(&assign, object, &left);
		else if (object_kind(object) == LB_CERTIFICATE)
			certs_on_change(&room->certs, object, false);
	}
	ports_collect(common->job->state, common->routes, common->publish, common->notices, NULL,
		&common->arena, &room->ports);
	rendering_tell_ports(common, &room->ports);
	for (size_t i = 0; i < room->ports.count && str_is_empty(default_certificate); i++)
		default_certificate = room->ports.items[i].default_certificate;
	certs_set_default(&room->certs, default_certificate);
	assign_provide(&assign);
}

static void on_cert_file(void *ctx, const char *name, struct str content)
{
	rendering_show_in(ctx, "certs", name, content);
}

static void on_trust_file(void *ctx, const char *name, struct str content)
{
	rendering_show_in(ctx, "trust", name, content);
}

static void show_main(struct room *room)
{
	struct rendering *common = &room->common;
	char description[RENDER_DESCRIPTION_LEN];
	char *socket = room->config->socket != NULL
			       ? xstrdup(room->config->socket)
			       : xasprintf("%s/" HAPROXY_SOCKET, local_proxy_dir(common->options));
	struct render_input input = {
		.state_dir = common->options->state_dir,
		.proxy_dir = local_proxy_dir(common->options),
		.socket = socket,
		.ports = &room->ports,
		.group_count = room->slots.group_count,
		.groups_layout = slots_layout(&room->slots),
		.has_default = certs_has_default(&room->certs),
		.hard_stop_after_s = (unsigned)room->config->hard_stop_after,
	};
	render_main(&common->text, &input, description);
	must(checksum_append(&common->text, 0) == 0);
	rendering_show(common, "haproxy.d/00-main.cfg");
	free(socket);
}

static void show_all(struct room *room)
{
	struct rendering *common = &room->common;
	static const char *const names[] = {"maps/whole.map", "maps/prefix.map"};
	/* The list says whether there is a default certificate, which the main file needs. */
	certs_show(&room->certs, on_cert_file, common);
	show_main(room);
	trust_files_show(&room->trust, on_trust_file, common);
	for (size_t i = 0; i < room->slots.group_count; i++) {
		char name[64];
		snprintf(name, sizeof(name), "haproxy.d/slots-%05u.cfg",
			room->slots.groups[i]->number);
		render_group(&common->text, room->slots.groups[i]);
		must(checksum_append(&common->text, 0) == 0);
		rendering_show(common, name);
	}
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		must(rowfile_text(common->rows, (enum row_table)table, &common->text) == 0);
		rendering_show(common, names[table]);
	}
	rendering_show_notices(common);
}

static char *render(const struct filter_job *job, const void *ctx)
{
	const struct config *config = ctx;
	struct room room = {.config = config};
	char *problem = rendering_init(&room.common, job, &config->local);
	if (problem != NULL)
		return problem;
	room_init(&room);
	take_commit(&room);
	show_all(&room);
	room_fini(&room);
	rendering_fini(&room.common);
	return NULL;
}

const struct provider_filter haproxy_filter = {
	.name = "haproxy",
	.software = "sluice-provider-haproxy " SLUICE_VERSION,
	.capabilities = local_capabilities,
	.prepare = rendering_prepare,
	.render = render,
};
