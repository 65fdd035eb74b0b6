// SPDX-License-Identifier: Apache-2.0
/*
 * Very many pointers in the order of their keys, at little more than their eight bytes each: a tree's links would take
 * four times that. Pages of some dozen pointers stand in one array, so that finding, adding and taking away cost a
 * search by halves and a short move. Items that come in order fill the pages.
 *
 * Items belong to the owner, who must not change their keys while they are here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct sorted_page;

struct sorted {
	int (*compare)(const void *key, const void *item); /* < 0: the key stands before the item */
	struct sorted_page **pages;
	size_t page_count;
	size_t page_room;
};

/* Empty. */
void sorted_init(struct sorted *sorted, int (*compare)(const void *key, const void *item));
/* Of an empty one nothing is left to be freed, but this may always be called. */
void sorted_fini(struct sorted *sorted);
/* No item of that key may be there. */
void sorted_add(struct sorted *sorted, const void *key, void *item);
/* The item of that key is no longer here; it must be. */
void sorted_del(struct sorted *sorted, const void *key);
/* Takes the last item out without looking at keys, for freeing them all. NULL: none. */
void *sorted_pop(struct sorted *sorted);
/* The item of that key; NULL: none. */
void *sorted_find(const struct sorted *sorted, const void *key);
/* The first item; the first of that key or behind it; the first behind it. NULL: none. */
void *sorted_first(const struct sorted *sorted);
void *sorted_from(const struct sorted *sorted, const void *key);
void *sorted_after(const struct sorted *sorted, const void *key);
