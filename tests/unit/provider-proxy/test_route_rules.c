// SPDX-License-Identifier: Apache-2.0
/* Rules with more than a pool: which routes become of them, and what is said of those that cannot be had. */
#include "provider-proxy/routes.h"

#include "provider-proxy/policy_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../provider-common/stage.h"

struct fixture {
	struct stage stage;
	struct rows *rows;
	struct notices *notices;
	struct routes *routes;
	bool is_short; /* of room: what is written does not fit */
};

/* A row with the indices of the rules' pools, `!` for a closed rule, `/` for one that has to match. */
static const char *write_route(void *ctx, const struct route *route, struct row_draft *draft)
{
	const struct fixture *f = ctx;
	char text[512] = "";
	size_t len = 0;
	if (f->is_short)
		return "there is no room";
	for (size_t i = 0; i < route->count; i++) {
		const struct route_rule *rule = &route->rules[i];
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s%.*s%s%.*s",
			i != 0 ? "," : "", rule->is_closed ? "!" : "", STR_FMT(rule->rule->pool),
			rule->has_to_match ? "@" : "",
			STR_FMT(rule->has_to_match ? rule->path : STR("")));
	}
	row_draft_add(draft, ROW_WHOLE, arena_printf(draft->arena, "route:%s", route->name.text),
		arena_str(draft->arena, str_from(text)));
	return NULL;
}

static bool write_policy(void *ctx, const struct name *name, const struct policy *policy,
	struct row_draft *draft, struct str *ret_problem)
{
	const struct fixture *f = ctx;
	if (f->is_short) {
		*ret_problem = STR("no room");
		return false;
	}
	row_draft_add(draft, ROW_WHOLE, arena_printf(draft->arena, "policy:%s", name->text),
		arena_printf(draft->arena, "%llu", (unsigned long long)policy->body_max_bytes));
	return true;
}

static int set_up(void **ret_fixture)
{
	static const struct state_config config = {0};
	static struct route_writer writer;
	struct fixture *f = calloc(1, sizeof(*f));
	writer = (struct route_writer){f, write_route, write_policy};
	stage_init(&f->stage, &config);
	f->rows = rows_new();
	f->notices = notices_new(NULL, NULL);
	f->routes = routes_new(f->rows, f->notices, ROUTES_BY_HOST, &writer);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	routes_free(f->routes, f->stage.state);
	stage_fini(&f->stage);
	rows_free(f->rows);
	notices_free(f->notices);
	free(f);
	return 0;
}

static void put(struct fixture *f, const void *object)
{
	struct state_commit commit;
	stage_upsert(&f->stage, object);
	state_commit(f->stage.state, &commit);
	routes_on_commit(f->routes, f->stage.state, &commit);
	state_commit_done(f->stage.state);
}

static void drop(struct fixture *f, enum lb_kind kind, const char *id)
{
	struct state_commit commit;
	stage_remove(&f->stage, kind, id);
	state_commit(f->stage.state, &commit);
	routes_on_commit(f->routes, f->stage.state, &commit);
	state_commit_done(f->stage.state);
}

static void put_host(struct fixture *f, struct path_rule *rules, size_t count, bool is_decoded)
{
	struct virtual_host host = make_host("host", "lb", rules, count);
	host.decoded = is_decoded;
	put(f, &host);
}

/* What the row of a path says: the pool's id, or what was written of its route. */
static const char *at(struct fixture *f, enum row_table table, char letter, const char *path)
{
	static char text[600];
	struct name host = name_of(letter, STR("host"));
	struct str key = arena_printf(&f->stage.arena, "%s%s", host.text, path);
	struct str value = rows_wanted(f->rows, table, key);
	if (value.p == NULL)
		return "none";
	if (value.p[0] == 'r')
		value = rows_wanted(f->rows, ROW_WHOLE,
			arena_printf(&f->stage.arena, "route:%.*s", STR_FMT(value)));
	else
		value = STR("pool");
	snprintf(text, sizeof(text), "%.*s", STR_FMT(value));
	return text;
}

