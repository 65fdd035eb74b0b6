// SPDX-License-Identifier: Apache-2.0
#include "translator/regexes.h"

#include "tests/unit/translator/help.h"

static const char *check(struct arena *arena, const char *text)
{
	return regex_check(str_from(text), arena);
}

static void good_ones(void **state)
{
	static const char *const rows[] = {"a", "^/a(/|$)(.*)", "[a-z]{3}", "(?:a|b)+", "(?i)a",
		"(?i:a)b", "(?<name>a)", "(?P<name>a)", "[]a]", "[^]a]", "[(?=]", "[[:alpha:]]",
		"[[:alpha:]\\]]", "\\(?=", "\\d+\\.\\w*", "a{2,3}?", "(?-i)a", "(?>a)", "(?|a|b)",
		"\\bword\\b", "[\\1]"};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *problem = check(&arena, rows[i]);
		if (problem != NULL)
			fail_msg("\"%s\": %s", rows[i], problem);
	}
	arena_fini(&arena);
}

static void bad_ones(void **state)
{
	static const char *const rows[] = {"", "(", "[", "a\\", "a**b)", "(?=a)", "(?!a)", "(?<=a)",
		"(?<!a)", "(a)\\1", "(a)\\g1", "(a)\\g{1}", "(?<n>a)\\k<n>", "(?P=n)", "(?R)",
		"(?1)", "(?&n)", "(?P>n)", "(?C1)", "(*ACCEPT)", "(*UTF)a",
		"(*positive_lookahead:a)", "(?(1)a|b)", "(?#x)", "(?x)a", "\\Qa", "a\\Kb", "\\Ca",
		"\\Ga", "a\nb", "\xc3\xa4", "(?i", "(?", "[a]\\1", "[[:alpha:]]\\1", "[^]]\\1",
		"\\\\\\1"};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (check(&arena, rows[i]) == NULL)
			fail_msg("\"%s\" is accepted", rows[i]);
	}
	arena_fini(&arena);
}

static void limits(void **state)
{
	struct arena arena;
	char text[REGEX_LEN_MAX + 1];
	(void)state;
	arena_init(&arena);
	memset(text, 'a', sizeof(text));
	assert_null(regex_check((struct str){text, REGEX_LEN_MAX}, &arena));
	assert_non_null(regex_check((struct str){text, REGEX_LEN_MAX + 1}, &arena));
	for (size_t i = 0; i <= REGEX_GROUPS_MAX; i++)
		memcpy(text + 3 * i, "(a)", 3);
	assert_null(regex_check((struct str){text, 3 * (size_t)REGEX_GROUPS_MAX}, &arena));
	assert_non_null(regex_check((struct str){text, 3 * (size_t)REGEX_GROUPS_MAX + 3}, &arena));
	memset(text, '(', 100);
	memset(text + 100, ')', 100);
	assert_non_null(regex_check((struct str){text, 200}, &arena));
	assert_non_null(check(&arena, "((a{500}){500}){500}"));
	arena_fini(&arena);
}

static void paths_become_expressions(void **state)
{
	struct arena arena;
	(void)state;
	arena_init(&arena);
	assert_text(regex_of_path(STR("/a.b+c"), false, &arena), "(?i)^/a\\.b\\+c");
	assert_text(regex_of_path(STR("/a.b+c"), true, &arena), "(?i)^/a.b+c");
	assert_true(regex_is_of_path(STR("(?i)^/a\\.b"), STR("/a.b")));
	assert_true(regex_is_of_path(STR("(?i)^/a.b"), STR("/a.b")));
	assert_false(regex_is_of_path(STR("(?i)^/a.b"), STR("/a")));
	assert_true(regex_finds(STR("(?i)^/a\\.b"), STR("/A.bc")));
	assert_false(regex_finds(STR("(?i)^/a\\.b"), STR("/aXb")));
	/* One that would take exponential time ends. */
	assert_false(regex_finds(
		STR("^(a+)+$"), STR("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab")));
	arena_fini(&arena);
}

static void prefixes_take_all_that_may_match(void **state)
{
	static const struct {
		const char *path;
		const char *want;
	} rows[] = {
		{"/a/b", "/a"},
		{"/a(/|$)(.*)", "/a"},
		{"/a(/|$)(.*)|/b", "/"},
		{"/a/[0-9]{3}", "/a"},
		{"/ab?", "/"},
		{"/a/b.c", "/a"},
		{"/(x|y)", "/"},
		{"/a/(x|y)", "/a"},
		{"/a|/b", "/"},
		{"/a/[|]b|/c", "/"},
		{"/a/[(]|/c", "/"},
		{"/a/\\(|/c", "/"},
		{"/", "/"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_text(regex_prefix(str_from(rows[i].path)), rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_ones),
		cmocka_unit_test(bad_ones),
		cmocka_unit_test(limits),
		cmocka_unit_test(paths_become_expressions),
		cmocka_unit_test(prefixes_take_all_that_may_match),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
