// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/backend_checks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

static void what_is_good_stays(void **fixture)
{
	struct arena arena;
	struct status_code codes[] = {{404}, {503}};
	struct retries retries = {.on_error = true, .statuses = {codes, 2}, .tries = 3};
	struct bandwidth bandwidth = {1024, 0};
	struct text_change location = {STR("http://up/"), STR("https://a.test/")};
	struct text_change domain = {STR("localhost"), STR("example.org")};
	struct text_change path = {STR("/"), STR("/x/")};
	struct policy policy = {.retries = &retries,
		.bandwidth = &bandwidth,
		.location_changes = {&location, 1},
		.cookie_domains = {&domain, 1},
		.cookie_paths = {&path, 1}};
	(void)fixture;
	arena_init(&arena);
	assert_null(backend_settle_policy(&policy, &arena));
	assert_int_equal(policy.retries->statuses.count, 2);
	assert_int_equal(policy.retries->tries, 3);
	assert_true(policy.retries->on_error);
	assert_int_equal(policy.bandwidth->bytes_per_s, 1024);
	assert_int_equal(policy.location_changes.count, 1);
	assert_true(str_eq_c(policy.cookie_paths.items[0].to, "/x/"));
	arena_fini(&arena);
}

static void numbers_are_cut(void **fixture)
{
	struct arena arena;
	struct retries retries = {.timeout_ms = UINT64_MAX};
	struct bandwidth bandwidth = {UINT64_MAX, UINT64_MAX};
	struct policy policy = {.retries = &retries, .bandwidth = &bandwidth};
	(void)fixture;
	arena_init(&arena);
	assert_null(backend_settle_policy(&policy, &arena));
	assert_true(policy.retries->timeout_ms == 24 * 3600 * 1000);
	assert_true(policy.bandwidth->bytes_per_s == UINT64_C(1) << 40);
	assert_true(policy.bandwidth->after_bytes == UINT64_C(1) << 40);
	arena_fini(&arena);
}

static void what_fails_is_left_out(void **fixture)
{
	struct arena arena;
	struct status_code codes[] = {{200}, {503}, {700}};
	struct retries retries = {.statuses = {codes, 3}};
	struct bandwidth bandwidth = {0, 9};
	struct text_change texts[] = {{STR("a"), STR("b\r\nSet-Cookie: x")}, {STR("a"), STR("b")},
		{STR("a"), STR("b; Secure")}, {STR("a\xc3"), STR("b")}};
	struct policy policy = {.retries = &retries,
		.bandwidth = &bandwidth,
		.location_changes = {texts, 4},
		.cookie_domains = {texts, 4},
		.cookie_paths = {texts, 4}};
	(void)fixture;
	arena_init(&arena);
	assert_non_null(backend_settle_policy(&policy, &arena));
	assert_int_equal(policy.retries->statuses.count, 1);
	assert_int_equal(policy.retries->statuses.items[0].status, 503);
	assert_null(policy.bandwidth);
	assert_int_equal(policy.location_changes.count, 2);
	assert_int_equal(policy.cookie_domains.count, 1);
	assert_int_equal(policy.cookie_paths.count, 1);
	assert_true(str_eq_c(policy.cookie_paths.items[0].to, "b"));
	arena_fini(&arena);
}

static void pools(void **fixture)
{
	struct arena arena;
	struct piece piece = {.value = REQUEST_HEADER, .text = STR("x-u")};
	struct piece bad = {.value = REQUEST_HEADER, .text = STR("x u")};
	struct affinity affinity = {.path = STR("/a"), .max_age_s = UINT64_MAX};
	struct affinity evil = {.path = STR("/a; Domain=b")};
	struct stickiness stickiness = {.affinity = &affinity};
	struct pool pool = {.hash = {&piece, 1}, .stickiness = &stickiness};
	(void)fixture;
	arena_init(&arena);
	assert_null(backend_settle_pool(&pool, &arena));
	assert_int_equal(pool.hash.count, 1);
	assert_true(str_eq_c(pool.stickiness->affinity->path, "/a"));
	assert_true(pool.stickiness->affinity->max_age_s < UINT64_C(4000000000));
	stickiness.affinity = &evil;
	pool.stickiness = &stickiness;
	pool.hash.items = &bad;
	assert_non_null(backend_settle_pool(&pool, &arena));
	assert_int_equal(pool.hash.count, 0);
	assert_true(str_is_empty(pool.stickiness->affinity->path));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_good_stays),
		cmocka_unit_test(numbers_are_cut),
		cmocka_unit_test(what_fails_is_left_out),
		cmocka_unit_test(pools),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