static size_t row_count(struct fixture *f)
{
	size_t count = 0;
	for (int table = 0; table < ROW_TABLE_COUNT; table++) {
		struct row *row = rows_first(f->rows, (enum row_table)table);
		for (; row != NULL; row = rows_next(row))
			count += row_wanted(row).p != NULL;
	}
	return count;
}

static struct condition some = {.subject = CONDITION_METHOD, .value = STR("GET")};

#define IF .conditions = {&some, 1}

static void a_route_has_all_that_a_request_may_come_to(void **fixture)
{
	struct fixture *f = *fixture;
	struct path_rule rules[] = {
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("canary"), IF},
		{.path = STR("/a"), .match = PATH_EXACT, .pool = STR("exact"), IF},
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("a1"), IF},
		{.path = STR("/a/b"), .match = PATH_PREFIX, .pool = STR("ab")},
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("a2")},
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("hidden")},
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("root")},
		{.path = STR("/a/hidden"), .match = PATH_PREFIX, .pool = STR("hidden")},
	};
	put_host(f, rules, 8, false);
	assert_string_equal(at(f, ROW_WHOLE, NAME_HOST, "/a"), "canary,exact,a1,a2");
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/a/"), "canary,a1,a2");
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/a/b/"), "canary,a1,ab");
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/"), "canary,root");
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/a/hidden/"), "none");
}

static void what_is_plain_stays_plain(void **fixture)
{
	struct fixture *f = *fixture;
	struct path_rule rules[] = {
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("a")},
		{.path = STR("/b"), .match = PATH_PREFIX, .pool = STR("b"), .policy = STR("y")},
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("root")},
	};
	put_host(f, rules, 3, false);
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/a/"), "pool");
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/"), "pool");
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/b/"), "b");
	assert_int_equal(row_count(f), 5);
	/* Another content is another route; nothing of the old one stays. */
	struct name host = name_of(NAME_HOST, STR("host"));
	struct str key = arena_printf(&f->stage.arena, "%s/b/", host.text);
	struct str before = arena_str(&f->stage.arena, rows_wanted(f->rows, ROW_PREFIX, key));
	rules[1].pool = STR("c");
	put_host(f, rules, 3, false);
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/b/"), "c");
	assert_false(str_eq(before, rows_wanted(f->rows, ROW_PREFIX, key)));
	assert_int_equal(row_count(f), 5);
	drop(f, LB_VIRTUAL_HOST, "host");
	assert_int_equal(row_count(f), 0);
}

static void with_a_regular_expression_all_are_compared(void **fixture)
{
	struct fixture *f = *fixture;
	struct path_rule rules[] = {
		{.path = STR("/x"), .match = PATH_EXACT, .pool = STR("x")},
		{.regex = STR("^/a"), .pool = STR("a"), .tls_only = true},
		{.path = STR("/b/"), .match = PATH_PREFIX, .pool = STR("b")},
	};
	put_host(f, rules, 3, false);
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/"), "x@/x,a@,b@/b");
	/* Plain HTTP: without the second one. */
	struct name host = name_of(NAME_HOST, STR("host"));
	assert_true(name_is_one(
		NAME_HOST, rows_wanted(f->rows, ROW_WHOLE,
				   arena_printf(&f->stage.arena, "plain:%s", host.text))));
}

static void decoded_hosts_have_another_letter(void **fixture)
{
	struct fixture *f = *fixture;
	struct path_rule rules[] = {
		{.path = STR("/a b%"), .match = PATH_PREFIX, .pool = STR("a")},
	};
	put_host(f, rules, 1, true);
	assert_string_equal(at(f, ROW_PREFIX, NAME_DECODED_HOST, "/a%20b%25/"), "pool");
	put_host(f, rules, 1, false);
	assert_string_equal(at(f, ROW_PREFIX, NAME_DECODED_HOST, "/a%20b%25/"), "none");
	assert_int_equal(row_count(f), 1); /* nothing but the host: its only path cannot be had */
}

