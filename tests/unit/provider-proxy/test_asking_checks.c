// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/asking_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static struct piece slash = {.text = STR("/")};
static struct piece bad = {.text = STR("a\nb")};

/* Whether rules with it can be served. */
static bool is_served(struct external_auth *auth, const char **ret_problem)
{
	static char text[256];
	struct arena arena;
	struct str problem = STR_NONE;
	struct policy policy = {.external_auth = auth};
	arena_init(&arena);
	bool is_good = asking_settle_policy(&policy, &arena, &problem);
	text[0] = 0;
	if (problem.p != NULL)
		memcpy(text, problem.p, problem.len), text[problem.len] = 0;
	*ret_problem = text;
	arena_fini(&arena);
	return is_good;
}

static void what_cannot_be_asked_is_closed(void **fixture)
{
	struct header_change header = {.name = STR("Content-Length")};
	struct str copied = STR("Connection");
	struct cache_time never = {200, 0};
	struct external_auth auths[] = {
		{.target = {NULL, 0}},
		{.target = {&bad, 1}},
		{.target = {&slash, 1}, .host = {&bad, 1}},
		{.target = {&slash, 1}, .sign_in = {&bad, 1}},
		{.target = {&slash, 1}, .cache_key = {&bad, 1}},
		{.target = {&slash, 1}, .method = STR("GET / HTTP/1.1")},
		{.target = {&slash, 1}, .request_headers = {&header, 1}},
		{.target = {&slash, 1}, .copied = {&copied, 1}},
		{.target = {&slash, 1}, .cache_times = {&never, 1}},
	};
	const char *problem;
	(void)fixture;
	for (size_t i = 0; i < sizeof(auths) / sizeof(auths[0]); i++) {
		assert_false(is_served(&auths[i], &problem));
		assert_string_equal(problem, "the external authentication cannot be used: its "
					     "requests are answered with 503");
	}
	struct external_auth good = {.target = {&slash, 1}, .method = STR("POST")};
	assert_true(is_served(&good, &problem));
	assert_string_equal(problem, "");
	assert_true(is_served(NULL, &problem));
}

static void what_only_comforts_is_left_out(void **fixture)
{
	struct arena arena;
	struct str problem = STR_NONE;
	struct mirror mirrors[] = {
		{.pool = STR("a")}, {.pool = STR("b"), .target = {&bad, 1}}, {.host = {&slash, 1}}};
	struct status_code code = {200};
	struct error_pages pages = {.statuses = {&code, 1}, .pool = STR("a")};
	struct header_change header = {.name = STR("X"), .value = {&bad, 1}};
	struct policy policy = {.mirrors = {mirrors, 3},
		.error_pages = &pages,
		.fallback_pool = STR("f"),
		.fallback_headers = {&header, 1}};
	(void)fixture;
	arena_init(&arena);
	assert_true(asking_settle_policy(&policy, &arena, &problem));
	assert_true(str_eq_c(problem, "a mirror cannot be used, and is left out"));
	assert_int_equal(policy.mirrors.count, 1);
	assert_null(policy.error_pages);
	assert_int_equal(policy.fallback_headers.count, 0);
	assert_true(str_eq_c(policy.fallback_pool, "f"));
	code.status = 404;
	policy.error_pages = &pages;
	problem = STR_NONE;
	assert_true(asking_settle_policy(&policy, &arena, &problem));
	assert_null(problem.p);
	assert_ptr_equal(policy.error_pages, &pages);
	arena_fini(&arena);
}

static void certificates_of_clients(void **fixture)
{
	struct client_tls good = {.subject = STR("CN=a b"), .depth = 16};
	struct client_tls deep = {.depth = 17};
	struct client_tls subject = {.subject = STR("a\tb")};
	struct client_tls location = {.error_location = {&bad, 1}};
	(void)fixture;
	assert_null(client_tls_problem(&good));
	assert_non_null(client_tls_problem(&deep));
	assert_non_null(client_tls_problem(&subject));
	assert_non_null(client_tls_problem(&location));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_cannot_be_asked_is_closed),
		cmocka_unit_test(what_only_comforts_is_left_out),
		cmocka_unit_test(certificates_of_clients),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
