// SPDX-License-Identifier: Apache-2.0
/*
 * A table of rows.h on disk, one line `key value` for each row, as HAProxy reads a map when it starts.
 * A change costs one short write however long the file is: the new value is appended, then one byte turns the old line into a comment. At
 * every instant exactly one line counts for each key, because the first of two wins. When half of the file is comments it is rewritten. A
 * line near the top gives the file's length, so that truncation is noticed. The owner decides the order of file and proxy: file first, so
 * that nothing is served that a restart would lose.
 */
#pragma once

#include "common/buf.h"
#include "provider-proxy/rows.h"

struct rowfile;

/* What rowfile_write() writes; `out` is empty. */
[[nodiscard]] int rowfile_text(struct rows *rows, enum row_table table, struct buf *out);

/* The file need not exist. */
struct rowfile *rowfile_new(struct rows *rows, enum row_table table, const char *path);
void rowfile_free(struct rowfile *file);

/* Reads an existing file: on_row() for each line that counts. -ENOENT when there is none. */
int rowfile_read(struct rowfile *file, void (*on_row)(void *ctx, struct str key, struct str value),
	void *ctx);
/* NULL, or what is wrong, as the rest of a sentence whose subject is the file; static. */
const char *rowfile_problem(const struct rowfile *file);
/* Rewrites a damaged file with what is good in it, so that a proxy can start from it; makes an empty one when there is none. */
int rowfile_salvage(struct rowfile *file);
/* Writes the file whole from what is wanted, with sync. Must have been done once before rowfile_put(). */
int rowfile_write(struct rowfile *file);
/* Writes what is wanted of the row if the file differs. Not synced. After a failure the row is as it was before. */
int rowfile_put(struct rowfile *file, struct row *row);
/* Syncs what was put since the last time; free when there is nothing to do. */
int rowfile_sync(struct rowfile *file);
const char *rowfile_path(const struct rowfile *file);
bool rowfile_is_written(const struct rowfile *file);
