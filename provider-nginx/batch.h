// SPDX-License-Identifier: Apache-2.0
/*
 * Batches of rows, as they are sent to nginx over the control socket and stored in the state file; lua/sluice/store.lua reads them and
 * describes the format. No I/O. A batch may hold private keys: whoever keeps one wipes it.
 */
#pragma once

#include "common/buf.h"

enum {
	BATCH_HEAD_LEN = 83,
	/* Two megabytes of a certificate object, and room for the rest. */
	BATCH_LEN_MAX = 4 * 1024 * 1024,
	BATCH_KEY_LEN_MAX = 8 * 1024,
	/* A batch that holds more rows than this is sent before another row is added. */
	BATCH_FULL_LEN = 512 * 1024,
};

enum batch_flags {
	BATCH_FIRST = 1, /* first piece of a whole state: no base is needed */
	BATCH_LAST = 2,  /* last piece of a whole state: what was not repeated is forgotten */
};

struct batch_head {
	unsigned flags;
	uint64_t base;   /* serial of the state that it changes */
	uint64_t serial; /* of the state that it makes; never 0 */
};

struct batch_row {
	struct str key;
	struct str value; /* absent: the row is deleted */
};

/* Makes `out` an empty batch, with room for the head. */
void batch_begin(struct buf *out);
/* An absent value deletes. -EMSGSIZE, and nothing is added, when a limit is exceeded. */
[[nodiscard]] int batch_add(struct buf *out, struct str key, struct str value);
/* Whether any row was added, and whether it is time to send. */
bool batch_is_empty(const struct buf *batch);
bool batch_is_full(const struct buf *batch);
/* Fills in the head. */
void batch_end(struct buf *batch, const struct batch_head *head);

/* Splits the batch that `text` begins with into head and rows, all checked; *ret_len is its length. -EBADMSG: there is no whole batch. */
[[nodiscard]] int batch_read(
	struct str text, struct batch_head *ret_head, struct str *ret_rows, size_t *ret_len);
/* The next of rows that batch_read() has checked; false at the end. */
bool batch_next(struct str *rows, struct batch_row *ret_row);
