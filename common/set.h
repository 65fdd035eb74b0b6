// SPDX-License-Identifier: Apache-2.0
/*
 * Ordered sets of things from the slab (slab.h), small ones above all: four bytes when it is empty
 * or holds a single thing, and hardly more than four for each otherwise. A set does not own its
 * things. Of things that are larger than SLAB_SIZE_MAX or come from elsewhere, sorted.h has a set: one
 * that is large itself. They search alike (bisect.h), and their functions have the same names.
 *
 * Whoever calls says the order, the same for one set every time: `compare` is negative, zero or
 * positive like that of qsort(), but is given the things themselves. No two things of a set compare
 * as zero. A key to look for takes the place of the left one.
 *
 * Zeroed memory is an empty set. Adding, removing and finding cost the logarithm of its size, but
 * for a short move of memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct set {
	uint32_t root;
};

static inline bool set_is_empty(const struct set *set)
{
	return set->root == 0;
}

bool set_has_one(const struct set *set);
/* `thing` must not be in the set yet. */
void set_add(struct set *set, void *thing, int (*compare)(const void *, const void *));
/* `thing` must be in the set. */
void set_remove(struct set *set, const void *thing, int (*compare)(const void *, const void *));
/* Empties it. */
void set_clear(struct set *set);

/* NULL: none. */
void *set_find(const struct set *set, const void *key, int (*compare)(const void *, const void *));
void *set_first(const struct set *set);
/* The first that is not less than the key. */
void *set_from(const struct set *set, const void *key, int (*compare)(const void *, const void *));
/* The first greater than the key, which may have been removed meanwhile. */
void *set_next(const struct set *set, const void *key, int (*compare)(const void *, const void *));

/* The set may change on the way, as long as `thing_` is not freed. */
#define SET_FOREACH(thing_, set_, compare_)                \
	for ((thing_) = set_first(set_); (thing_) != NULL; \
		(thing_) = set_next((set_), (thing_), (compare_)))
