// SPDX-License-Identifier: Apache-2.0
/* The configuration that a first start with this state installs, and the rows that nginx gets. */
#include "provider-nginx/filter.h"

#include "provider-proxy/checksum.h"
#include "provider-proxy/rendering.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-proxy/capabilities.h"
#include "provider-nginx/config.h"
#include "provider-nginx/wanted.h"

struct room {
	struct rendering common;
	struct conf_options options;
	struct objects *objects;
	struct wanted *wanted;
};

static void room_init(struct room *room, const struct config *config)
{
	const struct rendering *common = &room->common;
	config_fill(config, &room->options);
	room->options.control = 'a';
	room->objects = objects_new(common->notices, NULL, !str_is_empty(room->options.system_ca));
	objects_on_commit(room->objects, common->job->state, common->job->commit);
	room->wanted = wanted_new(&(struct wanted_parts){
		.state = common->job->state,
		.rows = common->rows,
		.routes = common->routes,
		.notices = common->notices,
		.publish = common->publish,
		.objects = room->objects,
		.options = &room->options,
	});
}

static void room_fini(struct room *room)
{
	wanted_free(room->wanted);
	objects_free(room->objects);
}

/* One row a line; of certificates the digest, as objects.h has it: the state file itself is no text. */
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

static char *show_all(struct room *room)
{
	struct rendering *common = &room->common;
	struct buf *text = &common->text;
	uint64_t generation = 0;
	const struct conf *conf = wanted_collect(room->wanted, NULL);
	rendering_tell_ports(common, conf->ports);
	int err = conf_render(conf, NULL, text, &generation);
	if (err != 0)
		return xasprintf("nginx.conf cannot be written: %s", strerrordesc_np(-err));
	/* The rows are those of an nginx that runs with it. */
	(void)objects_set_live(room->objects, common->job->state, buf_str(text));
	must(checksum_append(text, 0) == 0);
	rendering_show(common, "nginx.conf");
	add_rows(text, objects_rows(room->objects), ROW_WHOLE);
	add_rows(text, common->rows, ROW_WHOLE);
	add_rows(text, common->rows, ROW_PREFIX);
	rendering_show(common, "state.rows");
	rendering_show_notices(common);
	return NULL;
}

static char *render(const struct filter_job *job, const void *ctx)
{
	const struct config *config = ctx;
	struct room room = {.objects = NULL};
	char *problem = rendering_init(&room.common, job, &config->local);
	if (problem != NULL)
		return problem;
	room_init(&room, config);
	problem = show_all(&room);
	room_fini(&room);
	rendering_fini(&room.common);
	return problem;
}

const struct provider_filter nginx_filter = {
	.name = "nginx",
	.software = "sluice-provider-nginx " SLUICE_VERSION,
	.capabilities = local_capabilities,
	.prepare = rendering_prepare,
	.render = render,
};
