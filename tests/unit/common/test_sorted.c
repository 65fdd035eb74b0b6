// SPDX-License-Identifier: Apache-2.0
#include "common/sorted.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { THINGS = 5000 };

struct thing {
	int key;
	int rank; /* of several with one key */
	bool is_in;
};

static struct thing things[THINGS];

static int compare_things(const void *left, const void *right)
{
	const struct thing *a = left;
	const struct thing *b = right;
	return a->key != b->key ? a->key - b->key : a->rank - b->rank;
}

static int compare_key(const void *key, const void *thing)
{
	return *(const int *)key - ((const struct thing *)thing)->key;
}

/* Three of each key, in order. */
static void make_things(void)
{
	for (int i = 0; i < THINGS; i++)
		things[i] = (struct thing){i / 3 * 2, i % 3, false};
}

static void check(const struct sorted *sorted)
{
	const struct thing *at = sorted_first(sorted);
	size_t count = 0;
	for (size_t i = 0; i < THINGS; i++) {
		if (!things[i].is_in)
			continue;
		assert_ptr_equal(at, &things[i]);
		at = sorted_next(sorted, at);
		count++;
	}
	assert_null(at);
	assert_int_equal(sorted->count, count);
}

static void flip(struct sorted *sorted, struct thing *thing)
{
	struct thing same = {thing->key, thing->rank, false};
	if (thing->is_in)
		sorted_remove(sorted, thing);
	else
		assert_true(sorted_add(sorted, thing));
	thing->is_in = !thing->is_in;
	if (thing->is_in)
		assert_false(sorted_add(sorted, &same));
}

/* Every thing once in some order: `step` and THINGS have no common divisor. */
static void flip_all(struct sorted *sorted, size_t step)
{
	for (size_t i = 0; i < THINGS; i++)
		flip(sorted, &things[i * step % THINGS]);
	check(sorted);
}

static void whatever_the_order_of_adding_and_removing(void **state)
{
	static const size_t steps[] = {1, THINGS - 1, 7, 1777, 2503, 4999};
	struct sorted sorted;
	(void)state;
	make_things();
	sorted_init(&sorted, compare_things);
	check(&sorted);
	for (size_t add = 0; add < sizeof(steps) / sizeof(steps[0]); add++) {
		for (size_t del = 0; del < sizeof(steps) / sizeof(steps[0]); del++) {
			flip_all(&sorted, steps[add]);
			flip_all(&sorted, steps[del]);
		}
	}
	assert_null(sorted.blocks);
}

static void some_come_while_others_go(void **state)
{
	struct sorted sorted;
	(void)state;
	make_things();
	sorted_init(&sorted, compare_things);
	srand(1);
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < THINGS; i++)
			flip(&sorted, &things[rand() % THINGS]);
		check(&sorted);
	}
	sorted_fini(&sorted);
	assert_null(sorted_first(&sorted));
}

static void finds_by_a_key_that_several_have(void **state)
{
	struct sorted sorted;
	(void)state;
	make_things();
	sorted_init(&sorted, compare_things);
	flip_all(&sorted, 7);
	for (int key = -1; key < things[THINGS - 1].key + 2; key++) {
		size_t from = key < 0 ? 0 : (size_t)(key + 1) / 2 * 3;
		struct thing *want = from < THINGS ? &things[from] : NULL;
		bool is_there = want != NULL && want->key == key;
		assert_ptr_equal(sorted_find(&sorted, &key, compare_key), is_there ? want : NULL);
	}
	/* What has gone still has a next. */
	flip(&sorted, &things[10]);
	assert_ptr_equal(sorted_next(&sorted, &things[10]), &things[11]);
	sorted_fini(&sorted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_the_order_of_adding_and_removing),
		cmocka_unit_test(some_come_while_others_go),
		cmocka_unit_test(finds_by_a_key_that_several_have),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
