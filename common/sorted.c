// SPDX-License-Identifier: Apache-2.0
#include "common/sorted.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_MAX = 254, /* with the count 2040 bytes */
	BLOCK_FEW = BLOCK_MAX / 4,
	BLOCKS_STEP = 16, /* the list of blocks grows by so many */
};

struct sorted_block {
	size_t count;
	void *things[BLOCK_MAX];
};

struct place {
	size_t block;
	size_t index;
};

void sorted_init(struct sorted *sorted, sorted_compare *compare)
{
	*sorted = (struct sorted){.compare = compare};
}

void sorted_fini(struct sorted *sorted)
{
	for (size_t i = 0; i < sorted->block_count; i++)
		free(sorted->blocks[i]);
	free((void *)sorted->blocks);
	sorted_init(sorted, sorted->compare);
}

/* ---- finding ---- */

static bool is_end(const struct sorted *sorted, struct place place)
{
	return place.block == sorted->block_count;
}

static void *at(const struct sorted *sorted, struct place place)
{
	return is_end(sorted, place) ? NULL : sorted->blocks[place.block]->things[place.index];
}

static void *last_of(const struct sorted_block *block)
{
	return block->things[block->count - 1];
}

/* Of the first that is not before `key`. */
static struct place find_place(
	const struct sorted *sorted, const void *key, sorted_compare *compare)
{
	size_t low = 0;
	size_t high = sorted->block_count;
	/* What comes in order belongs to the end. */
	if (high != 0 && compare(key, last_of(sorted->blocks[high - 1])) > 0)
		return (struct place){high, 0};
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (compare(key, last_of(sorted->blocks[middle])) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	struct place place = {low, 0};
	if (is_end(sorted, place))
		return place;
	const struct sorted_block *block = sorted->blocks[place.block];
	low = 0;
	high = block->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (compare(key, block->things[middle]) > 0)
			low = middle + 1;
		else
			high = middle;
	}
	place.index = low;
	return place;
}

void *sorted_find_from(const struct sorted *sorted, const void *key, sorted_compare *compare)
{
	return at(sorted, find_place(sorted, key, compare));
}

void *sorted_find(const struct sorted *sorted, const void *key, sorted_compare *compare)
{
	void *thing = sorted_find_from(sorted, key, compare);
	return thing != NULL && compare(key, thing) == 0 ? thing : NULL;
}

void *sorted_first(const struct sorted *sorted)
{
	return at(sorted, (struct place){0, 0});
}

void *sorted_next(const struct sorted *sorted, const void *thing)
{
	struct place place = find_place(sorted, thing, sorted->compare);
	void *found = at(sorted, place);
	if (found == NULL || sorted->compare(thing, found) != 0)
		return found;
	place.index++;
	if (place.index == sorted->blocks[place.block]->count)
		place = (struct place){place.block + 1, 0};
	return at(sorted, place);
}

/* ---- changing ---- */

static struct sorted_block *add_block(struct sorted *sorted, size_t index)
{
	struct sorted_block *block = xmalloc(sizeof(*block));
	block->count = 0;
	if (sorted->block_count % BLOCKS_STEP == 0)
		sorted->blocks = xrealloc((void *)sorted->blocks,
			(sorted->block_count + BLOCKS_STEP) * sizeof(struct sorted_block *));
	memmove((void *)&sorted->blocks[index + 1], (void *)&sorted->blocks[index],
		(sorted->block_count - index) * sizeof(struct sorted_block *));
	sorted->blocks[index] = block;
	sorted->block_count++;
	return block;
}

static void drop_block(struct sorted *sorted, size_t index)
{
	free(sorted->blocks[index]);
	sorted->block_count--;
	memmove((void *)&sorted->blocks[index], (void *)&sorted->blocks[index + 1],
		(sorted->block_count - index) * sizeof(struct sorted_block *));
}

/* Moves what stands behind `keep` things to the end of another block. */
static void move_rest(struct sorted_block *from, size_t keep, struct sorted_block *to)
{
	memcpy((void *)&to->things[to->count], (void *)&from->things[keep],
		(from->count - keep) * sizeof(void *));
	to->count += from->count - keep;
	from->count = keep;
}

/* Makes room in the block of `place`, which is full. */
static struct place split(struct sorted *sorted, struct place place)
{
	struct sorted_block *right = add_block(sorted, place.block + 1);
	struct sorted_block *left = sorted->blocks[place.block];
	move_rest(left, BLOCK_MAX / 2, right);
	if (place.index <= left->count)
		return place;
	return (struct place){place.block + 1, place.index - left->count};
}

/* Behind all others: blocks that are filled in order are full. */
static struct place end_place(struct sorted *sorted)
{
	size_t last = sorted->block_count;
	if (last == 0 || sorted->blocks[last - 1]->count == BLOCK_MAX) {
		add_block(sorted, last);
		return (struct place){last, 0};
	}
	return (struct place){last - 1, sorted->blocks[last - 1]->count};
}

bool sorted_add(struct sorted *sorted, void *thing)
{
	struct place place = find_place(sorted, thing, sorted->compare);
	if (is_end(sorted, place))
		place = end_place(sorted);
	else if (sorted->compare(thing, at(sorted, place)) == 0)
		return false;
	else if (sorted->blocks[place.block]->count == BLOCK_MAX)
		place = split(sorted, place);
	struct sorted_block *block = sorted->blocks[place.block];
	memmove((void *)&block->things[place.index + 1], (void *)&block->things[place.index],
		(block->count - place.index) * sizeof(void *));
	block->things[place.index] = thing;
	block->count++;
	sorted->count++;
	return true;
}

/* A block with few things takes those of the next, if they fit well. */
static void merge(struct sorted *sorted, size_t index)
{
	if (index + 1 >= sorted->block_count)
		return;
	struct sorted_block *block = sorted->blocks[index];
	struct sorted_block *next = sorted->blocks[index + 1];
	if (block->count + next->count > BLOCK_MAX - BLOCK_FEW)
		return;
	move_rest(next, 0, block);
	drop_block(sorted, index + 1);
}

void sorted_remove(struct sorted *sorted, const void *thing)
{
	struct place place = find_place(sorted, thing, sorted->compare);
	must(at(sorted, place) == thing);
	struct sorted_block *block = sorted->blocks[place.block];
	block->count--;
	sorted->count--;
	memmove((void *)&block->things[place.index], (void *)&block->things[place.index + 1],
		(block->count - place.index) * sizeof(void *));
	if (block->count == 0) {
		drop_block(sorted, place.block);
	} else if (block->count < BLOCK_FEW) {
		merge(sorted, place.block);
		if (place.block != 0)
			merge(sorted, place.block - 1);
	}
	if (sorted->count == 0)
		sorted_fini(sorted);
}
