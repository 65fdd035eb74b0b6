// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policies.h"

#include "provider-haproxy/policies_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct arena arena;
static struct row_draft draft;

static int set_up(void **state)
{
	(void)state;
	arena_init(&arena);
	draft = (struct row_draft){.arena = &arena};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_fini(&arena);
	return 0;
}

/* The text with the name of the draft's lists in place of "@". */
static const char *with_lists(const char *text)
{
	static const struct str word = STR("lists:");
	struct str name = STR("@");
	for (size_t i = 0; i < draft.count; i++) {
		if (str_starts_with(draft.items[i].key, word))
			name = str_skip(draft.items[i].key, word.len);
	}
	const char *at = strchr(text, '@');
	if (at == NULL)
		return text;
	return arena_printf(&arena, "%.*s%.*s%s", (int)(at - text), text, STR_FMT(name), at + 1).p;
}

static struct str value_of(const char *wanted)
{
	const char *key = with_lists(wanted);
	for (size_t i = 0; i < draft.count; i++) {
		assert_int_equal(draft.items[i].table, ROW_RULE);
		if (str_eq_c(draft.items[i].key, key))
			return draft.items[i].value;
	}
	return STR_NONE;
}

static void assert_value(const char *key, const char *wanted)
{
	struct str value = value_of(key);
	assert_non_null(value.p);
	char *text = str_dup(value);
	assert_string_equal(text, with_lists(wanted));
	free(text);
}

static bool write_told(const struct policy *policy, struct str *ret_problem)
{
	static const struct name name = {"yaaaaaaaaaaaaaaaa"};
	return policies_writer.write_policy(NULL, &name, policy, &draft, ret_problem);
}

static bool write_policy(const struct policy *policy)
{
	struct str problem = STR_NONE;
	return write_told(policy, &problem);
}

static const char *write_rules(const struct path_rule *rules, size_t count)
{
	struct route_rule items[4] = {0};
	struct route route = {.name = {"raaaaaaaaaaaaaaaa"}, .rules = items, .count = count};
	for (size_t i = 0; i < count; i++) {
		items[i] = (struct route_rule){.rule = &rules[i], .path = rules[i].path};
		if (!str_is_empty(rules[i].pool))
			items[i].pool = name_of(NAME_POOL, rules[i].pool);
	}
	return policies_writer.write_route(NULL, &route, &draft);
}

static void nothing_has_a_meaning_in_a_text(void **state)
{
	char all[256];
	(void)state;
	for (size_t i = 0; i < 256; i++)
		all[i] = (char)i;
	struct str text = policies_encode(&arena, (struct str){all, 256});
	for (size_t i = 0; i < text.len; i++) {
		assert_true(text.p[i] > 0x20 && text.p[i] < 0x7f);
		assert_null(strchr("|&;!+\\\"'#$<>`^{}[]", text.p[i]));
	}
	assert_true(str_eq_c(policies_encode(&arena, STR("a b|c%\n+")), "a%20b%7Cc%25%0A%2B"));
}

static void networks_become_what_addresses_begin_with(void **state)
{
	struct str deny[] = {STR("10.0.0.0/8"), STR("192.0.2.64/26"), STR("2001:db8::/31")};
	struct str allow[] = {STR("0.0.0.0/0"), STR("::/0"), STR("192.0.2.1/32")};
	struct source_access access = {.deny = {deny, 3}, .allow = {allow, 3}};
	struct policy policy = {.source_access = &access};
	(void)state;
	assert_true(write_policy(&policy));
	assert_value("deny:@:40A", "1");
	for (const char *digit = "4567"; *digit != 0; digit++) {
		struct str key = arena_printf(&arena, "deny:@:4C00002%c", *digit);
		assert_value(key.p, "1");
	}
	assert_value("deny:@:620010DB8", "1");
	assert_value("deny:@:620010DB9", "1");
	assert_value("allow:@:4", "1");
	assert_value("allow:@:6", "1");
	assert_value("allow:@:4C0000201", "1");
	assert_value("yaaaaaaaaaaaaaaaa", "-da|0|0|||@||||||||||||||0|||||||||");
	assert_int_equal(draft.count, 1 + 1 + 1 + 4 + 2 + 3);
}

