// SPDX-License-Identifier: Apache-2.0
/*
 * Very many things in the order of a key that stands in each of them, wherever they are and however large: pointers in blocks, so that one
 * costs hardly more than its pointer, where the links of a tree are four times that. For a few such collections with thousands
 * of things each. Found, added and removed in logarithmic time, but for moving
 * the pointers of one block. The same order every time, and nobody can flood it.
 *
 * It does not own the things. A key must not change while its thing is in here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sorted_block;

/* As of qsort(); two things are never equal. When searching, the left one is what was given to search for. */
typedef int sorted_compare(const void *left, const void *right);

struct sorted {
	sorted_compare *compare;
	struct sorted_block **blocks; /* none of them is empty */
	size_t block_count;
	size_t count;
};

void sorted_init(struct sorted *sorted, sorted_compare *compare);
/* Frees the collection, not the things. */
void sorted_fini(struct sorted *sorted);

/* False: an equal one is in it already, and stays. */
bool sorted_add(struct sorted *sorted, void *thing);
/* It must be in the collection. */
void sorted_remove(struct sorted *sorted, const void *thing);

/* The first that is equal to `key`, as `compare(key, thing)` says; NULL: there is none. */
void *sorted_find(const struct sorted *sorted, const void *key, sorted_compare *compare);
void *sorted_first(const struct sorted *sorted);
/* `thing` need not be in here (any more). */
void *sorted_next(const struct sorted *sorted, const void *thing);
