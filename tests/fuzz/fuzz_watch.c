// SPDX-License-Identifier: Apache-2.0
/*
 * A watch stream, and the body of a list, in pieces: however they are cut, the same lines and elements come out, and each can be read as an
 * event or a Status or is refused. What is an object goes into a store, under every kind and version: what is stored can be told, what is
 * refused is refused with a reason. The first byte chooses the length of the pieces.
 */
#include "common/json.h"
#include "common/must.h"
#include "proto/frame.h"
#include "proto/message.h"
#include "watcher/api_status.h"
#include "watcher/frames.h"
#include "watcher/intake.h"
#include "watcher/list_reader.h"

enum { SEEN_MAX = 16 * 1024 * 1024 };

static int on_text(void *ctx, struct str text)
{
	struct api_status status;
	api_status_parse(text, &status);
	must(str_is_utf8(str_from(status.message)));
	must(buf_append_str(ctx, text) == 0 && buf_append(ctx, "\n", 1) == 0);
	return 0;
}

static int read_stream(struct str rest, size_t step, struct buf *seen)
{
	struct frames frames;
	int err = 0;
	frames_init(&frames, FRAMES_LINE_MAX, false);
	while (rest.len != 0 && err == 0) {
		size_t len = step < rest.len ? step : rest.len;
		err = frames_feed(&frames, (struct str){rest.p, len}, on_text, seen);
		rest = str_skip(rest, len);
	}
	frames_fini(&frames);
	return err;
}

static int read_list(struct str rest, size_t step, struct buf *seen)
{
	struct list_reader list;
	struct str around;
	int err = LIST_OK;
	list_reader_init(&list, LIST_BODY_MAX, false);
	while (rest.len != 0 && err == LIST_OK) {
		size_t len = step < rest.len ? step : rest.len;
		err = list_reader_feed(&list, (struct str){rest.p, len}, on_text, seen);
		rest = str_skip(rest, len);
	}
	if (err == LIST_OK)
		err = list_reader_end(&list, &around);
	if (err == LIST_OK)
		must(buf_append_str(seen, around) == 0);
	list_reader_fini(&list);
	return err;
}

static void compare(struct str text, size_t step, int (*reader)(struct str, size_t, struct buf *))
{
	struct buf whole;
	struct buf pieces;
	buf_init(&whole, SEEN_MAX);
	buf_init(&pieces, SEEN_MAX);
	int err = reader(text, text.len, &whole);
	must(reader(text, step, &pieces) == err);
	must(str_eq(buf_str(&whole), buf_str(&pieces)));
	buf_fini(&whole);
	buf_fini(&pieces);
}

/* ---- objects ---- */

static void on_refused(void *ctx, const struct project_meta *meta, const char *why)
{
	(void)ctx;
	(void)meta;
	must(why != NULL && why[0] != '\0');
}

static int on_line(void *ctx, struct str line)
{
	struct intake *intake = ctx;
	struct json *event = json_parse(line, NULL, NULL);
	if (event == NULL)
		return 0;
	const struct json *object = json_get(event, "object");
	/* Once as it comes, and once more, so that it meets itself. */
	intake_put(intake, object);
	if (str_eq_c(json_text(json_get(event, "type")), "DELETED"))
		intake_remove(intake, object);
	else
		intake_put(intake, object);
	json_free(event);
	return 0;
}

static int on_item(void *ctx, struct str item)
{
	intake_put_text(ctx, item);
	return 0;
}

/* Each object is a message that the other side takes. */
static void check_store(struct store *store, enum record_kind kind)
{
	for (struct store_object *o = store_first(store, kind); o != NULL; o = store_next(o)) {
		struct message_reader *reader = message_reader_new();
		struct message message;
		union project_record record;
		struct schema_error error = {""};
		struct arena arena;
		struct buf frame;
		arena_init(&arena);
		buf_init(&frame, FRAME_HEAD_LEN + FRAME_LEN_MAX);
		store_encode(o, &frame);
		must(message_open(reader, str_skip(buf_str(&frame), FRAME_HEAD_LEN), &message,
			     &error) == 0);
		must(message_decode(&message, &arena, &record, &error) == 0);
		must(record.key.kind == kind && record.key.name.len != 0);
		message_reader_free(reader);
		arena_fini(&arena);
		buf_fini(&frame);
	}
}

static void take(struct str text, const struct kind_version *version)
{
	struct frames frames;
	struct list_reader list;
	struct project_ours ours;
	struct intake intake;
	struct store store;
	store_init(&store);
	project_ours_init(&ours, STR("sluice.io/load-balancer"), true);
	intake_init(&intake, version, &store, &ours, on_refused, NULL);
	frames_init(&frames, FRAMES_LINE_MAX, intake_is_secret(&intake));
	(void)!frames_feed(&frames, text, on_line, &intake);
	frames_fini(&frames);
	list_reader_init(&list, LIST_BODY_MAX, intake_is_secret(&intake));
	(void)!list_reader_feed(&list, text, on_item, &intake);
	list_reader_fini(&list);
	check_store(&store, version->kind);
	intake_fini(&intake);
	store_fini(&store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 2 || len > 1024 * 1024)
		return 0;
	struct str text = {(const char *)data + 1, len - 1};
	size_t step = 1 + (size_t)data[0];
	compare(text, step, read_stream);
	compare(text, step, read_list);
	for (int kind = RECORD_NONE + 1; kind < RECORD_KIND_COUNT; kind++) {
		const struct kind_version *version;
		for (size_t i = 0; (version = kind_version_at((enum record_kind)kind, i)) != NULL;
			i++)
			take(text, version);
	}
	return 0;
}
