// SPDX-License-Identifier: Apache-2.0
#include "common/ascii.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void every_byte_has_its_class(void **state)
{
	static const struct str digits = {"0123456789", 10};
	static const struct str lower = {"abcdefghijklmnopqrstuvwxyz", 26};
	static const struct str upper = {"ABCDEFGHIJKLMNOPQRSTUVWXYZ", 26};
	(void)state;
	for (int i = CHAR_MIN; i <= CHAR_MAX; i++) {
		char c = (char)i;
		const char *at = str_find(upper, c);
		assert_int_equal(ascii_is_digit(c), str_find(digits, c) != NULL);
		assert_int_equal(ascii_is_lower(c), str_find(lower, c) != NULL);
		assert_int_equal(ascii_is_upper(c), at != NULL);
		assert_int_equal(ascii_is_letter(c), ascii_is_lower(c) || ascii_is_upper(c));
		assert_int_equal(ascii_is_alnum(c), ascii_is_letter(c) || ascii_is_digit(c));
		assert_int_equal(ascii_to_lower(c), at != NULL ? lower.p[at - upper.p] : c);
	}
}

static void a_text_is_made_of_what_is_named(void **state)
{
	static const struct {
		struct str in;
		const char *others;
		bool want;
	} cases[] = {
		{{NULL, 0}, "", true}, {{"aZ9", 3}, "", true}, {{"a-b", 3}, "", false},
		{{"a-b", 3}, "_-", true}, {{"a\0b", 3}, "_-", false}, {{"\xc3\xa4", 2}, "-", false},
		{{"a/b", 1}, "", true}, /* no further than its length */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(ascii_is_made_of(cases[i].in, cases[i].others), cases[i].want);
}

static void case_is_of_letters_alone(void **state)
{
	static const struct {
		struct str a, b;
		bool want;
	} cases[] = {
		{{NULL, 0}, {"", 0}, true}, {{"Host", 4}, {"hOST", 4}, true},
		{{"Host", 4}, {"host-", 5}, false}, {{"[", 1}, {"{", 1}, false},
		{{"\xc4", 1}, {"\xe4", 1}, false},
		{{"a\0b", 3}, {"A\0c", 3}, false}, /* no end, as for strncasecmp() */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(ascii_eq_nocase(cases[i].a, cases[i].b), cases[i].want);
}

static void printable_is_between_the_control_bytes(void **state)
{
	(void)state;
	for (int i = CHAR_MIN; i <= CHAR_MAX; i++) {
		const char text[] = {'a', (char)i};
		assert_int_equal(ascii_is_printable((struct str){text, 2}), i >= ' ' && i <= '~');
	}
	assert_true(ascii_is_printable(STR_NONE));
}

static void only_letters_become_small(void **state)
{
	struct arena arena;
	(void)state;
	arena_init(&arena);
	struct str small = ascii_lower(&arena, STR("X-Forwarded[@\xc4"));
	assert_true(str_eq(small, STR("x-forwarded[@\xc4")));
	assert_int_equal(small.p[small.len], 0);
	assert_int_equal(ascii_lower(&arena, STR_NONE).len, 0);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_byte_has_its_class),
		cmocka_unit_test(a_text_is_made_of_what_is_named),
		cmocka_unit_test(case_is_of_letters_alone),
		cmocka_unit_test(printable_is_between_the_control_bytes),
		cmocka_unit_test(only_letters_become_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
