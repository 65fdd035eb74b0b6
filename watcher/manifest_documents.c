// SPDX-License-Identifier: Apache-2.0
#include "watcher/manifest_documents.h"

#include "common/must.h"
#include "proto/frame_stream.h"

#include <stdlib.h>

enum {
	TEXT_WRITE_LEN = 64 * 1024,
	TEXT_LEN_MAX = 64 * 1024 * 1024, /* of one object; API servers take a few megabytes */
};

static const char *const kinds[] = {
	"ConfigMap", "DaemonSet", "Deployment", "Ingress", "IngressClass"};

int manifest_documents_open(struct manifest_documents *documents, const char *path)
{
	*documents = (struct manifest_documents){.fd = -1};
	buf_init(&documents->text, TEXT_LEN_MAX);
	if (path == NULL)
		return 0;
	documents->fd = frame_stream_open_output(path);
	return documents->fd >= 0 ? 0 : documents->fd;
}

static void write_out(struct manifest_documents *documents, size_t len_min)
{
	int err = frame_stream_write(documents->fd, &documents->text, len_min);
	if (err != 0) {
		documents->err = documents->err != 0 ? documents->err : err;
		buf_clear(&documents->text);
	}
}

int manifest_documents_close(struct manifest_documents *documents)
{
	if (documents->fd >= 0) {
		write_out(documents, 0);
		frame_stream_close(documents->fd);
	}
	buf_fini(&documents->text);
	return documents->err;
}

static bool is_wanted(struct str kind)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (str_eq_c(kind, kinds[i]))
			return true;
	}
	return false;
}

void manifest_documents_add(struct manifest_documents *documents, struct str kind,
	const struct json *object, const struct manifest_place *place)
{
	if (documents->fd < 0 || !is_wanted(kind))
		return;
	char *file = str_dup_utf8(str_from(place->file));
	size_t before = buf_len(&documents->text);
	int err = buf_printf(&documents->text, "{\"line\":%u,\"file\":", place->line);
	if (err == 0)
		err = json_put_text(&documents->text, str_from(file));
	if (err == 0)
		err = buf_append(&documents->text, ",\"object\":", 10);
	if (err == 0)
		err = json_print(object, &documents->text);
	if (err == 0)
		err = buf_append(&documents->text, "}\n", 2);
	free(file);
	if (err != 0) {
		buf_cut(&documents->text, before);
		documents->err = documents->err != 0 ? documents->err : err;
	}
	write_out(documents, TEXT_WRITE_LEN);
}
