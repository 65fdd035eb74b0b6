// SPDX-License-Identifier: Apache-2.0
#include "common/slab.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

enum { THINGS = 2000 };

static size_t size_of_thing(size_t i)
{
	return i * 7 % (SLAB_SIZE_MAX + 40);
}

static void check_all(unsigned char *const *things, unsigned char salt)
{
	for (size_t i = 0; i < THINGS; i++) {
		assert_int_equal((uintptr_t)things[i] % sizeof(void *), 0);
		for (size_t k = 0; k < size_of_thing(i); k++)
			assert_int_equal(things[i][k], (unsigned char)(i ^ salt));
	}
}

static void nothing_overlaps_also_when_it_is_used_again(void **state)
{
	static unsigned char *things[THINGS];
	(void)state;
	size_t before = slab_used();
	for (unsigned char salt = 0; salt < 3; salt++) {
		for (size_t i = 0; i < THINGS; i++) {
			things[i] = slab_alloc(size_of_thing(i));
			memset(things[i], (unsigned char)(i ^ salt), size_of_thing(i));
		}
		check_all(things, salt);
		for (size_t i = 0; i < THINGS; i++)
			slab_free(things[(i * 3) % THINGS], size_of_thing((i * 3) % THINGS));
	}
	assert_int_equal(slab_used(), before);
}

static void zeroed(void **state)
{
	(void)state;
	char *text = slab_alloc(12);
	memset(text, 'x', 12);
	slab_free(text, 12);
	text = slab_zalloc(12);
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(text[i], 0);
	slab_free(text, 12);
	slab_free(NULL, 5);
	void *empty = slab_alloc(0);
	assert_non_null(empty);
	slab_free(empty, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_overlaps_also_when_it_is_used_again),
		cmocka_unit_test(zeroed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
