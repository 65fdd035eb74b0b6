// SPDX-License-Identifier: Apache-2.0
/* Renders the configuration that a first start with this state installs, and the rows for nginx. */
#include "provider-nginx/filter.h"

#include "provider-proxy/checksum.h"
#include "provider-proxy/rendering.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-proxy/capabilities.h"
#include "provider-nginx/config.h"
#include "provider-nginx/rule_text.h"
#include "provider-nginx/wanted.h"

struct renderer {
	struct rendering common;
	struct conf_options options;
	struct objects *objects;
	struct wanted *wanted;
	struct ways ways;
};

static void renderer_init(struct renderer *renderer, const struct config *config)
{
	const struct rendering *common = &renderer->common;
	config_fill(config, &renderer->options);
	renderer->options.control = 'a';
	renderer->objects =
		objects_new(common->notices, NULL, !str_is_empty(renderer->options.system_ca));
	objects_on_commit(renderer->objects, common->job->state, common->job->commit);
	renderer->wanted = wanted_new(&(struct wanted_parts){
		.state = common->job->state,
		.rows = common->rows,
		.routes = common->routes,
		.notices = common->notices,
		.publish = common->publish,
		.objects = renderer->objects,
		.options = &renderer->options,
		.ways = &renderer->ways,
	});
}

static void renderer_fini(struct renderer *renderer)
{
	wanted_free(renderer->wanted);
	objects_free(renderer->objects);
}

/* One row a line, certificates as digests (objects.h): the state file itself is not text. */
static void add_rows(struct buf *text, struct rows *rows, enum row_table table)
{
	struct row *row = rows_first(rows, table);
	for (; row != NULL; row = rows_next(row)) {
		if (row_wanted(row).p == NULL)
			continue;
		must(buf_printf(text, "%s%.*s %.*s\n", table == ROW_PREFIX ? "prefix:" : "",
			     STR_FMT(row_key(row)), STR_FMT(row_wanted(row))) == 0);
	}
}

static char *show_all(struct renderer *renderer)
{
	struct rendering *common = &renderer->common;
	struct buf *text = &common->text;
	uint64_t generation = 0;
	const struct conf *conf = wanted_collect(renderer->wanted, NULL);
	rendering_tell_ports(common, conf->ports);
	int err = conf_render(conf, NULL, text, &generation);
	if (err != 0)
		return xasprintf("nginx.conf cannot be written: %s", strerrordesc_np(-err));
	/* The rows as for an nginx that runs with this configuration. */
	(void)objects_set_live(renderer->objects, common->job->state, buf_str(text));
	must(checksum_append(text, 0) == 0);
	rendering_show(common, "nginx.conf");
	add_rows(text, objects_rows(renderer->objects), ROW_WHOLE);
	add_rows(text, common->rows, ROW_WHOLE);
	add_rows(text, common->rows, ROW_PREFIX);
	rendering_show(common, "state.rows");
	rendering_show_notices(common);
	return NULL;
}

static char *render(const struct filter_job *job, const void *ctx)
{
	const struct config *config = ctx;
	struct renderer renderer = {.objects = NULL};
	struct route_writer writer = rule_text_writer;
	writer.ctx = &renderer.ways;
	char *problem =
		rendering_init(&renderer.common, job, &config->local, ROUTES_BY_HOST, &writer);
	if (problem != NULL)
		return problem;
	renderer_init(&renderer, config);
	problem = show_all(&renderer);
	renderer_fini(&renderer);
	rendering_fini(&renderer.common);
	return problem;
}

static char *check(void *config)
{
	return config_check(config);
}

const struct provider_filter nginx_filter = {
	.options_offset = offsetof(struct config, filter),
	.common_offset = offsetof(struct config, local.common),
	.name = "nginx",
	.software = "sluice-provider-nginx " SLUICE_VERSION,
	.capabilities = nginx_capabilities,
	.prepare = rendering_prepare,
	.check = check,
	.render = render,
};
