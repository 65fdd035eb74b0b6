// SPDX-License-Identifier: Apache-2.0
/*
 * The state file: a sequence of batches that begins with a whole state. nginx loads it when it starts (lua/sluice/store.lua); this process
 * reads it at its own start to know what nginx has. A batch is appended before it is sent to nginx, so that the file has all that nginx has,
 * whoever of us dies; only of a machine that dies it may lack what was appended since the last sync. What a crash left half written is
 * truncated. Mode 0600: it holds private keys.
 *
 * When the file cannot be written the old one stays as it is, and is behind until journal_rewrite_end() has succeeded.
 */
#pragma once

#include "provider-nginx/batch.h"

struct journal;

/* The path is copied. */
struct journal *journal_new(const char *path);
void journal_free(struct journal *journal);

/* What was wrong with the file when it was read, as the rest of a sentence whose subject is the file; NULL: nothing. */
const char *journal_problem(const struct journal *journal);
/* Hands over all rows in the order in which they were written; the last one of a key counts. 0, also when there is no file; a negative errno
 * when it cannot be read. */
int journal_read(
	struct journal *journal, void (*on_row)(void *ctx, const struct batch_row *row), void *ctx);
/* Of the last whole batch; 0 when there is none. */
uint64_t journal_serial(const struct journal *journal);
/* 0 or a negative errno; then it is behind. Whether the file is still there is not looked at. */
int journal_append(struct journal *journal, struct str batch, uint64_t serial);
/* What was appended is on the disk when this returns 0; a negative errno: it is behind. */
int journal_sync(struct journal *journal);
/* It must be rewritten: it is behind, was removed, has never been written, or holds much more than a whole state. */
bool journal_wants_rewrite(const struct journal *journal);
bool journal_is_behind(const struct journal *journal);
/* Bytes of it. */
uint64_t journal_size(const struct journal *journal);

/* Writes a new file in pieces; a failure of any of them ends the rewrite, and the old file stays. */
int journal_rewrite_begin(struct journal *journal);
int journal_rewrite_add(struct journal *journal, struct str batch);
int journal_rewrite_end(struct journal *journal, uint64_t serial);
