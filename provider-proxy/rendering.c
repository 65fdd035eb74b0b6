// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/rendering.h"

#include "common/cert.h"
#include "common/xalloc.h"

#include <stdlib.h>

enum { TEXT_LEN_MAX = 512 * 1024 * 1024 };

void rendering_prepare(void)
{
	cert_setup();
	publish_prepare();
}

char *rendering_init(struct rendering *rendering, const struct filter_job *job,
	const struct local_options *options, enum routes_form form,
	const struct route_writer *writer)
{
	char *problem = NULL;
	struct publish *publish =
		publish_new(&options->publish_addresses, &options->bind_addresses, &problem);
	if (publish == NULL)
		return problem;
	*rendering = (struct rendering){.job = job, .options = options, .publish = publish};
	arena_init(&rendering->arena);
	buf_init(&rendering->text, TEXT_LEN_MAX);
	rendering->rows = rows_new();
	rendering->notices = notices_new(NULL, NULL);
	rendering->unserved = unserved_new(rendering->notices);
	rendering->routes = routes_new(rendering->rows, rendering->notices, form, writer);
	routes_name_owners(rendering->routes,
		options->access_log != ACCESS_LOG_OFF || options->metrics_ingresses != 0);
	routes_on_commit(rendering->routes, job->state, job->commit);
	return NULL;
}

void rendering_fini(struct rendering *rendering)
{
	routes_free(rendering->routes, rendering->job->state);
	unserved_free(rendering->unserved);
	notices_free(rendering->notices);
	rows_free(rendering->rows);
	publish_free(rendering->publish);
	buf_wipe_fini(&rendering->text);
	arena_fini(&rendering->arena);
}

void rendering_show(struct rendering *rendering, const char *name)
{
	rendering->job->on_file(rendering->job->ctx, name, buf_str(&rendering->text));
	buf_clear(&rendering->text);
}

void rendering_show_in(
	struct rendering *rendering, const char *folder, const char *name, struct str content)
{
	char *path = xasprintf("%s/%s", folder, name);
	rendering->job->on_file(rendering->job->ctx, path, content);
	free(path);
}

void rendering_tell_ports(struct rendering *rendering, const struct ports *ports)
{
	unserved_set(rendering->unserved, ports);
}

void rendering_show_notices(struct rendering *rendering)
{
	struct object *object = state_first(rendering->job->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(rendering->job->state, object)) {
		struct lb_notice *notices;
		size_t count = notices_list(
			rendering->notices, object_id(object), &rendering->arena, &notices);
		rendering->job->on_notices(rendering->job->ctx, object, notices, count);
	}
}
