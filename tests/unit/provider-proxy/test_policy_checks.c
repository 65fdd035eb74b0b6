// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/policy_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void origins(void **fixture)
{
	static const struct {
		const char *text;
		bool want;
	} cases[] = {
		{"https://a.test", true},
		{"https://*.a.test:8443", true},
		{"app+x://localhost", true},
		{"null", true},
		{"http://[::1]:80", true},
		{"http://10.0.0.1", true},
		{"*", false},
		{"https://*", false},
		{"https://a.*.test", false},
		{"https://a.test/", false},
		{"https://a.test:0", false},
		{"https://a.test:", false},
		{"https://", false},
		{"a.test", false},
		{"https://a b", false},
		{"https://a.test\r\nX: y", false},
		{"http://[::1", false},
		{"http://[]", false},
		{"", false},
	};
	(void)fixture;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(check_origin(str_from(cases[i].text)), cases[i].want);
}

static void names_of_headers(void **fixture)
{
	(void)fixture;
	assert_true(check_changeable_header(STR("X-Frame-Options")));
	assert_true(check_changeable_header(STR("Host")));
	static const char *const refused[] = {"", "a b", "a:", "a\n", "Content-Length",
		"transfer-encoding", "CONNECTION", "Upgrade", "\xc3\xa9"};
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_false(check_changeable_header(str_from(refused[i])));
	assert_false(check_token((struct str){"a\0b", 3}));
}

static void rules(void **fixture)
{
	struct piece control = {.text = STR("a\nb")};
	struct piece good = {.text = STR("a b")};
	struct redirect bad_status = {300, {&good, 1}};
	struct redirect nowhere = {302, {NULL, 0}};
	struct redirect bad_text = {302, {&control, 1}};
	struct redirect fine = {308, {&good, 1}};
	struct fixed_answer early = {199, STR("")};
	struct condition query = {
		.subject = CONDITION_QUERY, .name = STR("a b"), .value = STR("x")};
	struct condition cookie = {.subject = CONDITION_COOKIE, .name = STR("a b")};
	const struct {
		struct path_rule rule;
		bool want;
	} cases[] = {
		{{.pool = STR("p")}, true},
		{{.redirect = &fine}, true},
		{{.redirect = &bad_status}, false},
		{{.redirect = &nowhere}, false},
		{{.redirect = &bad_text}, false},
		{{.answer = &early}, false},
		{{.conditions = {&query, 1}}, true},
		{{.conditions = {&cookie, 1}}, false},
		{{.regex = STR("^/\n")}, false},
	};
	(void)fixture;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(rule_problem(&cases[i].rule) == NULL, cases[i].want);
}

static void comforts_are_left_out(void **fixture)
{
	struct arena arena;
	struct str problem = STR_NONE;
	struct str origins[] = {STR("https://a.test"), STR("https://*")};
	struct cors cors = {.origins = {origins, 2}};
	struct piece control = {.text = STR("\x7f")};
	struct header_change changes[] = {{.name = STR("X-A")}, {.name = STR("te")}};
	struct timeouts timeouts = {.read_ms = UINT64_MAX};
	struct policy policy = {.cors = &cors,
		.rewrite = {&control, 1},
		.request_headers = {changes, 2},
		.https_redirect = 200,
		.timeouts = &timeouts};
	(void)fixture;
	arena_init(&arena);
	assert_true(policy_settle(&policy, &arena, &problem));
	assert_non_null(problem.p);
	assert_int_equal(policy.cors->origins.count, 1);
	assert_int_equal(policy.rewrite.count, 0);
	assert_int_equal(policy.request_headers.count, 1);
	assert_int_equal(policy.https_redirect, 308);
	assert_int_equal(policy.timeouts->read_ms, 24 * 3600 * 1000);
	assert_int_equal(cors.origins.count, 2); /* the original is as it was */
	arena_fini(&arena);
}

static void guards_close(void **fixture)
{
	struct arena arena;
	struct str bad[] = {STR("10.0.0.0/8"), STR("::ffff:0:0/96")};
	struct source_access access = {.deny = {bad, 2}};
	struct rate_limit never = {.requests = 0, .interval_s = 1};
	struct rate_limits limits = {.requests = {&never, 1}};
	struct basic_auth auth = {.realm = STR("a\"b"), .users = STR("u")};
	struct policy policies[] = {
		{.source_access = &access}, {.rate_limits = &limits}, {.basic_auth = &auth}};
	(void)fixture;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++) {
		struct str problem = STR_NONE;
		assert_false(policy_settle(&policies[i], &arena, &problem));
		assert_non_null(problem.p);
	}
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(origins),
		cmocka_unit_test(names_of_headers),
		cmocka_unit_test(rules),
		cmocka_unit_test(comforts_are_left_out),
		cmocka_unit_test(guards_close),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
