// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/routes.h"

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
};

static int set_up(void **ret_fixture)
{
	static const struct state_config config = {0};
	struct fixture *f = calloc(1, sizeof(*f));
	stage_init(&f->stage, &config);
	f->rows = rows_new();
	f->notices = notices_new(NULL, NULL);
	f->routes = routes_new(f->rows, f->notices, ROUTES_BY_HOST, NULL);
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

static void commit(struct fixture *f)
{
	struct state_commit commit;
	state_commit(f->stage.state, &commit);
	routes_on_commit(f->routes, f->stage.state, &commit);
	state_commit_done(f->stage.state);
}

static void put_host(struct fixture *f, const char *name, struct path_rule *rules, size_t count,
	bool passthrough)
{
	struct virtual_host host = {
		.key = {.kind = LB_VIRTUAL_HOST, .id = STR("host")},
		.load_balancer = STR("lb"),
		.host = str_from(name),
		.match = HOST_EXACT,
		.rules = {rules, count},
		.passthrough = passthrough,
	};
	stage_upsert(&f->stage, &host);
	commit(f);
}

static struct str wanted(struct fixture *f, enum row_table table, const char *format,
	struct name name, const char *rest)
{
	char key[128];
	int len = snprintf(key, sizeof(key), "%s%s%s", format, name.text, rest);
	return rows_wanted(f->rows, table, (struct str){key, (size_t)len});
}

static int wanted_count(struct fixture *f, enum row_table table)
{
	int count = 0;
	for (struct row *row = rows_first(f->rows, table); row != NULL; row = rows_next(row))
		count += row_wanted(row).p != NULL;
	return count;
}

static void assert_pool(struct str value, const char *pool)
{
	struct name name = name_of(NAME_POOL, str_from(pool));
	assert_true(str_eq(value, name_str(&name)));
}

static void a_host_becomes_rows(void **fixture)
{
	struct fixture *f = *fixture;
	struct name host = name_of(NAME_HOST, STR("host"));
	struct name lb = name_of(NAME_LOAD_BALANCER, STR("lb"));
	struct path_rule rules[] = {
		{.path = STR("/foo"), .match = PATH_EXACT, .pool = STR("exact")},
		{.path = STR("/foo/"), .match = PATH_PREFIX, .pool = STR("first")},
		{.path = STR("/foo"), .match = PATH_PREFIX, .pool = STR("second")},
		{.path = STR("/"), .match = PATH_IMPLEMENTATION_SPECIFIC, .pool = STR("root")},
	};
	put_host(f, "a.test", rules, 4, false);
	assert_true(str_eq(wanted(f, ROW_WHOLE, "host:", lb, ":a.test"), name_str(&host)));
	assert_pool(wanted(f, ROW_WHOLE, "", host, "/foo"), "exact");
	assert_pool(wanted(f, ROW_PREFIX, "", host, "/foo/"), "first");
	assert_pool(wanted(f, ROW_PREFIX, "", host, "/"), "root");
	assert_int_equal(wanted_count(f, ROW_PREFIX), 2);
	assert_int_equal(wanted_count(f, ROW_WHOLE), 2);
	/* Only what differs is touched. */
	put_host(f, "b.test", rules, 1, false);
	assert_null(wanted(f, ROW_WHOLE, "host:", lb, ":a.test").p);
	assert_non_null(wanted(f, ROW_WHOLE, "host:", lb, ":b.test").p);
	assert_int_equal(wanted_count(f, ROW_PREFIX), 0);
	struct lb_remove gone = {LB_VIRTUAL_HOST, STR("host")};
	struct schema_error error;
	assert_int_equal(state_stage_remove(f->stage.state, &gone, &error), 0);
	commit(f);
	assert_int_equal(wanted_count(f, ROW_WHOLE), 0);
}

static void the_first_rule_wins(void **fixture)
{
	struct fixture *f = *fixture;
	struct name host = name_of(NAME_HOST, STR("host"));
	struct path_rule rules[] = {
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("short")},
		{.path = STR("/a/b"), .match = PATH_PREFIX, .pool = STR("hidden")},
		{.path = STR("/a/c"), .match = PATH_EXACT, .pool = STR("hidden")},
		{.path = STR("/ab"), .match = PATH_PREFIX, .pool = STR("other")},
	};
	put_host(f, "a.test", rules, 4, false);
	assert_null(wanted(f, ROW_PREFIX, "", host, "/a/b/").p);
	assert_null(wanted(f, ROW_WHOLE, "", host, "/a/c").p);
	assert_pool(wanted(f, ROW_PREFIX, "", host, "/a/"), "short");
	assert_pool(wanted(f, ROW_PREFIX, "", host, "/ab/"), "other");
}

