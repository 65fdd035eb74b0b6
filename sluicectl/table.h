// SPDX-License-Identifier: Apache-2.0
/* A table: cells are collected, then printed with columns as wide as they need. Texts are copied; they are UTF-8. No I/O but printing. */
#pragma once

#include "common/buf.h"

#include <stdio.h>

struct table;
struct table *table_new(size_t columns);
void table_free(struct table *table);
/* Adds to the cell that is being filled. */
void table_put(struct table *table, struct str text);
void table_put_uint(struct table *table, uint64_t value);
/* Ends it; one without text becomes "-". */
void table_end(struct table *table);
/* Both: a whole cell. */
void table_add(struct table *table, struct str text);
/* Of the row that is being filled: by rank, the least comes first. */
void table_rank(struct table *table, double rank);

struct table_choice {
	const char *match; /* rows with this text in a cell, whatever its case; NULL: all */
	size_t skip;
	size_t limit; /* SIZE_MAX: all of them */
	bool by_rank; /* otherwise as they were added */
};
/* Whether the text has another one in it, whatever its case (of ASCII). */
bool table_has_text(struct str text, const char *wanted);
/* Which rows are printed, and in which order; to be called when all are there. Without it all. The first row is the head, which stays. */
void table_choose(struct table *table, const struct table_choice *choice);
/* Rows end at `width` columns; 0: they are as long as they are. */
void table_print(const struct table *table, FILE *out, size_t width);
/* Appends {"columns": [TEXT], "matches": how many rows there are to choose from, "rows": [[TEXT]]}. -EMSGSIZE. */
[[nodiscard]] int table_put_json(const struct table *table, struct buf *out);
