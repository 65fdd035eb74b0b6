// SPDX-License-Identifier: Apache-2.0
#include "translator/rules.h"

#include "tests/unit/translator/help.h"

static const struct object_ref first = {STR("a"), STR("first"), STR("1")};
static const struct object_ref second = {STR("a"), STR("second"), STR("2")};

struct row {
	const char *name;
	struct path_claim claims[4];
	const char *rules;   /* "path match pool, ..." as merged */
	const char *reasons; /* of diagnostics */
};

#define CLAIM(who_, created_, path_, type_, pool_)                             \
	{                                                                      \
		.ingress = &(who_), .created = (created_), .path = STR(path_), \
		.type = PATH_##type_, .pool = STR(pool_)                       \
	}

static const struct row rows[] = {
	{"nothing", {{0}}, "", ""},
	{"longest first",
		{CLAIM(first, 1, "/", PREFIX, "a"), CLAIM(first, 1, "/aaa/bbb", PREFIX, "b"),
			CLAIM(first, 1, "/aaa", PREFIX, "c")},
		"/aaa/bbb p b, /aaa p c, / p a", ""},
	{"exact before prefix",
		{CLAIM(first, 1, "/foo", PREFIX, "a"), CLAIM(first, 1, "/foo", EXACT, "b")},
		"/foo e b, /foo p a", ""},
	{"exact before a prefix longer by a slash",
		{CLAIM(first, 1, "/foo/", PREFIX, "a"), CLAIM(first, 1, "/foo", EXACT, "b")},
		"/foo e b, /foo/ p a", ""},
	{"in one Ingress the longer text",
		{CLAIM(first, 1, "/foo", PREFIX, "a"), CLAIM(first, 1, "/foo/", PREFIX, "b")},
		"/foo/ p b, /foo p a", ""},
	{"of two the older, whatever the slash",
		{CLAIM(first, 2, "/foo/", PREFIX, "a"), CLAIM(second, 1, "/foo", PREFIX, "b")},
		"/foo p b", "PathConflict"},
	{"exact paths that differ by a slash stay",
		{CLAIM(first, 1, "/foo", EXACT, "a"), CLAIM(second, 1, "/foo/", EXACT, "b")},
		"/foo e a, /foo/ e b", ""},
	{"exact wins over an older prefix",
		{CLAIM(first, 1, "/foo", PREFIX, "a"), CLAIM(second, 2, "/foo", EXACT, "b")},
		"/foo e b, /foo p a", ""},
	{"of one age the smaller name",
		{CLAIM(second, 1, "/foo", PREFIX, "b"), CLAIM(first, 1, "/foo", PREFIX, "a")},
		"/foo p a", "PathConflict"},
	{"implementation-specific collides with prefix",
		{CLAIM(first, 1, "/foo", IMPLEMENTATION_SPECIFIC, "a"),
			CLAIM(second, 2, "/foo", PREFIX, "b")},
		"/foo i a", "PathConflict"},
	{"the same twice in one Ingress is silent",
		{CLAIM(first, 1, "/foo", PREFIX, "a"), CLAIM(first, 1, "/foo", PREFIX, "a")},
		"/foo p a", ""},
	{"two meanings in one Ingress are told",
		{CLAIM(first, 1, "/foo", PREFIX, "a"), CLAIM(first, 1, "/foo", PREFIX, "b")},
		"/foo p a", "DuplicatePath"},
	{"same length, the older first",
		{CLAIM(first, 2, "/aaa", PREFIX, "a"), CLAIM(second, 1, "/bbb", PREFIX, "b")},
		"/bbb p b, /aaa p a", ""},
	{"of three the oldest, both others hear",
		{CLAIM(first, 1, "/x", PREFIX, "a"), CLAIM(second, 2, "/x", PREFIX, "b"),
			CLAIM(second, 2, "/x/", PREFIX, "c")},
		"/x p a", "PathConflict PathConflict"},
};

static struct str describe(struct arena *arena, const struct virtual_host *host)
{
	struct str text = STR("");
	for (size_t i = 0; i < host->rules.count; i++) {
		const struct path_rule *rule = &host->rules.items[i];
		text = arena_printf(arena, "%.*s%s%.*s %c %.*s", STR_FMT(text), i != 0 ? ", " : "",
			STR_FMT(rule->path), "ipe"[rule->match], STR_FMT(rule->pool));
	}
	return text;
}

static void check(const struct row *row, bool backwards)
{
	struct arena arena;
	struct diag_list diags;
	struct virtual_host host = {0};
	struct path_claim claims[4];
	size_t count = 0;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	while (count < 4 && row->claims[count].ingress != NULL)
		count++;
	for (size_t i = 0; i < count; i++) {
		claims[i] = row->claims[backwards ? count - 1 - i : i];
		claims[i].position = backwards ? count - 1 - i : i;
	}
	rules_merge(claims, count, &(struct rules_host){.name = STR("h")}, &arena, &host, &diags);
	struct str got = describe(&arena, &host);
	const char *reasons = reasons_of(&diags);
	if (!str_eq_c(got, row->rules) || strcmp(reasons, row->reasons) != 0)
		fail_msg("%s: \"%.*s\" %s", row->name, STR_FMT(got), reasons);
	arena_fini(&arena);
}

static void merging_does_not_depend_on_the_order_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		check(&rows[i], false);
		check(&rows[i], true);
	}
}

static void what_is_implied_comes_last_and_loses_in_silence(void **state)
{
	struct arena arena;
	struct diag_list diags;
	struct virtual_host host = {0};
	struct path_claim claims[] = {CLAIM(first, 1, "/", PREFIX, "a"),
		CLAIM(second, 2, "/", EXACT, "b"), CLAIM(second, 2, "/", PREFIX, "c")};
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	claims[0].is_implied = true;
	rules_merge(claims, 3, &(struct rules_host){.name = STR("")}, &arena, &host, &diags);
	assert_text(describe(&arena, &host), "/ e b, / p c");
	assert_int_equal(diags.count, 0);
	arena_fini(&arena);
}

static void the_number_of_rules_is_limited(void **state)
{
	struct arena arena;
	struct diag_list diags;
	struct virtual_host host = {0};
	size_t count = RULES_MAX + 3;
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	struct path_claim *claims = arena_calloc(&arena, count, sizeof(*claims));
	for (size_t i = 0; i < count; i++)
		claims[i] = (struct path_claim){.ingress = &first,
			.path = arena_printf(&arena, "/%zu", i),
			.type = PATH_PREFIX,
			.pool = STR("p")};
	rules_merge(claims, count, &(struct rules_host){.name = STR("h")}, &arena, &host, &diags);
	assert_int_equal(host.rules.count, RULES_MAX);
	assert_int_equal(diags.count, 3);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_does_not_depend_on_the_order_given),
		cmocka_unit_test(what_is_implied_comes_last_and_loses_in_silence),
		cmocka_unit_test(the_number_of_rules_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
