// SPDX-License-Identifier: Apache-2.0
/*
 * Binary search in a sorted array. sorted.h does it twice, for a block and within it. It is inlined together with its
 * `thing_at`, so that arrays of something shorter than pointers cost nothing extra.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The index of the first of `count` things that is not less than the key, or `count`. *ret_is_equal: whether that one equals the key.
 * `compare` is called with the key and a thing. */
[[gnu::always_inline]] static inline size_t bisect(const void *array, size_t count,
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
