// SPDX-License-Identifier: Apache-2.0
#include "common/set.h"

#include "common/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

enum { THINGS = 3000 };

struct thing {
	int number;
	bool is_there;
};

static struct thing *things[THINGS];

static int by_number(const void *left, const void *right)
{
	const struct thing *a = left;
	const struct thing *b = right;
	return (a->number > b->number) - (a->number < b->number);
}

static int setup(void **state)
{
	(void)state;
	for (int i = 0; i < THINGS; i++) {
		things[i] = slab_zalloc(sizeof(struct thing));
		things[i]->number = 2 * i; /* so that keys can stand between them */
	}
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (int i = 0; i < THINGS; i++)
		slab_free(things[i], sizeof(struct thing));
	return 0;
}

static void check(const struct set *set)
{
	struct thing *found = set_first(set);
	size_t count = 0;
	for (int i = 0; i < THINGS; i++) {
		struct thing before = {.number = 2 * i - 1};
		struct thing *same = set_find(set, things[i], by_number);
		assert_ptr_equal(same, things[i]->is_there ? things[i] : NULL);
		assert_null(set_find(set, &before, by_number));
		assert_ptr_equal(set_from(set, &before, by_number), found);
		assert_ptr_equal(set_next(set, &before, by_number), found);
		assert_ptr_equal(set_from(set, things[i], by_number), found);
		if (!things[i]->is_there)
			continue;
		assert_ptr_equal(found, things[i]);
		found = set_next(set, things[i], by_number);
		count++;
	}
	assert_null(found);
	assert_true(set_is_empty(set) == (count == 0));
	assert_true(set_has_one(set) == (count == 1));
}

static void toggle(struct set *set, struct thing *thing)
{
	if (thing->is_there)
		set_remove(set, thing, by_number);
	else
		set_add(set, thing, by_number);
	thing->is_there = !thing->is_there;
}

/* In several orders: 1 is ascending, THINGS - 1 descending, the others jump about. */
static void all_are_found_in_order(void **state)
{
	static const int steps[] = {1, THINGS - 1, 7, 1301};
	(void)state;
	for (size_t s = 0; s < sizeof(steps) / sizeof(steps[0]); s++) {
		struct set set = {0};
		size_t before = slab_used();
		/* Adding all, and then removing all in the same order. */
		for (int i = 0; i < 2 * THINGS; i++) {
			toggle(&set, things[(size_t)i * (size_t)steps[s] % THINGS]);
			if (i < 40 || i % 499 == 0 || i > 2 * THINGS - 40)
				check(&set);
		}
		assert_true(set_is_empty(&set));
		assert_int_equal(slab_used(), before);
	}
}

static void things_come_and_go_at_random(void **state)
{
	struct set set = {0};
	size_t before = slab_used();
	unsigned random = 1;
	(void)state;
	for (int i = 0; i < 20 * THINGS; i++) {
		random = random * 1103515245 + 12345;
		toggle(&set, things[(random >> 8) % (i < 10 * THINGS ? THINGS : 60)]);
		if (i % 4999 == 0)
			check(&set);
	}
	check(&set);
	set_clear(&set);
	for (int i = 0; i < THINGS; i++)
		things[i]->is_there = false;
	check(&set);
	assert_int_equal(slab_used(), before);
}

static void a_set_may_change_while_it_is_walked(void **state)
{
	struct set set = {0};
	struct thing *thing;
	int seen = 0;
	(void)state;
	for (int i = 0; i < THINGS; i++)
		set_add(&set, things[i], by_number);
	SET_FOREACH (thing, &set, by_number) {
		assert_int_equal(thing->number, 2 * seen++);
		set_remove(&set, thing, by_number);
	}
	assert_int_equal(seen, THINGS);
	assert_true(set_is_empty(&set));
}

static void little_room_is_taken(void **state)
{
	struct set set = {0};
	size_t before = slab_used();
	(void)state;
	set_add(&set, things[0], by_number);
	assert_int_equal(slab_used(), before);
	set_add(&set, things[1], by_number);
	assert_true(slab_used() - before <= 16 || slab_used() == before);
	for (int i = 2; i < THINGS; i++)
		set_add(&set, things[i], by_number);
	assert_true(slab_used() - before <= THINGS * sizeof(uint32_t) * 11 / 10);
	set_clear(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_found_in_order),
		cmocka_unit_test(things_come_and_go_at_random),
		cmocka_unit_test(a_set_may_change_while_it_is_walked),
		cmocka_unit_test(little_room_is_taken),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
