// SPDX-License-Identifier: Apache-2.0
#include "common/str.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum { LEN_MAX = 40 };

/* In texts of every length, at every place: what is looked at in eights must not differ. */
static void bad_bytes_are_found_wherever_they_stand(void **state)
{
	static const char bad[] = {'\0', '\x80', '\xc0', '\xff'};
	(void)state;
	for (size_t len = 0; len <= LEN_MAX; len++) {
		char text[LEN_MAX];
		memset(text, 0x7f, len);
		assert_true(str_is_utf8((struct str){text, len}));
		for (size_t at = 0; at < len; at++) {
			for (size_t i = 0; i < sizeof(bad); i++) {
				memset(text, 0x01, len);
				text[at] = bad[i];
				assert_false(str_is_utf8((struct str){text, len}));
			}
		}
	}
}

/* The sanitizers see to it that nothing is asked of NULL. */
static void an_absent_text_is_copied_and_searched_like_an_empty_one(void **state)
{
	char to[] = "as it was";
	(void)state;
	str_put(to, STR_NONE);
	str_put(to, STR(""));
	assert_string_equal(to, "as it was");
	str_put(to, STR("AS"));
	assert_string_equal(to, "AS it was");
	assert_null(str_find(STR_NONE, '\0'));
	assert_null(str_find(STR("abc"), 'd'));
	const struct str text = STR("abcb");
	assert_ptr_equal(str_find(text, 'b'), text.p + 1);
}

static void sequences_are_whole_wherever_they_stand(void **state)
{
	static const char *const sequences[] = {"\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"};
	(void)state;
	for (size_t i = 0; i < sizeof(sequences) / sizeof(sequences[0]); i++) {
		size_t len = strlen(sequences[i]);
		for (size_t at = 0; at + len <= LEN_MAX; at++) {
			char text[LEN_MAX];
			memset(text, 'a', sizeof(text));
			memcpy(text + at, sequences[i], len);
			assert_true(str_is_utf8((struct str){text, sizeof(text)}));
			assert_true(str_is_utf8((struct str){text, at + len}));
			assert_false(str_is_utf8((struct str){text, at + len - 1}));
		}
	}
}

static void the_last_lines_are_whole(void **state)
{
	static const struct {
		const char *in;
		size_t len_max;
		const char *want;
	} cases[] = {
		{"", 10, ""},
		{"one|two", 7, "one|two"},
		{"[1] it starts|[2] a worker has died|[3] all have ended|", 50,
			"[2] a worker has died|[3] all have ended|"},
		{"[1] it starts|[2] a worker has died|[3] all have ended|", 20,
			"[3] all have ended|"},
		/* The cut falls where a line begins. */
		{"[1] it starts|[2] a worker has died|", 22, "[2] a worker has died|"},
		{"one two three four|five", 16, "three four|five"},
		{"words that go on|x", 17, "that go on|x"},
		{"onetwothree", 5, "three"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str last = str_last_lines(str_from(cases[i].in), '|', cases[i].len_max);
		if (!str_eq_c(last, cases[i].want))
			fail_msg("%s: \"%.*s\"", cases[i].in, STR_FMT(last));
	}
}

static void parts_are_joined(void **state)
{
	char text[8];
	(void)state;
	struct str joined = str_join(
		text, sizeof(text), STR_PARTS(STR("ab"), STR(""), STR_NONE, STR("c"), STR("def")));
	assert_true(str_eq_c(joined, "abcdef"));
	assert_string_equal(text, "abcdef");
	assert_int_equal(str_join(text, sizeof(text), STR_PARTS(STR(""))).len, 0);
	/* The NUL has the last byte. */
	assert_true(str_eq_c(str_join(text, sizeof(text), STR_PARTS(STR("1234567"))), "1234567"));
	assert_int_equal(text[7], 0);
}

static void a_text_is_cut_at_the_first_mark(void **state)
{
	static const struct {
		const char *in, *before, *rest;
	} cases[] = {
		{"a=b=c", "a", "b=c"},
		{"a=", "a", ""},
		{"=a", "", "a"},
		{"abc", "abc", ""},
		{"", "", ""},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str rest = str_from(cases[i].in);
		assert_true(str_eq_c(str_before(rest, '='), cases[i].before));
		assert_true(str_eq_c(str_cut(&rest, '='), cases[i].before));
		assert_true(str_eq_c(rest, cases[i].rest));
		assert_ptr_equal(rest.p + rest.len, cases[i].in + strlen(cases[i].in));
	}
	struct str absent = STR_NONE;
	assert_null(str_cut(&absent, '=').p);
	assert_null(absent.p);
}

static void numbers_become_digits(void **state)
{
	static const struct {
		uint64_t in;
		const char *decimal;
		const char *hex;
	} cases[] = {
		{0, "0", "0000000000000000"},
		{9, "9", "0000000000000009"},
		{10, "10", "000000000000000a"},
		{65535, "65535", "000000000000ffff"},
		{UINT64_MAX, "18446744073709551615", "ffffffffffffffff"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char digits[STR_UINT_LEN];
		assert_true(str_eq_c(str_from_uint(cases[i].in, digits), cases[i].decimal));
		assert_true(str_eq_c(str_from_hex(cases[i].in, 16, digits), cases[i].hex));
	}
	char two[2];
	assert_true(str_eq_c(str_from_hex(0x1a7, 2, two), "a7"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_are_joined),
		cmocka_unit_test(a_text_is_cut_at_the_first_mark),
		cmocka_unit_test(numbers_become_digits),
		cmocka_unit_test(bad_bytes_are_found_wherever_they_stand),
		cmocka_unit_test(an_absent_text_is_copied_and_searched_like_an_empty_one),
		cmocka_unit_test(sequences_are_whole_wherever_they_stand),
		cmocka_unit_test(the_last_lines_are_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
