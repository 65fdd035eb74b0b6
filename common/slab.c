// SPDX-License-Identifier: Apache-2.0
#include "common/slab.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define SLAB_IS_MALLOC 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLAB_IS_MALLOC 1
#endif
#endif
#ifndef SLAB_IS_MALLOC
#define SLAB_IS_MALLOC 0
#endif

enum {
	GRAIN = sizeof(void *),
	CLASS_COUNT = SLAB_SIZE_MAX / GRAIN,
	PAGE_BYTES = 16 * 1024, /* for objects of all sizes */
	PAGE_GRAINS = PAGE_BYTES / GRAIN,
	PAGES_MAX = (SLAB_REF_MAX + 1) / PAGE_GRAINS,
	REGION_PAGES = 64, /* taken from malloc at once, because aligning each wastes memory */
};

/* A freed object. */
struct hole {
	struct hole *next;
};

/* The header of a page. */
struct page {
	alignas(GRAIN) uint32_t number;
};

static struct {
	struct hole *holes[CLASS_COUNT];
	char *fresh; /* unused part of the newest page */
	size_t fresh_len;
	size_t used;
	char *region; /* pages that are not in use yet */
	size_t region_pages;
	struct page **pages; /* by number */
	uint32_t page_count;
	uint32_t page_cap;
} slab;

static size_t class_of(size_t size)
{
	return size == 0 ? 0 : (size - 1) / GRAIN;
}

static void keep_hole(void *memory, size_t class)
{
	struct hole *hole = memory;
	hole->next = slab.holes[class];
	slab.holes[class] = hole;
}

static struct page *new_page(void)
{
	if (slab.region_pages == 0) {
		slab.region = xaligned_alloc(PAGE_BYTES, (size_t)REGION_PAGES * PAGE_BYTES);
		slab.region_pages = REGION_PAGES;
	}
	if (slab.page_count == slab.page_cap) {
		slab.page_cap += REGION_PAGES;
		slab.pages = xreallocarray(slab.pages, slab.page_cap, sizeof(*slab.pages));
	}
	must(slab.page_count < PAGES_MAX);
	struct page *page = (struct page *)(void *)slab.region;
	slab.region += PAGE_BYTES;
	slab.region_pages--;
	page->number = slab.page_count;
	slab.pages[slab.page_count++] = page;
	return page;
}

static void take_page(void)
{
	/* The rest of the old page can serve a smaller object later. */
	if (slab.fresh_len != 0)
		keep_hole(slab.fresh, class_of(slab.fresh_len));
	struct page *page = new_page();
	slab.fresh = (char *)(page + 1);
	slab.fresh_len = PAGE_BYTES - sizeof(*page);
}

/* ---- with sanitizers ---- */

/* The size passed when freeing must match. */
struct checked {
	size_t size;
	size_t ref; /* 0: none requested yet */
};

/* Objects by ref, stored as complements: an object that only this table points to counts as leaked. Freed slots form a list, each
 * holding the previous one. */
static struct {
	uintptr_t *slots;
	size_t count;
	size_t cap;
	size_t free_ref;
} refs;

static void *checked_alloc(size_t size)
{
	struct checked *checked = xmalloc(sizeof(*checked) + size);
	*checked = (struct checked){.size = size};
	return checked + 1;
}

static void checked_free(void *memory, size_t size)
{
	struct checked *checked = (struct checked *)memory - 1;
	must(checked->size == size);
	if (checked->ref != 0) {
		refs.slots[checked->ref - 1] = refs.free_ref;
		refs.free_ref = checked->ref;
	}
	free(checked);
}

static uint32_t checked_ref(void *memory)
{
	struct checked *checked = (struct checked *)memory - 1;
	must(checked->size <= SLAB_SIZE_MAX);
	if (checked->ref == 0 && refs.free_ref != 0) {
		checked->ref = refs.free_ref;
		refs.free_ref = refs.slots[checked->ref - 1];
	} else if (checked->ref == 0) {
		if (refs.count == refs.cap) {
			refs.cap = refs.cap != 0 ? 2 * refs.cap : 64;
			refs.slots = xreallocarray(refs.slots, refs.cap, sizeof(*refs.slots));
		}
		checked->ref = ++refs.count;
		must(checked->ref <= SLAB_REF_MAX);
	}
	refs.slots[checked->ref - 1] = ~(uintptr_t)memory;
	return (uint32_t)checked->ref;
}

/* ---- allocation ---- */

void *slab_alloc(size_t size)
{
	size_t class = class_of(size);
	size_t len = (class + 1) * GRAIN;
	if (SLAB_IS_MALLOC)
		return checked_alloc(size);
	if (size > SLAB_SIZE_MAX)
		return xmalloc(size);
	slab.used += len;
	struct hole *hole = slab.holes[class];
	if (hole != NULL) {
		slab.holes[class] = hole->next;
		return hole;
	}
	if (slab.fresh_len < len)
		take_page();
	void *memory = slab.fresh;
	slab.fresh += len;
	slab.fresh_len -= len;
	return memory;
}

void *slab_zalloc(size_t size)
{
	void *memory = slab_alloc(size);
	memset(memory, 0, size);
	return memory;
}

void *slab_memdup(const void *bytes, size_t size)
{
	void *memory = slab_alloc(size);
	if (size != 0)
		memcpy(memory, bytes, size);
	return memory;
}

void slab_free(void *memory, size_t size)
{
	size_t class = class_of(size);
	if (memory == NULL)
		return;
	if (SLAB_IS_MALLOC) {
		checked_free(memory, size);
		return;
	}
	if (size > SLAB_SIZE_MAX) {
		free(memory);
		return;
	}
	must(slab.used >= (class + 1) * GRAIN);
	slab.used -= (class + 1) * GRAIN;
	keep_hole(memory, class);
}

uint32_t slab_ref(const void *memory)
{
	uintptr_t at = (uintptr_t)memory;
	if (memory == NULL)
		return 0;
	if (SLAB_IS_MALLOC)
		return checked_ref((void *)at);
	const struct page *page = (const struct page *)(at & ~(uintptr_t)(PAGE_BYTES - 1));
	must(page->number < slab.page_count && slab.pages[page->number] == page);
	return page->number * PAGE_GRAINS + (uint32_t)(at % PAGE_BYTES / GRAIN);
}

void *slab_at(uint32_t ref)
{
	if (ref == 0)
		return NULL;
	if (SLAB_IS_MALLOC)
		return (void *)~refs.slots[ref - 1];
	return (char *)slab.pages[ref / PAGE_GRAINS] + (size_t)(ref % PAGE_GRAINS) * GRAIN;
}

size_t slab_used(void)
{
	return slab.used;
}
