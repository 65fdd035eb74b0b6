// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/table.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static struct table *make(void)
{
	static const struct {
		const char *name;
		const char *state;
		double rank;
	} rows[] = {{"alpha", "good", 3}, {"beta", "BAD", 1}, {"gamma", "bad\x1b[31m", 2},
		{"delta", "", 3}};
	struct table *table = table_new(2);
	table_add(table, STR("NAME"));
	table_add(table, STR("STATE"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		table_rank(table, rows[i].rank);
		table_add(table, str_from(rows[i].name));
		table_add(table, str_from(rows[i].state));
	}
	return table;
}

struct choice_case {
	const char *name;
	struct table_choice choice;
	const char *want; /* as JSON, behind the columns */
};

static const struct choice_case choice_cases[] = {
	{"all", {.limit = SIZE_MAX},
		"\"matches\":4,\"rows\":[[\"alpha\",\"good\"],[\"beta\",\"BAD\"],[\"gamma\","
		"\"bad?[31m\"],[\"delta\",\"-\"]]}"},
	{"those with a text", {.match = "Bad", .limit = SIZE_MAX},
		"\"matches\":2,\"rows\":[[\"beta\",\"BAD\"],[\"gamma\",\"bad?[31m\"]]}"},
	{"none", {.match = "nothing", .limit = SIZE_MAX}, "\"matches\":0,\"rows\":[]}"},
	/* A text is looked for in each cell, and in no two of them; the head is none. */
	{"no two cells", {.match = "alphagood", .limit = SIZE_MAX}, "\"matches\":0,\"rows\":[]}"},
	{"not the head", {.match = "NAME", .limit = SIZE_MAX}, "\"matches\":0,\"rows\":[]}"},
	{"a part", {.skip = 1, .limit = 2},
		"\"matches\":4,\"rows\":[[\"beta\",\"BAD\"],[\"gamma\",\"bad?[31m\"]]}"},
	{"behind the end", {.skip = 9, .limit = 2}, "\"matches\":4,\"rows\":[]}"},
	{"nothing of them", {.limit = 0}, "\"matches\":4,\"rows\":[]}"},
	/* Those of equal rank stay in their order. */
	{"the worst first", {.limit = SIZE_MAX, .by_rank = true},
		"\"matches\":4,\"rows\":[[\"beta\",\"BAD\"],[\"gamma\",\"bad?[31m\"],[\"alpha\","
		"\"good\"],[\"delta\",\"-\"]]}"},
	{"all of it", {.match = "a", .skip = 1, .limit = 1, .by_rank = true},
		"\"matches\":4,\"rows\":[[\"gamma\",\"bad?[31m\"]]}"},
};

static void test_choices(void **ctx)
{
	static const char columns[] = "{\"columns\":[\"NAME\",\"STATE\"],";
	(void)ctx;
	for (size_t i = 0; i < sizeof(choice_cases) / sizeof(choice_cases[0]); i++) {
		struct table *table = make();
		struct buf out;
		buf_init(&out, 4096);
		table_choose(table, &choice_cases[i].choice);
		assert_int_equal(table_put_json(table, &out), 0);
		struct str text = buf_str(&out);
		assert_true(str_starts_with(text, str_from(columns)));
		char *rest = str_dup(str_skip(text, sizeof(columns) - 1));
		if (strcmp(rest, choice_cases[i].want) != 0)
			fail_msg("%s: %s", choice_cases[i].name, rest);
		free(rest);
		buf_fini(&out);
		table_free(table);
	}
}

static void test_widths_are_those_of_what_is_printed(void **ctx)
{
	const struct table_choice choice = {.match = "good", .limit = SIZE_MAX};
	struct table *table = make();
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	(void)ctx;
	table_add(table, STR("a long name that is not printed"));
	table_add(table, STR("x"));
	table_choose(table, &choice);
	table_print(table, out, 0);
	fclose(out);
	assert_string_equal(text, "NAME    STATE\nalpha   good\n");
	free(text);
	table_free(table);
}

static void test_what_breaks_the_limit(void **ctx)
{
	struct table *table = make();
	struct buf out;
	(void)ctx;
	buf_init(&out, 40);
	assert_int_equal(table_put_json(table, &out), -EMSGSIZE);
	buf_fini(&out);
	table_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_widths_are_those_of_what_is_printed),
		cmocka_unit_test(test_what_breaks_the_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
