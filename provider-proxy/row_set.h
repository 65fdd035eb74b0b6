// SPDX-License-Identifier: Apache-2.0
/*
 * Rows that belong to one object and are replaced together: what is new is wanted first, then what is no longer there goes. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "provider-proxy/rows.h"

/* Rows on their way; the texts live in the arena, or as long as the draft does. */
struct row_draft {
	struct arena *arena;
	struct row_text {
		enum row_table table;
		struct str key;
		struct str value;
	} * items;
	size_t count;
};

/* Of rows with the same key all must have the same value. */
void row_draft_add(struct row_draft *draft, enum row_table table, struct str key, struct str value);

/* The rows that an object wants now; begins zeroed. */
struct row_set {
	struct row **rows;
	size_t count;
};

/* Puts the draft, which is sorted for it, in the place of what the set had. An empty one leaves nothing behind. */
void row_set_replace(struct row_set *set, struct rows *rows, struct row_draft *draft);
/* Forgets the rows without touching them. */
void row_set_fini(struct row_set *set);