static void plain_http_does_not_know_tls_only_rules(void **fixture)
{
	struct fixture *f = *fixture;
	struct name host = name_of(NAME_HOST, STR("host"));
	struct path_rule rules[] = {
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("tls"), .tls_only = true},
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("all")},
	};
	put_host(f, "a.test", rules, 2, false);
	struct str other = wanted(f, ROW_WHOLE, "plain:", host, "");
	assert_true(name_is_one(NAME_HOST, other));
	struct name plain;
	memcpy(plain.text, other.p, NAME_LEN);
	plain.text[NAME_LEN] = 0;
	assert_null(wanted(f, ROW_PREFIX, "", plain, "/a/").p);
	assert_pool(wanted(f, ROW_PREFIX, "", plain, "/"), "all");
	assert_pool(wanted(f, ROW_PREFIX, "", host, "/a/"), "tls");
	put_host(f, "a.test", rules + 1, 1, false);
	assert_null(wanted(f, ROW_WHOLE, "plain:", host, "").p);
	assert_int_equal(wanted_count(f, ROW_PREFIX), 1);
}

static void use_form(struct fixture *f, enum routes_form form)
{
	routes_free(f->routes, f->stage.state);
	f->routes = routes_new(f->rows, f->notices, form, NULL);
}

static void a_host_with_one_pool_leads_there(void **fixture)
{
	struct fixture *f = *fixture;
	struct name host = name_of(NAME_HOST, STR("host"));
	struct name lb = name_of(NAME_LOAD_BALANCER, STR("lb"));
	struct path_rule rules[] = {
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("root")},
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("a")},
	};
	use_form(f, ROUTES_DIRECT);
	put_host(f, "a.test", rules, 1, false);
	assert_pool(wanted(f, ROW_WHOLE, "host:", lb, ":a.test"), "root");
	assert_int_equal(wanted_count(f, ROW_PREFIX), 0);
	assert_int_equal(wanted_count(f, ROW_WHOLE), 1);
	/* What other rules do not hide, or what not all requests may take, needs the host's name. */
	put_host(f, "a.test", rules + 1, 1, false);
	assert_true(str_eq(wanted(f, ROW_WHOLE, "host:", lb, ":a.test"), name_str(&host)));
	struct path_rule others[] = {
		{.path = STR("/"), .match = PATH_EXACT, .pool = STR("root")},
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("root"), .tls_only = true},
	};
	for (size_t i = 0; i < 2; i++) {
		put_host(f, "a.test", others + i, 1, false);
		assert_true(str_eq(wanted(f, ROW_WHOLE, "host:", lb, ":a.test"), name_str(&host)));
	}
}

/* Only where somebody asks for it, and never with bytes that mean anything. */
static void rows_say_whose_they_are(void **fixture)
{
	static const struct {
		const char *ingress;
		bool unlogged;
		const char *owner;
	} cases[] = {
		{"shop/front", false, "|shop/front"},
		{"shop/front", true, "|-shop/front"},
		{"", false, "|"},
		{"shop", false, "|"},
		{"shop/fr|ont", true, "|"},
		{"shop/fr ont", false, "|"},
		{"Shop/front", false, "|"},
		{"-shop/front", false, "|"},
		{"shop/front/x", false, "|"},
	};
	struct fixture *f = *fixture;
	struct name lb = name_of(NAME_LOAD_BALANCER, STR("lb"));
	struct name pool = name_of(NAME_POOL, STR("root"));
	char text[64];
	use_form(f, ROUTES_DIRECT);
	routes_name_owners(f->routes, true);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct path_rule rule = {.path = STR("/"),
			.match = PATH_PREFIX,
			.pool = STR("root"),
			.ingress = str_from(cases[i].ingress),
			.unlogged = cases[i].unlogged};
		put_host(f, "a.test", &rule, 1, false);
		struct str value = wanted(f, ROW_WHOLE, "host:", lb, ":a.test");
		snprintf(text, sizeof(text), "%s%s", pool.text, cases[i].owner);
		if (!str_eq_c(value, text))
			fail_msg("%s: %.*s", text, STR_FMT(value));
		assert_true(str_eq(routes_target(value), name_str(&pool)));
	}
}

