// SPDX-License-Identifier: Apache-2.0
#include "translator/paths.h"

#include "tests/unit/translator/help.h"

static void safe_paths_are_taken(void **state)
{
	static const char *const rows[] = {
		"", "/", "/a", "/a/", "/a/b.c", "/~u/-_.!&()*+,=:@", "/%20%7e", "/...", "/a..b/c"};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *problem = path_check(str_from(rows[i]), PATH_PREFIX);
		if (problem != NULL)
			fail_msg("\"%s\": %s", rows[i], problem);
	}
}

static void unsafe_paths_are_refused_in_every_type(void **state)
{
	static const char *const rows[] = {"a", " /a", "/a b", "/a\tb", "/a\nb", "/a\rb", "/\x01",
		"/\x7f", "/\"", "/'", "/`", "/{", "/}", "/[", "/]", "/<", "/>", "/;", "/#", "/?",
		"/$", "/^", "/|", "/\\", "/\xc3\xbc", "/\xff", "/%", "/%2", "/%zz", "/%00", "/%1f",
		"/%7F", "/%2f", "/%2F", "//", "/a//b", "/a//", "/.", "/..", "/./a", "/a/..",
		"/a/../b"};
	static const enum path_type types[] = {
		PATH_EXACT, PATH_PREFIX, PATH_IMPLEMENTATION_SPECIFIC};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		for (size_t k = 0; k < COUNT_OF(types); k++) {
			if (path_check(str_from(rows[i]), types[k]) == NULL)
				fail_msg("\"%s\" was taken as type %d", rows[i], (int)types[k]);
		}
	}
}

static void the_empty_path_needs_a_type_that_can_mean_it(void **state)
{
	(void)state;
	assert_non_null(path_check(STR(""), PATH_EXACT));
	assert_null(path_check(STR(""), PATH_IMPLEMENTATION_SPECIFIC));
	assert_text(path_normal(STR("")), "/");
	assert_text(path_normal(STR("/a")), "/a");
}

static void a_path_may_not_hold_nul_or_be_endless(void **state)
{
	char path[PATH_LEN_MAX + 1];
	(void)state;
	assert_non_null(path_check((struct str){"/a\0b", 4}, PATH_PREFIX));
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	assert_null(path_check((struct str){path, PATH_LEN_MAX}, PATH_PREFIX));
	assert_non_null(path_check((struct str){path, PATH_LEN_MAX + 1}, PATH_PREFIX));
}

static void a_path_has_a_bounded_number_of_elements(void **state)
{
	char path[2 * (PATH_ELEMENTS_MAX + 1)];
	(void)state;
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = i % 2 == 0 ? '/' : 'a';
	size_t most = 2 * PATH_ELEMENTS_MAX;
	assert_null(path_check((struct str){path, most}, PATH_PREFIX));
	assert_non_null(path_check((struct str){path, most + 2}, PATH_PREFIX));
}

static void stems_lose_one_slash(void **state)
{
	(void)state;
	assert_text(path_stem(STR("/")), "");
	assert_text(path_stem(STR("/a")), "/a");
	assert_text(path_stem(STR("/a/")), "/a");
}

static void order_is_that_of_the_truth_table(void **state)
{
	static const struct {
		const char *first;
		enum path_type first_type;
		const char *second;
		enum path_type second_type;
		int order;
	} rows[] = {
		{"/aaa/bbb", PATH_PREFIX, "/aaa", PATH_PREFIX, -1},
		{"/foo", PATH_EXACT, "/foo", PATH_PREFIX, -1},
		{"/foo", PATH_EXACT, "/foo/", PATH_PREFIX, -1},
		{"/foo/", PATH_EXACT, "/foo", PATH_PREFIX, -1},
		{"/foo/bar", PATH_PREFIX, "/foo", PATH_EXACT, -1},
		{"/foo", PATH_PREFIX, "/foo/", PATH_PREFIX, 0},
		{"/foo", PATH_PREFIX, "/bar", PATH_IMPLEMENTATION_SPECIFIC, 0},
		{"/", PATH_EXACT, "/", PATH_PREFIX, -1},
		{"/a", PATH_PREFIX, "/", PATH_EXACT, -1},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str a = str_from(rows[i].first);
		struct str b = str_from(rows[i].second);
		int order = path_compare(a, rows[i].first_type, b, rows[i].second_type);
		int back = path_compare(b, rows[i].second_type, a, rows[i].first_type);
		if (order != rows[i].order || back != -rows[i].order)
			fail_msg("%s and %s: %d, back %d", rows[i].first, rows[i].second, order,
				back);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(safe_paths_are_taken),
		cmocka_unit_test(unsafe_paths_are_refused_in_every_type),
		cmocka_unit_test(the_empty_path_needs_a_type_that_can_mean_it),
		cmocka_unit_test(a_path_may_not_hold_nul_or_be_endless),
		cmocka_unit_test(a_path_has_a_bounded_number_of_elements),
		cmocka_unit_test(stems_lose_one_slash),
		cmocka_unit_test(order_is_that_of_the_truth_table),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
