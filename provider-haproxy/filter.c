// SPDX-License-Identifier: Apache-2.0
/* Renders the files that a first start with this state writes, in the steps of engine.c and change.c. */
#include "provider-haproxy/filter.h"

#include "provider-proxy/checksum.h"
#include "provider-proxy/rendering.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-haproxy/assign.h"
#include "provider-haproxy/disk.h"
#include "provider-haproxy/certs.h"
#include "provider-haproxy/clients.h"
#include "provider-haproxy/config.h"
#include "provider-haproxy/lua_off.h"
#include "provider-haproxy/policies.h"
#include "provider-haproxy/render.h"
#include "provider-haproxy/users.h"
#include "provider-proxy/capabilities.h"
#include "provider-proxy/rowfile.h"

#include <stdio.h>
#include <stdlib.h>

struct renderer {
	struct rendering common;
	const struct config *config;
	struct slots slots;
	struct certs certs;
	struct trust_files trust;
	struct users_rows users;
	struct ports ports;
	struct policies_needs needs;
};

static void renderer_init(struct renderer *renderer)
{
	const struct rendering *common = &renderer->common;
	char *dir = xasprintf("%s/certs", common->options->state_dir);
	slots_init(&renderer->slots);
	certs_init_offline(&renderer->certs, common->job->state, common->notices, dir);
	free(dir);
	char *authority = xasprintf("%s/" LUA_OFF_FILE, common->options->state_dir);
	certs_set_authority(&renderer->certs, authority);
	free(authority);
	dir = xasprintf("%s/trust", common->options->state_dir);
	trust_files_init(&renderer->trust, dir);
	free(dir);
	renderer->users = (struct users_rows){
		.state = common->job->state, .rows = common->rows, .hides_hashes = true};
}

static void renderer_fini(struct renderer *renderer)
{
	users_fini(&renderer->users);
	certs_fini(&renderer->certs);
	trust_files_fini(&renderer->trust);
	slots_fini(&renderer->slots);
}

static void ask_clients(struct renderer *renderer)
{
	struct row *row = rows_first(renderer->common.rows, ROW_RULE);
	for (; row != NULL; row = rows_next(row)) {
		if (clients_key_of(row_key(row)).p != NULL && clients_are_asked(row_wanted(row)))
			certs_ask(&renderer->certs, clients_key_of(row_key(row)), true);
	}
}

static void take_commit(struct renderer *renderer)
{
	struct rendering *common = &renderer->common;
	const struct state_commit *commit = common->job->commit;
	struct assign assign = {
		.slots = &renderer->slots,
		.state = common->job->state,
		.rows = common->rows,
		.notices = common->notices,
		.arena = &common->arena,
		.trust = &renderer->trust,
		.paths = {.state_dir = common->options->state_dir,
			.system_ca = renderer->config->trusted_certificates},
		.cookie_key = renderer->config->cookie_key,
		.names_services = renderer->config->local.access_log != ACCESS_LOG_OFF ||
				  renderer->needs.services,
		.slots_min = (size_t)renderer->config->slots,
	};
	ask_clients(renderer);
	for (size_t i = 0; i < commit->change_count; i++) {
		struct object *object = commit->changes[i].object;
		struct slot *left = NULL;
		if (object_kind(object) == LB_POOL)
			(void)assign_pool(&assign, object, &left);
		else if (object_kind(object) == LB_USERS)
			users_on_change(&renderer->users, object, false, &common->arena);
		else if (object_kind(object) == LB_CERTIFICATE)
			certs_on_change(&renderer->certs, object, false);
	}
	ports_collect(common->job->state, common->routes, common->publish, common->notices, NULL,
		&common->arena, &renderer->ports);
	rendering_tell_ports(common, &renderer->ports);
	certs_set_default(&renderer->certs, ports_default_certificate(&renderer->ports));
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

static void show_main(struct renderer *renderer)
{
	struct rendering *common = &renderer->common;
	char description[RENDER_DESCRIPTION_LEN];
	char *socket = renderer->config->socket != NULL
			       ? xstrdup(renderer->config->socket)
			       : xasprintf("%s/" HAPROXY_SOCKET, local_proxy_dir(common->options));
	struct render_input input = {
		.state_dir = common->options->state_dir,
		.proxy_dir = local_proxy_dir(common->options),
		.socket = socket,
		.ports = &renderer->ports,
		.group_count = renderer->slots.group_count,
		.groups_layout = slots_layout(&renderer->slots),
		.has_default = certs_has_default(&renderer->certs),
		.hard_stop_after_s = (unsigned)renderer->config->hard_stop_after,
		.access_log = (enum access_log_form)renderer->config->local.access_log,
		.access_log_server = config_access_log_server(renderer->config),
		.trusted_proxies = &renderer->config->local.trusted_proxies,
		.client_header = renderer->config->local.client_address_header,
		.trace_context = (enum trace_context)common->options->trace_context,
		.metrics_ingresses = common->options->metrics_ingresses,
	};
	render_main(&common->text, &input, description);
	must(checksum_append(&common->text, 0) == 0);
	rendering_show(common, "haproxy.d/00-main.cfg");
	free(socket);
}

static void show_all(struct renderer *renderer)
{
	struct rendering *common = &renderer->common;
	/* The list determines whether there is a default certificate, which the main file needs to know. */
	certs_show(&renderer->certs, on_cert_file, common);
	show_main(renderer);
	must(buf_append_str(&common->text, lua_off_script()) == 0);
	must(checksum_append(&common->text, 0) == 0);
	rendering_show(common, LUA_OFF_FILE);
	trust_files_show(&renderer->trust, on_trust_file, common);
	for (size_t i = 0; i < renderer->slots.group_count; i++) {
		char name[64];
		snprintf(name, sizeof(name), "haproxy.d/slots-%05u.cfg",
			renderer->slots.groups[i]->number);
		render_group(&common->text, renderer->slots.groups[i]);
		must(checksum_append(&common->text, 0) == 0);
		rendering_show(common, name);
	}
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		must(rowfile_text(common->rows, (enum row_table)table, &common->text) == 0);
		rendering_show(common, disk_map_name((enum row_table)table));
	}
	rendering_show_notices(common);
}

static char *render(const struct filter_job *job, const void *ctx)
{
	const struct config *config = ctx;
	struct renderer renderer = {.config = config};
	struct route_writer writer = policies_writer;
	writer.ctx = &renderer.needs;
	char *problem =
		rendering_init(&renderer.common, job, &config->local, ROUTES_DIRECT, &writer);
	if (problem != NULL)
		return problem;
	renderer_init(&renderer);
	take_commit(&renderer);
	show_all(&renderer);
	renderer_fini(&renderer);
	rendering_fini(&renderer.common);
	return NULL;
}

static char *check(void *config)
{
	return config_check(config);
}

const struct provider_filter haproxy_filter = {
	.options_offset = offsetof(struct config, filter),
	.common_offset = offsetof(struct config, local.common),
	.name = "haproxy",
	.software = "sluice-provider-haproxy " SLUICE_VERSION,
	.capabilities = haproxy_capabilities,
	.prepare = rendering_prepare,
	.check = check,
	.render = render,
};