static void one_notice(struct fixture *f, const char *reason)
{
	struct lb_notice *list;
	assert_int_equal(notices_list(f->notices, STR(""), &f->stage.arena, &list), 1);
	assert_true(str_eq_c(list[0].reason, reason));
	assert_true(str_eq_c(list[0].ingress, "default/web"));
}

static void what_cannot_be_had_is_closed(void **fixture)
{
	struct fixture *f = *fixture;
	struct condition bad = {.subject = CONDITION_HEADER, .name = STR("a b")};
	struct path_rule rules[] = {{.path = STR("/"),
		.match = PATH_PREFIX,
		.pool = STR("a"),
		.ingress = STR("default/web"),
		.conditions = {&bad, 1}}};
	put_host(f, rules, 1, false);
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/"), "!a");
	one_notice(f, "RuleRefused");
	f->is_short = true;
	bad.name = STR("x-a");
	put_host(f, rules, 1, false);
	assert_string_equal(at(f, ROW_PREFIX, NAME_HOST, "/"), "pool"); /* of nobody */
	one_notice(f, "RuleRefused");
	drop(f, LB_VIRTUAL_HOST, "host");
	struct lb_notice *list;
	assert_int_equal(notices_list(f->notices, STR(""), &f->stage.arena, &list), 0);
}

static void too_many_conditions_are_closed(void **fixture)
{
	struct fixture *f = *fixture;
	enum { COUNT = 70, ROOM = 64 };
	struct path_rule rules[COUNT];
	for (size_t i = 0; i < COUNT; i++)
		rules[i] = (struct path_rule){.path = STR("/"),
			.match = PATH_PREFIX,
			.pool = STR("x"),
			.ingress = STR("default/web"),
			IF};
	put_host(f, rules, ROOM, false);
	assert_null(strchr(at(f, ROW_PREFIX, NAME_HOST, "/"), '!'));
	put_host(f, rules, COUNT, false);
	const char *route = at(f, ROW_PREFIX, NAME_HOST, "/");
	assert_string_equal(route + strlen(route) - 2, ",!");
	one_notice(f, "RuleRefused");
}

static void policies_are_rows(void **fixture)
{
	struct fixture *f = *fixture;
	struct policy policy = {.key = {.kind = LB_POLICY, .id = STR("y")},
		.ingress = STR("default/web"),
		.body_max_bytes = 7};
	struct name name = name_of(NAME_POLICY, STR("y"));
	char text[128];
	(void)snprintf(text, sizeof(text), "policy:%s", name.text);
	struct str key = str_from(text);
	put(f, &policy);
	assert_true(str_eq_c(rows_wanted(f->rows, ROW_WHOLE, key), "7"));
	struct source_access access = {.allow = {(struct str[]){STR("10.0.0.0/33")}, 1}};
	policy.source_access = &access;
	put(f, &policy);
	assert_null(rows_wanted(f->rows, ROW_WHOLE, key).p);
	one_notice(f, "TrafficPolicyRefused");
	access.allow.items[0] = STR("10.0.0.0/8");
	put(f, &policy);
	assert_non_null(rows_wanted(f->rows, ROW_WHOLE, key).p);
	f->is_short = true;
	policy.body_max_bytes = 8;
	put(f, &policy);
	assert_null(rows_wanted(f->rows, ROW_WHOLE, key).p);
	one_notice(f, "TrafficPolicyRefused");
	drop(f, LB_POLICY, "y");
	struct lb_notice *list;
	assert_int_equal(notices_list(f->notices, STR(""), &f->stage.arena, &list), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_route_has_all_that_a_request_may_come_to, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_plain_stays_plain, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			with_a_regular_expression_all_are_compared, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			decoded_hosts_have_another_letter, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_cannot_be_had_is_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(too_many_conditions_are_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(policies_are_rows, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