static void a_policy_is_one_row(void **state)
{
	struct str origins[] = {STR("https://*.a.test:8443"), STR("null")};
	struct cors cors = {.origins = {origins, 2},
		.credentials = true,
		.methods = STR("GET, PUT"),
		.max_age_s = 5};
	struct hsts hsts = {.max_age_s = 7, .subdomains = true};
	struct policy policy = {.body_max_bytes = UINT64_MAX,
		.https_redirect = 308,
		.https_port = 444,
		.hsts = &hsts,
		.cors = &cors};
	(void)state;
	assert_true(write_policy(&policy));
	assert_value("yaaaaaaaaaaaaaaaa",
		"-shckm|9223372036854775807|308|:444|max-age=7%3B%"
		"20includeSubDomains|@|GET,%20PUT|||5||||||||||0|||||||||");
	assert_value("cors:@:https://*.a.test:8443/", "1");
	assert_value("cors:@:null/", "1");
}

/* HAProxy has no room for them when the answer is long. */
static void long_values_of_cors_are_left_out(void **state)
{
	char text[2600];
	struct cors cors = {.any_origin = true, .methods = {text, sizeof(text)}};
	struct policy policy = {.cors = &cors};
	(void)state;
	memset(text, 'A', sizeof(text));
	assert_true(write_policy(&policy));
	assert_value("yaaaaaaaaaaaaaaaa", "300-|0|0|||@||||||||||||||0|||||||||");
}

static void answers_are_changed_by_fields(void **state)
{
	struct text_change location = {STR("http://a/"), STR("https://b.test/;&|")};
	struct text_change domain = {STR("a"), STR("b")};
	struct text_change path = {STR("/"), STR("/x/")};
	struct piece value = {.value = REQUEST_HOST};
	struct header_change header = {
		.name = STR("X-Host"), .action = HEADER_ADD, .value = {&value, 1}};
	struct timeouts timeouts = {.read_ms = 400, .send_ms = 400};
	struct policy policy = {
		.location_changes = {&location, 1},
		.cookie_domains = {&domain, 1},
		.cookie_paths = {&path, 1},
		.response_headers = {&header, 1},
		.timeouts = &timeouts,
	};
	struct str problem = STR_NONE;
	(void)state;
	assert_true(write_told(&policy, &problem));
	assert_null(problem.p);
	assert_value("yaaaaaaaaaaaaaaaa", "-lpw|0|0|||@|||||||||"
					  "|http://a/;https://b.test/%3B%26%7C|a;b|/;/x/|"
					  "aX-Host;h|400|||||||||");
}

static void who_is_asked_has_a_row(void **state)
{
	struct piece target = {.text = STR("/check")};
	struct str names[] = {STR("X-User"), STR("X-Group")};
	struct cache_time times[] = {{.status = 200, .seconds = 5}, {.status = 401, .seconds = 6}};
	struct external_auth auth = {
		.pool = STR("auth"),
		.target = {&target, 1},
		.copied = {names, 2},
		.cookies_always = true,
		.cache_times = {times, 2},
	};
	struct piece stand_in = {.text = STR("yes")};
	struct header_change change = {.name = STR("X-Stand-In"), .value = {&stand_in, 1}};
	struct policy policy = {
		.external_auth = &auth,
		.satisfy_any = true,
		.fallback_pool = STR("auth"),
		.fallback_headers = {&change, 1},
	};
	struct name pool = name_of(NAME_POOL, STR("auth"));
	char wanted[200];
	(void)state;
	assert_true(write_policy(&policy));
	snprintf(wanted, sizeof(wanted), "%s|GET||t/check||X-User&X-Group||a||200;5&401;6",
		pool.text);
	assert_value("auth:@", wanted);
	snprintf(wanted, sizeof(wanted), "-qfxy|0|0|||@||||||||||||||0|%s|sX-Stand-In;tyes|||||||",
		pool.text);
	assert_value("yaaaaaaaaaaaaaaaa", wanted);
}

