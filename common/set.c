// SPDX-License-Identifier: Apache-2.0
#include "common/set.h"

#include "common/bisect.h"
#include "common/must.h"
#include "common/slab.h"
#include "common/xalloc.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

/* What the root points to, in its lowest bits. */
enum form { FORM_THING, FORM_CHUNK, FORM_LIST };
enum { FORM_BITS = 2, CHUNK_MAX = 125 };

/* Sorted refs. */
struct chunk {
	uint16_t count;
	uint16_t cap;
	uint32_t refs[];
};

/* Chunks in the order of their things; none is empty. */
struct list {
	uint32_t count;
	uint32_t cap;
	struct chunk **chunks;
};

/* Any set as a list of chunks. */
struct view {
	struct chunk **chunks;
	size_t count;
	struct chunk *one;
	alignas(struct chunk) char single[sizeof(struct chunk) + sizeof(uint32_t)];
};

struct place {
	size_t chunk;
	size_t at;
	bool found;
};

static enum form form_of(const struct set *set)
{
	return (enum form)(set->root & ((1U << FORM_BITS) - 1));
}

static void *root_of(const struct set *set)
{
	return slab_at(set->root >> FORM_BITS);
}

static void set_root(struct set *set, const void *root, enum form form)
{
	set->root = slab_ref(root) << FORM_BITS | form;
}

/* ---- lookup ---- */

static void view_set(const struct set *set, struct view *ret_view)
{
	ret_view->chunks = &ret_view->one;
	ret_view->count = set->root != 0 ? 1 : 0;
	if (form_of(set) == FORM_CHUNK) {
		ret_view->one = root_of(set);
	} else if (form_of(set) == FORM_LIST) {
		const struct list *list = root_of(set);
		ret_view->chunks = list->chunks;
		ret_view->count = list->count;
	} else {
		ret_view->one = (struct chunk *)(void *)ret_view->single;
		ret_view->one->count = ret_view->one->cap = 1;
		ret_view->one->refs[0] = set->root >> FORM_BITS;
	}
}

static void *thing_at(const struct view *view, size_t chunk, size_t at)
{
	if (chunk < view->count && at == view->chunks[chunk]->count) {
		chunk++;
		at = 0;
	}
	return chunk < view->count ? slab_at(view->chunks[chunk]->refs[at]) : NULL;
}

static const void *thing_in(const void *chunk, size_t index)
{
	return slab_at(((const struct chunk *)chunk)->refs[index]);
}

static const void *last_of(const void *chunks, size_t index)
{
	const struct chunk *chunk = ((struct chunk *const *)chunks)[index];
	return slab_at(chunk->refs[chunk->count - 1]);
}

/* Position of the first thing that is not before the key; otherwise the end of the last chunk. */
static struct place find_place(
	const struct view *view, const void *key, int (*compare)(const void *, const void *))
{
	struct place place = {0};
	if (view->count == 0)
		return place;
	/* It is in the last chunk, if in none before. */
	place.chunk = bisect(
		(const void *)view->chunks, view->count - 1, last_of, key, compare, &place.found);
	const struct chunk *chunk = view->chunks[place.chunk];
	place.at = bisect(chunk, chunk->count, thing_in, key, compare, &place.found);
	return place;
}

void *set_from(const struct set *set, const void *key, int (*compare)(const void *, const void *))
{
	struct view view;
	view_set(set, &view);
	struct place place = find_place(&view, key, compare);
	return thing_at(&view, place.chunk, place.at);
}

void *set_find(const struct set *set, const void *key, int (*compare)(const void *, const void *))
{
	struct view view;
	view_set(set, &view);
	struct place place = find_place(&view, key, compare);
	return place.found ? thing_at(&view, place.chunk, place.at) : NULL;
}

void *set_next(const struct set *set, const void *key, int (*compare)(const void *, const void *))
{
	struct view view;
	view_set(set, &view);
	struct place place = find_place(&view, key, compare);
	return thing_at(&view, place.chunk, place.at + place.found);
}

void *set_first(const struct set *set)
{
	struct view view;
	view_set(set, &view);
	return thing_at(&view, 0, 0);
}

bool set_has_one(const struct set *set)
{
	return set->root != 0 && form_of(set) == FORM_THING;
}

/* ---- chunks ---- */

static size_t chunk_size(size_t cap)
{
	return sizeof(struct chunk) + cap * sizeof(uint32_t);
}

/* Small chunks fit closely, large ones grow in steps. */
static uint16_t cap_for(size_t count)
{
	size_t cap = 3;
	while (cap < count)
		cap = cap < 15 ? 2 * cap + 1 : cap + 16;
	return (uint16_t)(cap < CHUNK_MAX ? cap : CHUNK_MAX);
}

static struct chunk *chunk_new(const uint32_t *refs, size_t count, size_t room_for)
{
	uint16_t cap = cap_for(room_for);
	struct chunk *chunk = slab_alloc(chunk_size(cap));
	chunk->cap = cap;
	chunk->count = (uint16_t)count;
	memcpy(chunk->refs, refs, count * sizeof(uint32_t));
	return chunk;
}

static void chunk_free(struct chunk *chunk)
{
	slab_free(chunk, chunk_size(chunk->cap));
}

