// SPDX-License-Identifier: Apache-2.0
/* Texts that are made of pieces of a request, and changes of headers, as lists in the trees of rows (tree_text.h). No I/O. */
#pragma once

#include "provider-nginx/tree_text.h"
#include "proto/model.h"

/* A list of them behind the word, which may be NULL. */
void piece_text_add(
	struct tree_text *tree, const char *word, const struct piece *pieces, size_t count);
/* Likewise; nothing without any. */
void piece_text_add_changes(
	struct tree_text *tree, const char *word, const struct header_change *items, size_t count);
