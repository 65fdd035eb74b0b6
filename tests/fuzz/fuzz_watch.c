// SPDX-License-Identifier: Apache-2.0
/*
 * A watch stream, and the body of a list, in pieces: however they are cut, the same lines and elements come out, and each can be read as an
 * event or a Status or is refused. The first byte chooses the length of the pieces.
 */
#include "common/json.h"
#include "common/must.h"
#include "watcher/api_status.h"
#include "watcher/frames.h"
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	if (len < 2 || len > 1024 * 1024)
		return 0;
	struct str text = {(const char *)data + 1, len - 1};
	size_t step = 1 + (size_t)data[0];
	compare(text, step, read_stream);
	compare(text, step, read_list);
	return 0;
}
