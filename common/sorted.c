// SPDX-License-Identifier: Apache-2.0
#include "common/sorted.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOCK_MAX = 254, /* 2040 bytes including the count */
	BLOCK_FEW = BLOCK_MAX / 4,
	BLOCKS_STEP = 16, /* the list of blocks grows in such steps */
};

struct sorted_block {
	uint32_t count;
	void *things[BLOCK_MAX];
};

struct place {
	size_t block;
	uint32_t index;
	bool is_equal; /* whether the thing there equals the key */
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

/* ---- lookup ---- */

/* The index of the first of `count` things that is not less than the key, or `count`. *ret_is_equal: whether that one equals the key.
 * `compare` is called with the key and a thing. */
static size_t bisect(const void *array, size_t count,
	const void *(*thing_at)(const void *array, size_t index), const void *key,
	int (*compare)(const void *key, const void *thing), bool *ret_is_equal)
{
	size_t low = 0;
	size_t high = count;
	bool is_equal = false;
	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare(key, thing_at(array, middle));
		if (order > 0) {
			low = middle + 1;
		} else {
			is_equal |= order == 0;
			high = middle;
		}
	}
	*ret_is_equal = is_equal;
	return low;
}

static bool is_end(const struct sorted *sorted, struct place place)
{
	return place.block == sorted->block_count;
}

static void *at(const struct sorted *sorted, struct place place)
{
	return is_end(sorted, place) ? NULL : sorted->blocks[place.block]->things[place.index];
}

static const void *thing_in(const void *block, size_t index)
{
	return ((const struct sorted_block *)block)->things[index];
}

static const void *last_of(const void *blocks, size_t index)
{
	const struct sorted_block *block = ((struct sorted_block *const *)blocks)[index];
	return block->things[block->count - 1];
}

/* Position of the first thing that is not before `key`. */
static struct place find_place(
	const struct sorted *sorted, const void *key, sorted_compare *compare)
{
	const void *blocks = sorted->blocks;
	size_t count = sorted->block_count;
	struct place place = {.block = count};
	/* Things that arrive in order go to the end. */
	if (count == 0 || compare(key, last_of(blocks, count - 1)) > 0)
		return place;
	/* It is in the last block, if in none before. */
	place.block = bisect(blocks, count - 1, last_of, key, compare, &place.is_equal);
	const struct sorted_block *block = sorted->blocks[place.block];
	place.index =
		(uint32_t)bisect(block, block->count, thing_in, key, compare, &place.is_equal);
	return place;
}

void *sorted_find(const struct sorted *sorted, const void *key, sorted_compare *compare)
{
	struct place place = find_place(sorted, key, compare);
	return place.is_equal ? at(sorted, place) : NULL;
}

void *sorted_first(const struct sorted *sorted)
{
	return at(sorted, (struct place){.block = 0});
}

void *sorted_next(const struct sorted *sorted, const void *thing)
{
	struct place place = find_place(sorted, thing, sorted->compare);
	if (place.is_equal && ++place.index == sorted->blocks[place.block]->count)
		place = (struct place){.block = place.block + 1};
	return at(sorted, place);
}

/* ---- modification ---- */

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

/* Moves the things after the first `keep` to the end of another block. */
static void move_rest(struct sorted_block *from, uint32_t keep, struct sorted_block *to)
{
	memcpy((void *)&to->things[to->count], (void *)&from->things[keep],
		(from->count - keep) * sizeof(void *));
	to->count += from->count - keep;
	from->count = keep;
}

/* Splits the full block of `place`. */
static struct place split(struct sorted *sorted, struct place place)
{
	struct sorted_block *right = add_block(sorted, place.block + 1);
	struct sorted_block *left = sorted->blocks[place.block];
	move_rest(left, BLOCK_MAX / 2, right);
	if (place.index <= left->count)
		return place;
	return (struct place){.block = place.block + 1, .index = place.index - left->count};
}

/* After all others: blocks that are filled in order get full. */
static struct place end_place(struct sorted *sorted)
{
	size_t last = sorted->block_count;
	if (last == 0 || sorted->blocks[last - 1]->count == BLOCK_MAX) {
		add_block(sorted, last);
		return (struct place){.block = last};
	}
	return (struct place){.block = last - 1, .index = sorted->blocks[last - 1]->count};
}

bool sorted_add(struct sorted *sorted, void *thing)
{
	struct place place = find_place(sorted, thing, sorted->compare);
	if (is_end(sorted, place))
		place = end_place(sorted);
	else if (place.is_equal)
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

/* A block with few things takes those of the next one, if both fit well. */
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
