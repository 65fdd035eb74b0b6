// SPDX-License-Identifier: Apache-2.0
/*
 * Rows: what a proxy looks up, as pairs of key and value in tables. For each row three things are known: what is wanted, what the
 * running proxy is known to have, and what the file says that the proxy starts from, if there is one. A row is dirty while the proxy has something
 * else than what is wanted, or the file says something else; the owner takes dirty rows one by one, so the newest value wins and nothing grows while a
 * proxy is slow. No I/O.
 *
 * Keys and values contain neither white space nor control bytes; whoever sets a row has checked that.
 */
#pragma once

#include "common/str.h"

enum row_table {
	ROW_WHOLE,  /* found by the whole key */
	ROW_PREFIX, /* found by the longest key that the text looked up begins with */
	ROW_POOL, /* of a provider whose proxy names pools otherwise than we do: by the whole key */
	ROW_RULE, /* what is done with requests, if its writer puts it here: as ROW_PREFIX */
	ROW_TABLE_COUNT,
};

struct rows;
struct row;

struct rows *rows_new(void);
void rows_free(struct rows *rows);

/* Sets what is wanted; absent: the row must not exist. Cheap when nothing changes. */
void rows_want(struct rows *rows, enum row_table table, struct str key, struct str value);
/* What is wanted, absent when nothing is. */
struct str rows_wanted(const struct rows *rows, enum row_table table, struct str key);

/* Rows that are not wanted any more, and of which this holds, stay where the proxy has them until rows_release() has been called twice, and are not dirty
 * meanwhile: somebody may have found the way to them. */
void rows_set_stays(struct rows *rows, bool (*stays)(enum row_table table, struct str key));
/* Whether any are left, for which it has to be called again. */
bool rows_release(struct rows *rows);
bool rows_any_stays(const struct rows *rows);

/* The oldest dirty row of the table, NULL when there is none. It stays dirty until rows_has() says that the proxy has what is wanted,
 * and row_set_filed() has said that the file does. */
struct row *rows_first_dirty(struct rows *rows, enum row_table table);
/* Moves a dirty row to the end of the queue. */
void rows_defer(struct rows *rows, struct row *row);
size_t rows_dirty_count(const struct rows *rows);
/* How often a row has come to be wanted otherwise: what was written before it grew may be old. */
uint64_t rows_change_count(const struct rows *rows);

/* The proxy has this value now; absent: it has no such row. The row may be gone afterwards. */
void rows_has(struct rows *rows, struct row *row, struct str value);
/* Likewise by key, for what a proxy reports when it is asked for everything. */
void rows_found(struct rows *rows, enum row_table table, struct str key, struct str value);
/* The proxy was restarted or its state is not known: it counts as empty. Call rows_found() for what it reports. O(rows). */
void rows_forget_has(struct rows *rows);

/* In key order. */
struct row *rows_first(struct rows *rows, enum row_table table);
struct row *rows_next(struct row *row);
struct row *rows_find(struct rows *rows, enum row_table table, struct str key);
struct str row_key(const struct row *row);
struct str row_wanted(const struct row *row);
struct str row_has(const struct row *row);
enum row_table row_table(const struct row *row);

/* For rowfile.h: the table has a file, and what was said about its rows is true of it. Without it, a row's place in a file means nothing. */
void rows_set_filed(struct rows *rows, enum row_table table, bool is_filed);
/* Where the file says what is wanted of the row; 0: it does not mention it. Call rows_has() afterwards: this alone does not make the row clean. */
void row_set_filed(struct row *row, uint64_t place);
uint64_t row_place(const struct row *row);
/* The file says what is wanted. */
bool row_is_filed(const struct row *row);
