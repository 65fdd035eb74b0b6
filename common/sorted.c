// SPDX-License-Identifier: Apache-2.0
#include "common/sorted.h"

#include "common/must.h"
#include "common/slab.h"
#include "common/xalloc.h"

#include <string.h>

enum { PAGE_ITEMS_MAX = 63, JOINED_MAX = PAGE_ITEMS_MAX / 2 };

/* Never empty. */
struct sorted_page {
	size_t count;
	void *items[PAGE_ITEMS_MAX];
};
_Static_assert(sizeof(struct sorted_page) <= SLAB_SIZE_MAX, "pages come from the slab");

struct place {
	size_t page; /* may be page_count, when nothing is there yet */
	size_t at;   /* in the page; may be its count */
};

void sorted_init(struct sorted *sorted, int (*compare)(const void *key, const void *item))
{
	*sorted = (struct sorted){.compare = compare};
}

void sorted_fini(struct sorted *sorted)
{
	for (size_t i = 0; i < sorted->page_count; i++)
		slab_free(sorted->pages[i], sizeof(struct sorted_page));
	free(sorted->pages);
	sorted_init(sorted, sorted->compare);
}

/* ---- places ---- */

/* The page in which the key is, or would be: the last that begins with it or before it. */
static size_t find_page(const struct sorted *sorted, const void *key)
{
	size_t from = 0;
	size_t to = sorted->page_count;
	while (to - from > 1) {
		size_t middle = from + (to - from) / 2;
		if (sorted->compare(key, sorted->pages[middle]->items[0]) < 0)
			to = middle;
		else
			from = middle;
	}
	return from;
}

/* Where the key is, or would be. */
static struct place find_place(const struct sorted *sorted, const void *key, bool *ret_is_there)
{
	struct place place = {find_page(sorted, key), 0};
	*ret_is_there = false;
	if (place.page == sorted->page_count)
		return place;
	const struct sorted_page *page = sorted->pages[place.page];
	size_t to = page->count;
	while (place.at < to) {
		size_t middle = place.at + (to - place.at) / 2;
		int order = sorted->compare(key, page->items[middle]);
		if (order > 0) {
			place.at = middle + 1;
		} else {
			to = middle;
			*ret_is_there = *ret_is_there || order == 0;
		}
	}
	return place;
}

static void *item_at(const struct sorted *sorted, struct place place)
{
	if (place.page < sorted->page_count && place.at == sorted->pages[place.page]->count)
		place = (struct place){place.page + 1, 0};
	return place.page < sorted->page_count ? sorted->pages[place.page]->items[place.at] : NULL;
}

void *sorted_find(const struct sorted *sorted, const void *key)
{
	bool is_there;
	struct place place = find_place(sorted, key, &is_there);
	return is_there ? item_at(sorted, place) : NULL;
}

void *sorted_first(const struct sorted *sorted)
{
	return item_at(sorted, (struct place){0, 0});
}

void *sorted_from(const struct sorted *sorted, const void *key)
{
	bool is_there;
	return item_at(sorted, find_place(sorted, key, &is_there));
}

void *sorted_after(const struct sorted *sorted, const void *key)
{
	bool is_there;
	struct place place = find_place(sorted, key, &is_there);
	place.at += is_there;
	return item_at(sorted, place);
}

/* ---- pages ---- */

static struct sorted_page *add_page(struct sorted *sorted, size_t at)
{
	if (sorted->page_count == sorted->page_room) {
		sorted->page_room = sorted->page_room != 0 ? 2 * sorted->page_room : 4;
		sorted->pages = xreallocarray(
			sorted->pages, sorted->page_room, sizeof(struct sorted_page *));
	}
	memmove(sorted->pages + at + 1, sorted->pages + at,
		(sorted->page_count - at) * sizeof(struct sorted_page *));
	sorted->page_count++;
	sorted->pages[at] = slab_alloc(sizeof(struct sorted_page));
	sorted->pages[at]->count = 0;
	return sorted->pages[at];
}

static void del_page(struct sorted *sorted, size_t at)
{
	slab_free(sorted->pages[at], sizeof(struct sorted_page));
	sorted->page_count--;
	memmove(sorted->pages + at, sorted->pages + at + 1,
		(sorted->page_count - at) * sizeof(struct sorted_page *));
	if (sorted->page_count == 0)
		sorted_fini(sorted);
}

/* Room for one more at `place` of a page that is full. Behind all others a new page begins, so that items that come in
 * order fill each; elsewhere half of them move. */
static struct place split(struct sorted *sorted, struct place place)
{
	struct sorted_page *page = sorted->pages[place.page];
	struct sorted_page *next = add_page(sorted, place.page + 1);
	bool is_end = place.page + 2 == sorted->page_count && place.at == page->count;
	size_t kept = is_end ? page->count : page->count / 2;
	next->count = page->count - kept;
	memcpy(next->items, page->items + kept, next->count * sizeof(void *));
	page->count = kept;
	if (place.at < kept || (place.at == kept && !is_end))
		return place;
	return (struct place){place.page + 1, place.at - kept};
}

/* Makes one page of two that are nearly empty. */
static void join(struct sorted *sorted, size_t at)
{
	if (at + 1 >= sorted->page_count)
		return;
	struct sorted_page *page = sorted->pages[at];
	const struct sorted_page *next = sorted->pages[at + 1];
	if (page->count + next->count > JOINED_MAX)
		return;
	memcpy(page->items + page->count, next->items, next->count * sizeof(void *));
	page->count += next->count;
	del_page(sorted, at + 1);
}

void sorted_add(struct sorted *sorted, const void *key, void *item)
{
	bool is_there;
	struct place place = find_place(sorted, key, &is_there);
	must(!is_there);
	if (place.page == sorted->page_count)
		add_page(sorted, place.page);
	else if (sorted->pages[place.page]->count == PAGE_ITEMS_MAX)
		place = split(sorted, place);
	struct sorted_page *page = sorted->pages[place.page];
	memmove(page->items + place.at + 1, page->items + place.at,
		(page->count - place.at) * sizeof(void *));
	page->items[place.at] = item;
	page->count++;
}

void sorted_del(struct sorted *sorted, const void *key)
{
	bool is_there;
	struct place place = find_place(sorted, key, &is_there);
	must(is_there);
	struct sorted_page *page = sorted->pages[place.page];
	page->count--;
	memmove(page->items + place.at, page->items + place.at + 1,
		(page->count - place.at) * sizeof(void *));
	if (page->count == 0) {
		del_page(sorted, place.page);
		return;
	}
	join(sorted, place.page);
	if (place.page != 0)
		join(sorted, place.page - 1);
}

void *sorted_pop(struct sorted *sorted)
{
	if (sorted->page_count == 0)
		return NULL;
	struct sorted_page *page = sorted->pages[sorted->page_count - 1];
	void *item = page->items[--page->count];
	if (page->count == 0)
		del_page(sorted, sorted->page_count - 1);
	return item;
}
