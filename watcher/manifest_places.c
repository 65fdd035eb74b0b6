// SPDX-License-Identifier: Apache-2.0
#include "watcher/manifest_places.h"

#include "common/json.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "proto/frame_stream.h"
#include "proto/message.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TEXT_WRITE_LEN = 64 * 1024,
	TEXT_LEN_MAX = 1024 * 1024,
	NAME_LEN_MAX = 1024, /* far more than Kubernetes allows */
};

int manifest_places_open(struct manifest_places *places, const char *path)
{
	*places = (struct manifest_places){.fd = STDERR_FILENO, .has_all = path != NULL};
	buf_init(&places->text, TEXT_LEN_MAX);
	if (path != NULL)
		places->fd = frame_stream_open_output(path);
	return places->fd >= 0 ? 0 : places->fd;
}

static void put_member(struct buf *out, const char *name, struct str text)
{
	must(buf_printf(out, ",\"%s\":", name) == 0);
	must(json_put_text(out, text) == 0);
}

static struct str name_within_limit(struct str name)
{
	return name.len <= NAME_LEN_MAX ? name : STR_NONE;
}

static void put_object(struct buf *out, const struct manifest_object *object)
{
	must(buf_printf(out, "{\"line\":%u", object->place != NULL ? object->place->line : 0) == 0);
	if (object->place != NULL) {
		char *file = str_dup_utf8(str_from(object->place->file));
		put_member(out, "file", str_from(file));
		free(file);
	}
	put_member(out, "kind", str_from(object->kind));
	put_member(out, "namespace", name_within_limit(object->namespace));
	put_member(out, "name", name_within_limit(object->name));
}

static void end_line(struct manifest_places *places, size_t len_min)
{
	must(buf_append(&places->text, "}\n", 2) == 0);
	int err = frame_stream_write(places->fd, &places->text, len_min);
	if (err != 0) {
		places->err = places->err != 0 ? places->err : err;
		buf_clear(&places->text);
	}
}

void manifest_places_add(struct manifest_places *places, const struct manifest_object *object)
{
	if (!places->has_all)
		return;
	put_object(&places->text, object);
	end_line(places, TEXT_WRITE_LEN);
}

void manifest_places_tell(struct manifest_places *places, const struct manifest_object *object,
	const char *reason, const char *message)
{
	put_object(&places->text, object);
	put_member(&places->text, "type", STR("Warning"));
	put_member(&places->text, "reason", str_from(reason));
	put_member(&places->text, "message", str_from(message));
	end_line(places, TEXT_WRITE_LEN);
}

void manifest_places_refuse(
	struct manifest_places *places, const struct manifest_object *object, const char *why)
{
	char *message = xasprintf("this object cannot be read: %s", why);
	must(strlen(message) <= MANIFEST_MESSAGE_MAX);
	manifest_places_tell(places, object, "Unusable", message);
	free(message);
}

void manifest_places_count(struct manifest_places *places, const size_t counts[RECORD_KIND_COUNT])
{
	if (!places->has_all)
		return;
	must(buf_printf(&places->text, "{\"counts\":{") == 0);
	for (int k = RECORD_NONE + 1; k < RECORD_KIND_COUNT; k++)
		must(buf_printf(&places->text, "%s\"%s\":%zu", k != RECORD_NONE + 1 ? "," : "",
			     record_kind_word((enum record_kind)k), counts[k]) == 0);
	must(buf_append(&places->text, "}", 1) == 0);
	end_line(places, TEXT_WRITE_LEN);
}

int manifest_places_close(struct manifest_places *places)
{
	int err = frame_stream_write(places->fd, &places->text, 0);
	frame_stream_close(places->fd);
	buf_fini(&places->text);
	return places->err != 0 ? places->err : err;
}
