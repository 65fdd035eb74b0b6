// SPDX-License-Identifier: Apache-2.0
/*
 * Takes the answer to a list apart while it arrives: each element of `items` is handed out as text,
 * and what surrounds them (kind, metadata) is kept as a small document with an empty list. So a
 * page of any size takes only the memory of its largest object, and an object that cannot be read
 * affects no other.
 *
 * The reader looks at quotes and brackets only; whether an element is JSON is found out by whoever
 * parses it. The surrounding frame is returned at the end, to be parsed like any document.
 */
#pragma once

#include "common/buf.h"

enum {
	LIST_BODY_MAX = 64 * 1024 * 1024,
	LIST_ITEM_MAX = 8 * 1024 * 1024,
	LIST_FRAME_MAX = 64 * 1024, /* what surrounds the items */
};

enum list_outcome {
	LIST_OK,
	LIST_E_TOO_LONG = 1,  /* the body exceeds its limit: ask for a smaller page */
	LIST_E_MALFORMED = 2, /* brackets do not match, or the frame is too long: this is no list */
};

struct list_reader {
	struct buf frame;
	struct buf item;
	size_t body_len;
	size_t body_max;
	int depth;
	bool in_text;
	bool escaped;
	bool in_items;  /* between the brackets of "items" */
	bool item_lost; /* the current item exceeds LIST_ITEM_MAX; the rest of it is skipped, and
			   on_item() is given its beginning */
	bool done;      /* the document has ended */
	bool seen_items;
	bool is_secret;
	char key[8]; /* the last text of the outer object, to find "items" */
	size_t key_len;
};

void list_reader_init(struct list_reader *reader, size_t body_max, bool is_secret);
void list_reader_fini(struct list_reader *reader);

/* Calls on_item() for each element in order; with `item_lost` set, it gets only the beginning of one that is too long. Returns an enum
 * list_outcome, or what on_item() returned if that was negative; then nothing more may be fed. */
[[nodiscard]] int list_reader_feed(struct list_reader *reader, struct str piece,
	int (*on_item)(void *ctx, struct str item), void *ctx);
/* After the last piece: the document without its items. LIST_E_MALFORMED when it has not ended. */
[[nodiscard]] int list_reader_end(struct list_reader *reader, struct str *ret_frame);
