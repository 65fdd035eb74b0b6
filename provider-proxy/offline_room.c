// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/offline_room.h"

#include "common/xalloc.h"

#include <stdlib.h>

enum { TEXT_LEN_MAX = 512 * 1024 * 1024 };

char *offline_room_init(struct offline_room *room, const struct offline_job *job,
	const struct local_options *options)
{
	char *problem = NULL;
	struct publish *publish =
		publish_new(&options->publish_addresses, &options->bind_addresses, &problem);
	if (publish == NULL)
		return problem;
	*room = (struct offline_room){.job = job, .options = options, .publish = publish};
	arena_init(&room->arena);
	buf_init(&room->text, TEXT_LEN_MAX);
	room->rows = rows_new();
	room->notices = notices_new(NULL, NULL);
	room->unserved = unserved_new(room->notices);
	room->routes = routes_new(room->rows, room->notices);
	routes_on_commit(room->routes, job->state, job->commit);
	return NULL;
}

void offline_room_fini(struct offline_room *room)
{
	routes_free(room->routes, room->job->state);
	unserved_free(room->unserved);
	notices_free(room->notices);
	rows_free(room->rows);
	publish_free(room->publish);
	buf_wipe_fini(&room->text);
	arena_fini(&room->arena);
}

void offline_room_show(struct offline_room *room, const char *name)
{
	room->job->on_file(room->job->ctx, name, buf_str(&room->text));
	buf_clear(&room->text);
}

void offline_room_show_in(
	struct offline_room *room, const char *folder, const char *name, struct str content)
{
	char *path = xasprintf("%s/%s", folder, name);
	room->job->on_file(room->job->ctx, path, content);
	free(path);
}

void offline_room_tell_ports(struct offline_room *room, const struct ports *ports)
{
	unserved_set(room->unserved, ports);
}

void offline_room_show_notices(struct offline_room *room)
{
	struct lb_notice *notices;
	size_t count = notices_list(room->notices, STR(""), &room->arena, &notices);
	for (size_t i = 0; i < count; i++)
		room->job->on_notice(room->job->ctx, &notices[i]);
}
