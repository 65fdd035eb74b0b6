// SPDX-License-Identifier: Apache-2.0
/*
 * Priorities of the rules of a listener: numbers in bands, so that one change of a path moves one rule. Pure.
 *
 * The rules that already have increasing priorities, in the order that is wanted, keep them (the longest such run); every other gets the middle of a gap. When
 * there is no gap the smallest neighbourhood that gives one is spaced anew, in one call. (reference: AWS, "Reorder rules"; a rule that is not ours
 * keeps its number, and nobody else gets it.)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

/* Below and above are free for people, and for steps of a move. */
enum priority_band {
	BAND_EXACT,    /* 1000 to 29999 */
	BAND_WILDCARD, /* 30000 to 44999 */
	BAND_ANY,      /* 45000 to 49999 */
	BAND_COUNT,
};

enum {
	PRIORITY_MAX = 50000,
	PRIORITY_STEP =
		100, /* between neighbours at an end of a band, where there is room for more */
};

struct priority_rule {
	uint64_t band;    /* enum priority_band; never falls from one rule to the next */
	uint64_t current; /* 0: it is to be made; no two rules have the same */
	uint64_t wanted;  /* result; equal to `current`: it stays */
};

/* `taken`: numbers that nobody may get, sorted: of rules that are not ours, and of those that go but are still there; `current` is never among them. The results
 * are good once all those that move have moved, in one call. False: a band is full, and nothing is said of `wanted`. Takes n log n. */
bool priorities_assign(
	struct priority_rule *rules, size_t count, const uint64_t *taken, size_t taken_count);