/* While its row changes, requests are looked up by the name as before. */
static void a_host_that_had_paths_keeps_its_row_of_all(void **fixture)
{
	struct fixture *f = *fixture;
	struct name host = name_of(NAME_HOST, STR("host"));
	struct name lb = name_of(NAME_LOAD_BALANCER, STR("lb"));
	struct path_rule rules[] = {
		{.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("a")},
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("root")},
	};
	use_form(f, ROUTES_DIRECT);
	put_host(f, "a.test", rules, 2, false);
	for (int turn = 0; turn < 2; turn++) {
		put_host(f, "a.test", rules + 1, 1, false);
		assert_pool(wanted(f, ROW_WHOLE, "host:", lb, ":a.test"), "root");
		assert_pool(wanted(f, ROW_PREFIX, "", host, "/"), "root");
		assert_int_equal(wanted_count(f, ROW_PREFIX), 1);
	}
	struct lb_remove gone = {LB_VIRTUAL_HOST, STR("host")};
	struct schema_error error;
	assert_int_equal(state_stage_remove(f->stage.state, &gone, &error), 0);
	commit(f);
	assert_int_equal(wanted_count(f, ROW_WHOLE) + wanted_count(f, ROW_PREFIX), 0);
}

/* The rows of both lead to the same pool. */
static void a_host_that_takes_the_place_of_another_keeps_its_row(void **fixture)
{
	struct fixture *f = *fixture;
	struct name lb = name_of(NAME_LOAD_BALANCER, STR("lb"));
	struct path_rule rule = {.path = STR("/"), .match = PATH_PREFIX, .pool = STR("root")};
	struct virtual_host next = {
		.key = {.kind = LB_VIRTUAL_HOST, .id = STR("another")},
		.load_balancer = STR("lb"),
		.host = STR("a.test"),
		.match = HOST_EXACT,
		.rules = {&rule, 1},
	};
	struct lb_remove gone = {LB_VIRTUAL_HOST, STR("host")};
	struct schema_error error;
	use_form(f, ROUTES_DIRECT);
	put_host(f, "a.test", &rule, 1, false);
	stage_upsert(&f->stage, &next);
	assert_int_equal(state_stage_remove(f->stage.state, &gone, &error), 0);
	commit(f);
	assert_pool(wanted(f, ROW_WHOLE, "host:", lb, ":a.test"), "root");
}

static void passthrough_is_counted(void **fixture)
{
	struct fixture *f = *fixture;
	struct name lb = name_of(NAME_LOAD_BALANCER, STR("lb"));
	struct path_rule rules[] = {{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("tcp")}};
	put_host(f, "a.test", rules, 1, true);
	assert_pool(wanted(f, ROW_WHOLE, "sni:", lb, ":a.test"), "tcp");
	assert_int_equal(routes_passthrough_count(f->routes, &lb), 1);
	put_host(f, "a.test", rules, 1, false);
	assert_int_equal(routes_passthrough_count(f->routes, &lb), 0);
	assert_null(wanted(f, ROW_WHOLE, "sni:", lb, ":a.test").p);
}

static void what_breaks_a_check_is_told_alone(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_notice *list;
	struct path_rule rules[] = {
		{.path = STR("/a b"), .pool = STR("p"), .ingress = STR("default/bad")},
		{.path = STR("/good"), .pool = STR("p"), .ingress = STR("default/good")},
	};
	put_host(f, "a.test", rules, 2, false);
	assert_int_equal(wanted_count(f, ROW_PREFIX), 1);
	assert_int_equal(notices_list(f->notices, STR(""), &f->stage.arena, &list), 1);
	assert_true(str_eq_c(list[0].ingress, "default/bad"));
	assert_true(str_eq_c(list[0].reason, "PathRefused"));
	put_host(f, "a.test", rules + 1, 1, false);
	assert_int_equal(notices_list(f->notices, STR(""), &f->stage.arena, &list), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_host_becomes_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_first_rule_wins, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			plain_http_does_not_know_tls_only_rules, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_host_with_one_pool_leads_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(rows_say_whose_they_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_host_that_had_paths_keeps_its_row_of_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_host_that_takes_the_place_of_another_keeps_its_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(passthrough_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_breaks_a_check_is_told_alone, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
