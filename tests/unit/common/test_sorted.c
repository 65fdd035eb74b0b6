// SPDX-License-Identifier: Apache-2.0
#include "common/sorted.h"

#include "common/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { NUMBERS = 2000 };
static int numbers[NUMBERS]; /* each its own key */

static int compare(const void *key, const void *item)
{
	return *(const int *)key - *(const int *)item;
}

static int number_numbers(void **state)
{
	(void)state;
	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = i;
	return 0;
}

/* Those that are there, in order and each once, whichever way one asks. */
static void check(const struct sorted *sorted, const bool *is_there)
{
	const int *item = sorted_first(sorted);
	for (int i = 0; i < NUMBERS; i++) {
		assert_ptr_equal(sorted_find(sorted, &i), is_there[i] ? &numbers[i] : NULL);
		assert_ptr_equal(sorted_from(sorted, &i), item);
		if (is_there[i]) {
			assert_ptr_equal(item, &numbers[i]);
			item = sorted_after(sorted, &i);
		} else {
			assert_ptr_equal(sorted_after(sorted, &i), item);
		}
	}
	assert_null(item);
}

static void random_changes_keep_the_order(void **state)
{
	struct sorted sorted;
	bool is_there[NUMBERS] = {false};
	(void)state;
	srand(7);
	sorted_init(&sorted, compare);
	check(&sorted, is_there);
	for (int round = 0; round < 60; round++) {
		/* It grows, shrinks to nothing, and grows again. */
		int adds = round % 20 < 10 ? 8 : 1;
		for (int i = 0; i < 1500; i++) {
			int number = rand() % NUMBERS;
			bool add = rand() % 10 < adds;
			if (add && !is_there[number])
				sorted_add(&sorted, &number, &numbers[number]);
			else if (!add && is_there[number])
				sorted_del(&sorted, &number);
			is_there[number] = add;
		}
		check(&sorted, is_there);
	}
	for (int i = 0; i < NUMBERS; i++) {
		if (is_there[i])
			sorted_del(&sorted, &i);
		is_there[i] = false;
	}
	check(&sorted, is_there);
	assert_int_equal(slab_used(), 0);
	sorted_fini(&sorted);
}

/* Pages that are full, and pages that were emptied, are not kept for nothing. */
static void items_take_little_more_than_their_pointers(void **state)
{
	struct sorted sorted;
	bool is_there[NUMBERS] = {false};
	(void)state;
	sorted_init(&sorted, compare);
	for (int i = 0; i < NUMBERS; i++)
		sorted_add(&sorted, &i, &numbers[i]);
	size_t most = sorted.page_count;
	assert_true(most <= NUMBERS / 60);
	for (int i = 0; i < NUMBERS; i++) {
		is_there[i] = i % 100 == 0;
		if (!is_there[i])
			sorted_del(&sorted, &i);
	}
	check(&sorted, is_there);
	assert_true(sorted.page_count <= 2);
	for (int i = 0; i < NUMBERS; i++) {
		if (!is_there[i])
			sorted_add(&sorted, &i, &numbers[i]);
		is_there[i] = true;
	}
	check(&sorted, is_there);
	for (int i = NUMBERS - 1; i >= 0; i--) {
		sorted_del(&sorted, &i);
		is_there[i] = false;
	}
	check(&sorted, is_there);
	for (int i = NUMBERS - 1; i >= 0; i--) {
		sorted_add(&sorted, &i, &numbers[i]);
		is_there[i] = true;
	}
	check(&sorted, is_there);
	assert_true(sorted.page_count <= 2 * most + 1);
	for (int i = NUMBERS - 1; i >= 0; i--)
		assert_ptr_equal(sorted_pop(&sorted), &numbers[i]);
	assert_null(sorted_pop(&sorted));
	assert_null(sorted_first(&sorted));
	sorted_fini(&sorted);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_changes_keep_the_order),
		cmocka_unit_test(items_take_little_more_than_their_pointers),
	};
	return cmocka_run_group_tests(tests, number_numbers, NULL);
}
