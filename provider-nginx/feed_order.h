// SPDX-License-Identifier: Apache-2.0
/* In which order dirty rows go into batches; see feed.h. No I/O. */
#pragma once

#include "provider-nginx/batch.h"
#include "provider-nginx/objects.h"

struct feed_order {
	struct rows *routes;
	struct objects *objects;
	struct state *state;
	struct buf *scratch; /* for values; may hold keys, wiped by its owner */
	bool keeps;          /* no row goes now */
};

/* What stands before the key of a row in a batch. */
enum { FEED_OBJECT = 'O', FEED_WHOLE = 'W', FEED_PREFIX = 'P' };

/* Fills a batch that has begun with dirty rows until it is full or none is left. Rows that cannot be sent at all are counted in
 * *ret_refused and taken for done. */
void feed_order_fill(const struct feed_order *order, struct buf *batch, size_t *ret_refused);
/* Fills it with wanted rows from `*position` on, and moves that; 0 is the first. False: none was left. */
bool feed_order_fill_whole(
	const struct feed_order *order, struct buf *batch, struct row **position, unsigned *stage);
/* nginx has the rows. */
void feed_order_settle(const struct feed_order *order, struct str rows);
void feed_order_found(const struct feed_order *order, const struct batch_row *row);