static void others_are_fields_of_the_row(void **state)
{
	struct status_code statuses[] = {{404}, {503}};
	struct piece target[] = {{.text = STR("/of?")}, {.value = REQUEST_TARGET_ESCAPED}};
	struct piece values[] = {{.value = REQUEST_SERVICE}, {.value = REQUEST_STATUS}};
	struct header_change change = {.name = STR("X-Code"), .value = {values, 2}};
	struct error_pages pages = {
		.statuses = {statuses, 2},
		.pool = STR("auth"),
		.target = {target, 2},
		.request_headers = {&change, 1},
	};
	struct mirror mirrors[] = {
		{.pool = STR("auth"), .host = {target, 1}, .without_body = true},
		{.pool = STR("auth"), .target = {target, 2}, .share = 5, .of = 1000},
	};
	struct policy policy = {.error_pages = &pages, .mirrors = {mirrors, 2}};
	struct name pool = name_of(NAME_POOL, STR("auth"));
	char wanted[300];
	(void)state;
	assert_true(write_policy(&policy));
	snprintf(wanted, sizeof(wanted),
		"-gjv|0|0|||@||||||||||||||0|||||b,404,503,|%s|t/of?!e|sX-Code;v!z||%s;t/"
		"of?;;b;0;100|%s;;t/"
		"of?!e;;5;1000",
		pool.text, pool.text, pool.text);
	assert_value("yaaaaaaaaaaaaaaaa", wanted);
	pages = (struct error_pages){
		.statuses = {statuses, 1}, .pool = STR("auth"), .own_only = true};
	struct retries retries = {
		.on_error = true, .unsafe = true, .statuses = {statuses, 2}, .tries = 3};
	policy.mirrors.count = 0;
	draft.count = 0;
	assert_true(write_policy(&policy));
	snprintf(wanted, sizeof(wanted), "-g|0|0|||@||||||||||||||0|||||o,404,|%s|||", pool.text);
	assert_value("yaaaaaaaaaaaaaaaa", wanted);
	policy = (struct policy){.retries = &retries};
	draft.count = 0;
	assert_true(write_policy(&policy));
	assert_value("yaaaaaaaaaaaaaaaa", "-e|0|0|||@||||||||||||||0|||||||||eu;3;0;,404,503,");
	retries = (struct retries){.on_error = true, .tries = 1};
	draft.count = 0;
	assert_true(write_policy(&policy));
	assert_value("yaaaaaaaaaaaaaaaa", "-z|0|0|||@||||||||||||||0|||||||||");
}

static void what_haproxy_cannot_time_is_told(void **state)
{
	struct {
		struct timeouts timeouts;
		const char *row;
		const char *told;
	} cases[] = {
		{{.read_ms = 400}, "-w|0|0|||@||||||||||||||400|||||||||", NULL},
		{{.send_ms = 30000}, "300-|0|0|||@||||||||||||||0|||||||||",
			"a timeout for sending"},
		{{.send_ms = 90000}, "-w|0|0|||@||||||||||||||90000|||||||||", NULL},
		{{.send_ms = 5, .read_ms = 6}, "-w|0|0|||@||||||||||||||6|||||||||",
			"a timeout for sending"},
		{{.connect_ms = 5, .read_ms = 6}, "-w|0|0|||@||||||||||||||6|||||||||",
			"for connecting"},
		{{.connect_ms = 5000, .send_ms = 60000, .read_ms = 60000},
			"-w|0|0|||@||||||||||||||60000|||||||||", NULL},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy policy = {.timeouts = &cases[i].timeouts};
		struct str problem = STR_NONE;
		draft.count = 0;
		assert_true(write_told(&policy, &problem));
		assert_value("yaaaaaaaaaaaaaaaa", cases[i].row);
		assert_true((problem.p == NULL) == (cases[i].told == NULL));
		if (cases[i].told != NULL)
			assert_non_null(memmem(
				problem.p, problem.len, cases[i].told, strlen(cases[i].told)));
	}
}

