// SPDX-License-Identifier: Apache-2.0
#include "watcher/list_reader.h"

#include "common/json_scan.h"
#include "common/must.h"

enum {
	LIST_KEEP_LEN = 64 * 1024,
	ITEMS_DEPTH = 2,   /* inside { "items": [ */
	DEPTH_MAX = 10000, /* guards the counter; the parser has its own limit */
};

void list_reader_init(struct list_reader *reader, size_t body_max, bool is_secret)
{
	*reader = (struct list_reader){.body_max = body_max, .is_secret = is_secret};
	buf_init(&reader->frame, LIST_FRAME_MAX);
	buf_init(&reader->item, LIST_ITEM_MAX);
}

void list_reader_fini(struct list_reader *reader)
{
	buf_fini(&reader->frame);
	if (reader->is_secret)
		buf_wipe_fini(&reader->item);
	else
		buf_fini(&reader->item);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Where the current text ends within `piece`: one past its closing quote, or at the end of the piece. */
static size_t skip_text(struct list_reader *reader, struct str piece, size_t at)
{
	while (at < piece.len) {
		if (reader->escaped) {
			reader->escaped = false;
			at++;
			continue;
		}
		at = json_scan_plain(piece, at);
		if (at == piece.len)
			return at;
		char c = piece.p[at++];
		if (c == '"') {
			reader->in_text = false;
			return at;
		}
		reader->escaped = c == '\\'; /* checking escapes is up to the parser */
	}
	return at;
}

/* ---- inside the items ---- */

static void keep_item(struct list_reader *reader, struct str bytes)
{
	size_t room = LIST_ITEM_MAX - buf_len(&reader->item);
	if (reader->item_lost)
		return;
	if (bytes.len > room) {
		reader->item_lost = true;
		bytes.len = room;
	}
	must(buf_append_str(&reader->item, bytes) == 0);
}

/* `end` is the last part of the item; if nothing was buffered, it is the whole item. */
static int end_item(struct list_reader *reader, struct str end,
	int (*on_item)(void *ctx, struct str item), void *ctx)
{
	struct str item = end;
	if (buf_len(&reader->item) != 0 || reader->item_lost || end.len > LIST_ITEM_MAX) {
		keep_item(reader, end);
		item = buf_str(&reader->item);
	}
	int err = 0;
	if (item.len != 0)
		err = on_item(ctx, item);
	if (err < 0)
		return err;
	reader->item_lost = false;
	if (reader->is_secret)
		buf_wipe_fini(&reader->item);
	else
		buf_shrink(&reader->item, LIST_KEEP_LEN);
	return LIST_OK;
}

static bool nothing_kept(const struct list_reader *reader)
{
	return buf_len(&reader->item) == 0 && !reader->item_lost;
}

/* Starts at `*at` and leaves it after the items: at the end of the piece, or at the closing bracket. */
static int read_items(struct list_reader *reader, struct str piece, size_t *at,
	int (*on_item)(void *ctx, struct str item), void *ctx)
{
	size_t from = *at;
	size_t i = *at;
	while (i < piece.len) {
		if (reader->in_text) {
			i = skip_text(reader, piece, i);
			continue;
		}
		char c = piece.p[i];
		if (reader->depth == ITEMS_DEPTH && (c == ',' || c == ']')) {
			int err = end_item(
				reader, (struct str){piece.p + from, i - from}, on_item, ctx);
			if (err != LIST_OK)
				return err;
			if (c == ']') {
				reader->in_items = false;
				*at = i;
				return LIST_OK;
			}
			from = i + 1;
		} else if (reader->depth == ITEMS_DEPTH && from == i && is_space(c) &&
			   nothing_kept(reader)) {
			from = i + 1; /* start of the next item */
		} else if (c == '"') {
			reader->in_text = true;
		} else if (c == '{' || c == '[') {
			if (++reader->depth > DEPTH_MAX)
				return LIST_E_MALFORMED;
		} else if (c == '}' || c == ']') {
			if (--reader->depth < ITEMS_DEPTH)
				return LIST_E_MALFORMED;
		}
		i++;
	}
	keep_item(reader, (struct str){piece.p + from, i - from});
	*at = i;
	return LIST_OK;
}

/* ---- around the items ---- */

static void note_key(struct list_reader *reader, struct str bytes)
{
	for (size_t i = 0; i < bytes.len; i++) {
		if (reader->key_len < sizeof(reader->key))
			reader->key[reader->key_len++] = bytes.p[i];
	}
}

static bool opens_items(const struct list_reader *reader, char c)
{
	static const char name[] = "items\"";
	return c == '[' && reader->depth == 1 && !reader->seen_items &&
	       reader->key_len == sizeof(name) - 1 &&
	       memcmp(reader->key, name, sizeof(name) - 1) == 0;
}

static int read_structure(struct list_reader *reader, char c)
{
	if (reader->done)
		return is_space(c) ? LIST_OK : LIST_E_MALFORMED;
	if (reader->depth == 0 && c != '{')
		return is_space(c) ? LIST_OK : LIST_E_MALFORMED;
	if (c == '"') {
		reader->in_text = true;
		reader->key_len = 0;
	} else if (opens_items(reader, c)) {
		reader->in_items = true;
		reader->seen_items = true;
		reader->depth++;
	} else if (c == '{' || c == '[') {
		if (++reader->depth > DEPTH_MAX)
			return LIST_E_MALFORMED;
	} else if (c == '}' || c == ']') {
		reader->done = --reader->depth == 0;
	}
	/* "items" counts only directly before its list. */
	if (c != '"' && c != ':' && !is_space(c))
		reader->key_len = 0;
	return LIST_OK;
}

static int read_frame(struct list_reader *reader, struct str piece, size_t *at)
{
	size_t from = *at;
	size_t i = *at;
	int err = LIST_OK;
	while (i < piece.len && !reader->in_items && err == LIST_OK) {
		if (reader->in_text) {
			size_t end = skip_text(reader, piece, i);
			if (reader->depth == 1)
				note_key(reader, (struct str){piece.p + i, end - i});
			i = end;
		} else {
			err = read_structure(reader, piece.p[i++]);
		}
	}
	if (err == LIST_OK &&
		buf_append_str(&reader->frame, (struct str){piece.p + from, i - from}) != 0)
		err = LIST_E_MALFORMED;
	*at = i;
	return err;
}

int list_reader_feed(struct list_reader *reader, struct str piece,
	int (*on_item)(void *ctx, struct str item), void *ctx)
{
	size_t at = 0;
	if (piece.len > reader->body_max - reader->body_len)
		return LIST_E_TOO_LONG;
	reader->body_len += piece.len;
	while (at < piece.len) {
		int err = LIST_OK;
		if (reader->in_items)
			err = read_items(reader, piece, &at, on_item, ctx);
		/* The closing bracket of the items belongs to the frame. */
		if (err == LIST_OK && !reader->in_items && at < piece.len)
			err = read_frame(reader, piece, &at);
		if (err != LIST_OK)
			return err;
	}
	return LIST_OK;
}

int list_reader_end(struct list_reader *reader, struct str *ret_frame)
{
	if (!reader->done)
		return LIST_E_MALFORMED;
	*ret_frame = buf_str(&reader->frame);
	return LIST_OK;
}