/* Reallocates the chunk with capacity for `room_for`, which may be less than before. */
static void resize_chunk(struct set *set, size_t index, struct chunk *old, size_t room_for)
{
	struct chunk *chunk = chunk_new(old->refs, old->count, room_for);
	if (form_of(set) == FORM_LIST)
		((struct list *)root_of(set))->chunks[index] = chunk;
	else
		set_root(set, chunk, FORM_CHUNK);
	chunk_free(old);
}

/* ---- lists ---- */

static struct list *list_of(struct set *set)
{
	if (form_of(set) == FORM_LIST)
		return root_of(set);
	struct list *list = slab_zalloc(sizeof(*list));
	list->cap = 4;
	list->chunks = xcalloc(list->cap, sizeof(struct chunk *));
	list->chunks[list->count++] = root_of(set);
	set_root(set, list, FORM_LIST);
	return list;
}

/* Splits a full chunk to insert at `place`. */
static void split_chunk(struct set *set, struct place place)
{
	struct list *list = list_of(set);
	struct chunk *chunk = list->chunks[place.chunk];
	/* Adding in order must fill chunks completely. */
	bool is_end = place.chunk + 1 == list->count && place.at == chunk->count;
	size_t keep = is_end ? (size_t)CHUNK_MAX - 1 : CHUNK_MAX / 2;
	size_t moved = chunk->count - keep;
	if (list->count == list->cap) {
		list->cap *= 2;
		list->chunks = xreallocarray(list->chunks, list->cap, sizeof(struct chunk *));
	}
	struct chunk **behind = &list->chunks[place.chunk + 1];
	memmove(behind + 1, behind, (list->count - place.chunk - 1) * sizeof(struct chunk *));
	*behind = chunk_new(chunk->refs + keep, moved, moved + 1);
	list->count++;
	chunk->count = (uint16_t)keep;
}

static void drop_chunk(struct set *set, size_t index)
{
	struct list *list = root_of(set);
	struct chunk **place = &list->chunks[index];
	chunk_free(*place);
	list->count--;
	memmove(place, place + 1, (list->count - index) * sizeof(struct chunk *));
}

/* Switches to the smallest sufficient form. */
static void simplify(struct set *set)
{
	struct list *list = form_of(set) == FORM_LIST ? root_of(set) : NULL;
	if (list != NULL && list->count == 1) {
		set_root(set, list->chunks[0], FORM_CHUNK);
		free(list->chunks);
		slab_free(list, sizeof(*list));
	}
	struct chunk *chunk = form_of(set) == FORM_CHUNK ? root_of(set) : NULL;
	if (chunk != NULL && chunk->count == 1) {
		set->root = chunk->refs[0] << FORM_BITS | FORM_THING;
		chunk_free(chunk);
	}
}

/* ---- modification ---- */

void set_add(struct set *set, void *thing, int (*compare)(const void *, const void *))
{
	struct view view;
	uint32_t ref = slab_ref(thing);
	if (set->root == 0) {
		set_root(set, thing, FORM_THING);
		return;
	}
	if (form_of(set) == FORM_THING) {
		uint32_t only = set->root >> FORM_BITS;
		set_root(set, chunk_new(&only, 1, 2), FORM_CHUNK);
	}
	view_set(set, &view);
	struct place place = find_place(&view, thing, compare);
	must(!place.found);
	struct chunk *chunk = view.chunks[place.chunk];
	if (chunk->count == chunk->cap) {
		if (chunk->count == CHUNK_MAX)
			split_chunk(set, place);
		else
			resize_chunk(set, place.chunk, chunk, chunk->count + 1U);
		view_set(set, &view);
		place = find_place(&view, thing, compare);
		chunk = view.chunks[place.chunk];
	}
	uint32_t *at = &chunk->refs[place.at];
	memmove(at + 1, at, (chunk->count - place.at) * sizeof(uint32_t));
	*at = ref;
	chunk->count++;
}

void set_remove(struct set *set, const void *thing, int (*compare)(const void *, const void *))
{
	struct view view;
	view_set(set, &view);
	struct place place = find_place(&view, thing, compare);
	must(place.found && thing_at(&view, place.chunk, place.at) == thing);
	if (form_of(set) == FORM_THING) {
		set->root = 0;
		return;
	}
	struct chunk *chunk = view.chunks[place.chunk];
	uint32_t *at = &chunk->refs[place.at];
	chunk->count--;
	memmove(at, at + 1, (chunk->count - place.at) * sizeof(uint32_t));
	if (chunk->count == 0)
		drop_chunk(set, place.chunk);
	else if (cap_for((size_t)chunk->count * 2) < chunk->cap)
		resize_chunk(set, place.chunk, chunk, chunk->count);
	simplify(set);
}

void set_clear(struct set *set)
{
	struct view view;
	view_set(set, &view);
	for (size_t i = 0; i < view.count && form_of(set) != FORM_THING; i++)
		chunk_free(view.chunks[i]);
	if (form_of(set) == FORM_LIST) {
		free(view.chunks);
		slab_free(root_of(set), sizeof(struct list));
	}
	set->root = 0;
}