static void rates_are_followed_by_tables_where_they_fit(void **state)
{
	struct rate_limit limits[] = {{.requests = 10, .interval_s = 1, .burst = 50},
		{.requests = 1, .interval_s = 60, .burst = 5}, {.requests = 1, .interval_s = 1}};
	struct rate_limit rare = {.requests = 1, .interval_s = 3600};
	struct rate_limit much = {.requests = 5000001, .interval_s = 1};
	struct {
		struct rate_limit *limits;
		size_t count;
		const char *flags;
		const char *text;
	} cases[] = {
		{limits, 1, "500-b", "5000000;500000;25000000;25500000"},
		{limits, 2, "-bi",
			"5000000;500000;25000000;25500000;2982616;178956960;894784800;1073741760"},
		{limits, 3, "-r", "10;1;50&1;60;5&1;1;0"},
		{&rare, 1, "-r", "1;3600;0"},
		{&much, 1, "-r", "5000001;1;0"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rate_limits rates = {.requests = {cases[i].limits, cases[i].count}};
		struct policy policy = {.rate_limits = &rates};
		char wanted[200];
		draft.count = 0;
		assert_true(write_policy(&policy));
		snprintf(wanted, sizeof(wanted), "%s|0|0|||@|||||||%s|0|429|||||0|||||||||",
			cases[i].flags, cases[i].text);
		assert_value("yaaaaaaaaaaaaaaaa", wanted);
	}
}

static void passwords_are_those_of_users(void **state)
{
	struct basic_auth auth = {.users = STR("u"), .realm = STR("paaaaaaaaaaaaaaaa|x y")};
	struct policy policy = {.basic_auth = &auth, .satisfy_any = true};
	struct name users = name_of(NAME_USERS, STR("u"));
	struct str key = STR("yaaaaaaaaaaaaaaaa");
	char wanted[200];
	(void)state;
	assert_true(write_policy(&policy));
	snprintf(wanted, sizeof(wanted),
		"-uy|0|0|||@||||||||||||||0|||%s|-paaaaaaaaaaaaaaaa%%7Cx%%20y|||||", users.text);
	assert_value(key.p, wanted);
	struct str row = value_of(key.p);
	snprintf(wanted, sizeof(wanted), "users:%s", users.text);
	assert_true(str_eq_c(policies_users_of(&arena, key, row), wanted));
	assert_true(str_starts_with(policies_lists_of(&arena, key, row), STR("lists:k")));
	auth.realm = STR("");
	draft.count = 0;
	assert_true(write_policy(&policy));
	assert_true(str_eq_c(policies_users_of(&arena, key, value_of(key.p)), wanted));
	/* Only a policy has any. */
	assert_null(policies_users_of(&arena, STR("raaaaaaaaaaaaaaaa"), row).p);
	policy.basic_auth = NULL;
	draft.count = 0;
	assert_true(write_policy(&policy));
	assert_null(policies_users_of(&arena, key, value_of(key.p)).p);
}

static bool is_realm(void *ctx, struct str name)
{
	return str_eq_c(name, "paaaaaaaaaaaaaaaa");
}

static void a_realm_is_no_pool(void **state)
{
	struct basic_auth auth = {.users = STR("u"), .realm = STR("paaaaaaaaaaaaaaaa")};
	struct policy policy = {.basic_auth = &auth};
	(void)state;
	assert_true(write_policy(&policy));
	assert_false(policies_any_pool(value_of("yaaaaaaaaaaaaaaaa"), is_realm, NULL));
}

static void pools_are_drawn_by_blocks(void **state)
{
	struct weighted_pool pools[] = {{STR("a"), 20}, {STR("b"), 0}, {STR("c"), 237}};
	struct path_rule rule = {.path = STR("/a"), .match = PATH_PREFIX, .pools = {pools, 3}};
	struct name a = name_of(NAME_POOL, STR("a"));
	struct name c = name_of(NAME_POOL, STR("c"));
	(void)state;
	assert_null(write_rules(&rule, 1));
	assert_value("raaaaaaaaaaaaaaaa", "none|w|2|257|0");
	assert_value("draw:raaaaaaaaaaaaaaaa:0:000000000000000", a.text);
	assert_value("draw:raaaaaaaaaaaaaaaa:0:0000000000000013", a.text);
	assert_value("draw:raaaaaaaaaaaaaaaa:0:0000000000000014", c.text);
	assert_value("draw:raaaaaaaaaaaaaaaa:0:00000000000000F", c.text);
	assert_value("draw:raaaaaaaaaaaaaaaa:0:0000000000000100", c.text);
	/* 0 to 15, 16 to 19; 20 to 31, 14 blocks, 256; and the route. */
	assert_int_equal(draft.count, 1 + 4 + 12 + 14 + 1 + 1);
}

static void what_leads_nowhere_is_closed(void **state)
{
	struct weighted_pool pools[] = {{STR("a"), 0}};
	struct path_rule rule = {.path = STR("/a"), .pools = {pools, 1}};
	(void)state;
	assert_null(write_rules(&rule, 1));
	assert_value("raaaaaaaaaaaaaaaa", "none|x");
}

static void rules_with_conditions_stand_in_order(void **state)
{
	struct condition conditions[] = {
		{CONDITION_HEADER, STR("x-a"), CONDITION_EXACT, STR("1;&|")},
		{CONDITION_METHOD, STR_NONE, CONDITION_REGEX, STR("^GET$")},
	};
	struct piece pieces[] = {{REQUEST_TEXT, STR("a!b"), 0}, {REQUEST_GROUP, STR_NONE, 2}};
	struct redirect redirect = {302, {pieces, 2}};
	struct path_rule rules[] = {
		{.path = STR("/a"),
			.match = PATH_PREFIX,
			.redirect = &redirect,
			.conditions = {conditions, 2}},
		{.path = STR("/"), .match = PATH_PREFIX, .pool = STR("p")},
	};
	(void)state;
	assert_null(write_rules(rules, 2));
	struct name pool = name_of(NAME_POOL, STR("p"));
	struct str wanted = arena_printf(&arena,
		"none|c|hex-a;1%%3B%%26%%7C&mr;%%5EGET%%24|none%%7Cl%%7C2%%7C302%%7Cta%%2521b%%"
		"21n2||none%%7Cp%%7C1%%7C%s",
		pool.text);
	assert_value("raaaaaaaaaaaaaaaa", wanted.p);
}

static bool is_same(void *ctx, struct str name)
{
	return str_eq(name, *(struct str *)ctx);
}

static void pools_of_a_route_are_found(void **state)
{
	struct str first = STR("paaaaaaaaaaaaaaaa");
	struct str second = STR("pbbbbbbbbbbbbbbbb");
	struct str third = STR("pcccccccccccccccc");
	struct str value = STR(
		"none|c|he;1|none%7Cp%7C1%7Cpaaaaaaaaaaaaaaaa||none%7Cp%7C1%7Cpbbbbbbbbbbbbbbbb");
	(void)state;
	assert_true(policies_any_pool(value, is_same, &first));
	assert_true(policies_any_pool(value, is_same, &second));
	assert_false(policies_any_pool(value, is_same, &third));
	assert_true(policies_any_pool(third, is_same, &third));
}

static void what_is_too_long_is_refused(void **state)
{
	static char text[16 * 1024];
	struct fixed_answer answer = {200, {text, sizeof(text)}};
	struct path_rule rule = {.path = STR("/a"), .answer = &answer};
	(void)state;
	memset(text, 'a', sizeof(text));
	assert_non_null(write_rules(&rule, 1));
	assert_int_equal(draft.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_has_a_meaning_in_a_text, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			networks_become_what_addresses_begin_with, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_policy_is_one_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			long_values_of_cors_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(answers_are_changed_by_fields, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_is_asked_has_a_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(others_are_fields_of_the_row, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_haproxy_cannot_time_is_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			rates_are_followed_by_tables_where_they_fit, set_up, tear_down),
		cmocka_unit_test_setup_teardown(passwords_are_those_of_users, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_realm_is_no_pool, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pools_are_drawn_by_blocks, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_leads_nowhere_is_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			rules_with_conditions_stand_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(pools_of_a_route_are_found, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_too_long_is_refused, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
