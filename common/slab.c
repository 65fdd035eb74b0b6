// SPDX-License-Identifier: Apache-2.0
#include "common/slab.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdalign.h>
#include <stddef.h>
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
	PAGE_BYTES = 16 * 1024, /* for things of all sizes */
};

/* A freed object. */
struct hole {
	struct hole *next;
};

static struct {
	struct hole *holes[CLASS_COUNT];
	char *fresh; /* unused part of the newest page */
	size_t fresh_len;
	size_t used;
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

static void take_page(void)
{
	/* The rest of the old page can serve a smaller object later. */
	if (slab.fresh_len != 0)
		keep_hole(slab.fresh, class_of(slab.fresh_len));
	slab.fresh = xmalloc(PAGE_BYTES);
	slab.fresh_len = PAGE_BYTES;
}

/* ---- with sanitizers ---- */

/* The size passed when freeing must match. */
struct checked {
	alignas(max_align_t) size_t size;
};

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
	free(checked);
}

/* ---- things ---- */

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

size_t slab_used(void)
{
	return slab.used;
}
