// SPDX-License-Identifier: Apache-2.0
#include "translator/auth_users.h"

#include "tests/unit/translator/help.h"

static struct auth_users read_text(struct arena *arena, struct str text)
{
	struct auth_users users;
	struct secret_entry *entry = arena_alloc(arena, sizeof(*entry));
	struct secret_record secret = {.entries = {entry, 1}};
	*entry = (struct secret_entry){STR("auth"), text};
	auth_users_read(&secret, STR("staff"), false, arena, &users);
	return users;
}

static const char *shown(struct arena *arena, const struct auth_users *users)
{
	struct str all = STR("");
	for (size_t i = 0; i < users->count; i++)
		all = arena_printf(arena, "%.*s%s%.*s=%.*s", STR_FMT(all), i != 0 ? " " : "",
			STR_FMT(users->items[i].name), STR_FMT(users->items[i].hash));
	return all.p;
}

static void lines(void **state)
{
	static const struct {
		const char *text;
		const char *want;
		size_t problems;
	} rows[] = {
		{"b:$1$x\na:$6$y", "a=$6$y b=$1$x", 0},
		{"a:$1$x:a remark\r\n", "a=$1$x", 0},
		{"# a:$1$x\n\n", "", 0},
		{"a:$1$x\na:$1$y", "a=$1$x", 0},
		{"a:{SHA}x\nb:{SSHA}x\nc:$2y$x\nd:$2a$x\ne:$2b$x\nf:$5$x\ng:$apr1$x",
			"a={SHA}x b={SSHA}x c=$2y$x d=$2a$x e=$2b$x f=$5$x g=$apr1$x", 0},
		{"a:plain", "", 1},
		{"a:{PLAIN}x", "", 1},
		{"a:$1$", "", 1},
		{"a", "", 1},
		{":$1$x", "", 1},
		{"a:$1$x y", "", 1},
		{"\xff:$1$x", "", 1},
		{"a\tb:$1$x", "", 1},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct arena arena;
		arena_init(&arena);
		struct auth_users users = read_text(&arena, str_from(rows[i].text));
		assert_string_equal(shown(&arena, &users), rows[i].want);
		assert_int_equal(users.problem_count, rows[i].problems);
		arena_fini(&arena);
	}
}

static void problems_name_nobody_and_nothing(void **state)
{
	struct arena arena;
	(void)state;
	arena_init(&arena);
	struct auth_users users = read_text(&arena, STR("adam:$1$x\nhidden:password"));
	assert_int_equal(users.problem_count, 1);
	assert_non_null(strstr(users.problems[0], "Secret staff: line 2 "));
	assert_null(strstr(users.problems[0], "hidden"));
	assert_null(strstr(users.problems[0], "password"));
	arena_fini(&arena);
}

static void without_a_secret_there_is_nobody(void **state)
{
	struct secret_record none = {0};
	struct auth_users users;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	auth_users_read(NULL, STR("staff"), false, &arena, &users);
	assert_int_equal(users.count + 10 * users.problem_count, 10);
	auth_users_read(&none, STR("staff"), false, &arena, &users);
	assert_int_equal(users.count + 10 * users.problem_count, 10);
	arena_fini(&arena);
}

static void keys(void **state)
{
	struct secret_entry entries[] = {{STR("adam"), STR("$1$x\n")}, {STR("bob"), STR("plain")}};
	struct secret_record secret = {.entries = {entries, 2}};
	struct auth_users users;
	struct arena arena;
	(void)state;
	arena_init(&arena);
	auth_users_read(&secret, STR("staff"), true, &arena, &users);
	assert_string_equal(shown(&arena, &users), "adam=$1$x");
	assert_non_null(strstr(users.problems[0], "key 2 "));
	arena_fini(&arena);
}

static void so_many(void **state)
{
	struct str text = STR("");
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (int i = 0; i <= AUTH_USERS_MAX; i++)
		text = arena_printf(&arena, "%.*su%d:$1$x\n", STR_FMT(text), i);
	struct auth_users users = read_text(&arena, text);
	assert_int_equal(users.count, AUTH_USERS_MAX);
	assert_int_equal(users.problem_count, 1);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines),
		cmocka_unit_test(problems_name_nobody_and_nothing),
		cmocka_unit_test(without_a_secret_there_is_nobody),
		cmocka_unit_test(keys),
		cmocka_unit_test(so_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
