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

char *rendering_init(
	struct rendering *room, const struct filter_job *job, const struct local_options *options)
{
	char *problem = NULL;
	struct publish *publish =
		publish_new(&options->publish_addresses, &options->bind_addresses, &problem);
	if (publish == NULL)
		return problem;
	*room = (struct rendering){.job = job, .options = options, .publish = publish};
	arena_init(&room->arena);
	buf_init(&room->text, TEXT_LEN_MAX);
	room->rows = rows_new();
	room->notices = notices_new(NULL, NULL);
	room->unserved = unserved_new(room->notices);
	room->routes = routes_new(room->rows, room->notices);
	routes_on_commit(room->routes, job->state, job->commit);
	return NULL;
}

void rendering_fini(struct rendering *room)
{
	routes_free(room->routes, room->job->state);
	unserved_free(room->unserved);
	notices_free(room->notices);
	rows_free(room->rows);
	publish_free(room->publish);
	buf_wipe_fini(&room->text);
	arena_fini(&room->arena);
}

void rendering_show(struct rendering *room, const char *name)
{
	room->job->on_file(room->job->ctx, name, buf_str(&room->text));
	buf_clear(&room->text);
}

void rendering_show_in(
	struct rendering *room, const char *folder, const char *name, struct str content)
{
	char *path = xasprintf("%s/%s", folder, name);
	room->job->on_file(room->job->ctx, path, content);
	free(path);
}

void rendering_tell_ports(struct rendering *room, const struct ports *ports)
{
	unserved_set(room->unserved, ports);
}

void rendering_show_notices(struct rendering *room)
{
	struct object *object = state_first(room->job->state, LB_LOAD_BALANCER);
	for (; object != NULL; object = state_next(room->job->state, object)) {
		struct lb_notice *notices;
		size_t count =
			notices_list(room->notices, object_id(object), &room->arena, &notices);
		room->job->on_notices(room->job->ctx, object, notices, count);
	}
}
