// SPDX-License-Identifier: Apache-2.0
#include "common/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { PARTS_MAX = 4, BITS = 64 };

static uint64_t hash_of_parts(const char *const *parts)
{
	struct hash hash;
	hash_begin(&hash);
	for (size_t i = 0; i < PARTS_MAX && parts[i] != NULL; i++)
		hash_add_str(&hash, str_from(parts[i]));
	return hash_end(&hash);
}

static void other_parts_have_another_hash(void **state)
{
	static const char *const rows[][PARTS_MAX] = {
		{NULL},
		{"", NULL},
		{"", "", NULL},
		{"a", NULL},
		{"a", "", NULL},
		{"", "a", NULL},
		{"a", "b", NULL},
		{"b", "a", NULL},
		{"ab", NULL},
		{"seven b", NULL},
		{"eight by", NULL},
		{"eight by", "t", NULL},
		{"eight byt", NULL},
		{"eight byte", NULL},
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		for (size_t k = 0; k < ROWS; k++)
			assert_int_equal(hash_of_parts(rows[i]) == hash_of_parts(rows[k]), i == k);
	}
}

static void a_text_may_stand_anywhere(void **state)
{
	char memory[64];
	(void)state;
	for (size_t len = 0; len < 20; len++) {
		uint64_t first = 0;
		for (size_t at = 0; at < 9; at++) {
			memset(memory, (int)('x' + at), sizeof(memory));
			memset(memory + at, 'a', len);
			uint64_t hash = hash_of((struct str){memory + at, len});
			if (at == 0)
				first = hash;
			assert_int_equal(hash, first);
		}
	}
}

/* Whichever bit of a number is another, about half of those of the hash are. */
static void every_bit_counts(void **state)
{
	int flipped = 0;
	(void)state;
	for (int bit = 0; bit < BITS; bit++) {
		uint64_t hashes[2];
		for (uint64_t k = 0; k < 2; k++) {
			struct hash hash;
			hash_begin(&hash);
			hash_add_int(&hash, k << bit);
			hashes[k] = hash_end(&hash);
		}
		int differ = __builtin_popcountll(hashes[0] ^ hashes[1]);
		assert_true(differ > 4);
		flipped += differ;
	}
	assert_in_range(flipped, BITS * 24, BITS * 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_parts_have_another_hash),
		cmocka_unit_test(a_text_may_stand_anywhere),
		cmocka_unit_test(every_bit_counts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
