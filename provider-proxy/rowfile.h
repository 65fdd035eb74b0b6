// SPDX-License-Identifier: Apache-2.0
/*
 * A table of rows.h on disk, one line `key value` a row, in the form that both proxies read at their start (HAProxy: a map file).
 * A change costs one short write however long the file is: a new value is appended, then the old line is made a comment by one byte;
 * at every instant each key has exactly one line that counts, because of two the first wins. When half of the file is comments it is
 * written anew. A line near the top says how long the file is, so that one that was cut off is known. Order between table and proxy is the owner's: file first, so that nothing is served that a restart would lose.
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
/* NULL, or what is wrong with the file, as the rest of a sentence whose subject it is; static. */
const char *rowfile_problem(const struct rowfile *file);
/* Writes anew what is good in a damaged file, so that a proxy can be started from it; with nothing in it when there is none. */
int rowfile_salvage(struct rowfile *file);
/* Writes the file whole from what is wanted, with sync. Must have been done once before rowfile_put(). */
int rowfile_write(struct rowfile *file);
/* Writes what is wanted of the row, if the file says something else. Not synced. After a failure the row stands as before. */
int rowfile_put(struct rowfile *file, struct row *row);
/* Syncs what was put since the last time; nothing to do costs nothing. */
int rowfile_sync(struct rowfile *file);
const char *rowfile_path(const struct rowfile *file);
bool rowfile_is_written(const struct rowfile *file);
