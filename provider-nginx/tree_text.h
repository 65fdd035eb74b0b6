// SPDX-License-Identifier: Apache-2.0
/*
 * A tree of texts as one text without white space, as lua/sluice/tree.lua reads it: a list is its items in parentheses with commas between them; an item is a list or
 * a text, in which everything but letters, digits and a few marks is percent-encoded. No I/O.
 */
#pragma once

#include "common/buf.h"

struct tree_text {
	struct buf *out;
	bool is_full;     /* something did not fit: the text is worth nothing */
	bool needs_comma; /* before the next item */
};

/* A list whose first item is the word, unless that is NULL. */
void tree_open(struct tree_text *tree, const char *word);
void tree_close(struct tree_text *tree);
void tree_add(struct tree_text *tree, struct str text);
void tree_add_number(struct tree_text *tree, uint64_t number);
/* A list of the word and one item. */
void tree_add_pair(struct tree_text *tree, const char *word, struct str text);
void tree_add_number_pair(struct tree_text *tree, const char *word, uint64_t number);
/* A list of the word alone. */
void tree_add_flag(struct tree_text *tree, const char *word);
