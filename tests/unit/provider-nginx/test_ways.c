// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/backend_text.h"
#include "provider-nginx/pool_text.h"
#include "provider-nginx/rule_text.h"
#include "provider-nginx/ways.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

/* Names and causes of all, a line each. */
static struct str listed(const struct ways *ways, struct arena *arena)
{
	struct str text = STR("");
	struct way_cursor cursor = {.name = ""};
	for (size_t i = 0; ways_next(ways, i, &cursor); i++) {
		text = arena_printf(arena, "%.*s%s", STR_FMT(text), cursor.name);
		for (size_t j = 0; ways_next_cause(j, &cursor); j++)
			text = arena_printf(arena, "%.*s %s", STR_FMT(text), cursor.cause);
		text = arena_printf(arena, "%.*s\n", STR_FMT(text));
	}
	return text;
}

static struct str tree_of(
	const struct policy *policy, struct ways *ways, struct arena *arena, bool *ret_is_whole)
{
	struct buf out;
	struct tree_text tree = {.out = &out};
	buf_init(&out, RULE_TEXT_LEN_MAX);
	*ret_is_whole = backend_text_add_policy(&tree, policy, ways);
	struct str text = arena_str(arena, buf_str(&out));
	buf_fini(&out);
	return text;
}

static void only_what_is_wanted_has_locations(void **fixture)
{
	struct arena arena;
	struct ways ways = {0};
	bool is_whole;
	struct retries usual = {.on_error = true, .on_timeout = true, .tries = 3};
	struct policy policy = {.retries = &usual};
	struct buffering streams = {.request = true};
	(void)fixture;
	arena_init(&arena);
	struct str text = tree_of(&policy, &ways, &arena, &is_whole);
	assert_true(str_eq_c(text, "(retries,(on_error),(on_timeout),(tries,3))"));
	policy.buffering = &streams;
	text = tree_of(&policy, &ways, &arena, &is_whole);
	assert_true(is_whole);
	assert_true(str_eq_c(listed(&ways, &arena), ""));
	arena_fini(&arena);
}

static void each_way_is_there_once(void **fixture)
{
	struct arena arena;
	struct ways ways = {0};
	bool is_whole;
	struct status_code codes[] = {{418}, {502}, {503}};
	struct retries retries = {.on_error = true, .statuses = {codes, 3}, .timeout_ms = 1000};
	struct retries unsafe = {.on_invalid = true, .unsafe = true};
	struct bandwidth bandwidth = {1024, 5};
	struct buffering buffering = {.response = true};
	struct policy first = {.retries = &retries};
	struct policy second = {
		.retries = &unsafe, .bandwidth = &bandwidth, .buffering = &buffering};
	(void)fixture;
	arena_init(&arena);
	for (int i = 0; i < 2; i++) {
		struct str text = tree_of(&first, &ways, &arena, &is_whole);
		assert_false(is_whole);
		assert_true(str_eq_c(text, "(retries,(on_error),(timeout,1000),(statuses,48))"));
		text = tree_of(&second, &ways, &arena, &is_whole);
		assert_true(is_whole);
		assert_true(str_eq_c(text, "(retries,(on_invalid),(unsafe),(statuses,0)),"
					   "(buffering,(response)),(bandwidth,1024,5)"));
	}
	assert_true(str_eq_c(listed(&ways, &arena),
		"_r00_m error timeout invalid_header non_idempotent\n"
		"_r00_b error timeout invalid_header non_idempotent\n"
		"_r30 error timeout invalid_header non_idempotent http_502 http_503\n"
		"_m error timeout\n"
		"_b error timeout\n"));
	arena_fini(&arena);
}

static void old_versions_have_locations_too(void **fixture)
{
	struct arena arena;
	struct ways ways = {0};
	bool is_whole;
	struct status_code codes[] = {{503}};
	struct retries retries = {.on_error = true, .statuses = {codes, 1}};
	struct backend_http http = {.version_1_0 = true, .connection = CONNECTION_CLOSE};
	struct policy policy = {.retries = &retries, .backend_http = &http};
	(void)fixture;
	arena_init(&arena);
	struct str text = tree_of(&policy, &ways, &arena, &is_whole);
	assert_true(str_eq_c(text, "(retries,(on_error),(statuses,32)),"
				   "(backend_http,(old),(connection,close))"));
	assert_true(str_eq_c(listed(&ways, &arena),
		"_o_r20 error timeout invalid_header non_idempotent http_503\n"
		"_o error timeout\n"));
	http = (struct backend_http){.connection = CONNECTION_KEEP};
	policy.retries = NULL;
	text = tree_of(&policy, &ways, &arena, &is_whole);
	assert_true(str_eq_c(text, "(backend_http,(connection,keep-alive))"));
	arena_fini(&arena);
}

static void every_way_has_its_place(void **fixture)
{
	struct arena arena;
	struct ways ways = {0};
	struct way_cursor cursor = {.name = ""};
	(void)fixture;
	arena_init(&arena);
	for (unsigned statuses = 0; statuses < 128; statuses++) {
		for (enum way_buffer buffer = WAY_STREAMS; buffer <= WAY_DISK; buffer++) {
			ways_add(&ways, &(struct way){.has_retries = true,
						.buffer = buffer,
						.statuses = statuses});
			ways_add(&ways, &(struct way){.buffer = buffer});
			ways_add(&ways, &(struct way){.is_old = true,
						.has_retries = true,
						.buffer = buffer,
						.statuses = statuses});
			ways_add(&ways, &(struct way){.is_old = true, .buffer = buffer});
		}
	}
	size_t count = 0;
	while (ways_next(&ways, count, &cursor)) {
		assert_true(strlen(cursor.name) < WAY_NAME_MAX);
		count++;
	}
	assert_int_equal(count, WAYS_MAX);
	assert_string_equal(cursor.name, "_o");
	arena_fini(&arena);
}

static void texts_are_encoded(void **fixture)
{
	struct arena arena;
	bool is_whole;
	struct text_change change = {STR("http://a,b/"), STR("(x) y")};
	struct policy policy = {.location_changes = {&change, 1},
		.cookie_domains = {&change, 1},
		.cookie_paths = {&change, 1}};
	(void)fixture;
	arena_init(&arena);
	struct str text = tree_of(&policy, NULL, &arena, &is_whole);
	assert_true(str_eq_c(text, "(location_changes,http://a%2Cb/,%28x%29%20y),"
				   "(cookie_domains,http://a%2Cb/,%28x%29%20y),"
				   "(cookie_paths,http://a%2Cb/,%28x%29%20y)"));
	arena_fini(&arena);
}

static void pools_have_lines_of_their_own(void **fixture)
{
	struct arena arena;
	struct buf out;
	struct str problem = STR_NONE;
	struct trust trust = {0};
	struct piece pieces[] = {{.text = STR("a b")}, {.value = REQUEST_HEADER, .text = STR("X")}};
	struct affinity affinity = {.path = STR("/a b"),
		.max_age_s = 5,
		.expires_s = 6,
		.same_site = SAME_SITE_NONE,
		.same_site_known = true,
		.secure = SECURE_TLS,
		.stays = true,
		.balanced = true};
	struct stickiness stickiness = {.cookie = STR("C"), .affinity = &affinity};
	struct pool pool = {.hash = {pieces, 2}, .hash_subset = 3, .stickiness = &stickiness};
	(void)fixture;
	arena_init(&arena);
	buf_init(&out, POOL_TEXT_LEN_MAX);
	pool_text_append(&pool, pool_text_protocol(&pool, &trust, &arena), &arena, &out, &problem);
	assert_true(str_eq_c(buf_str(&out),
		"proto http\nalgo rr\nsticky C - -\n"
		"affinity ((path,/a%20b),(max_age,5),(expires,6),(same_site,None),(same_site_known)"
		",(secure,tls),(stays),(balanced))\nsubset 3\nhash ((text,a%20b),(header,X))\n"));
	assert_null(problem.p);
	buf_clear(&out);
	pool.fastest = true;
	affinity.path = STR("/;");
	pieces[0].text = STR("a\nb");
	pool_text_append(&pool, pool_text_protocol(&pool, &trust, &arena), &arena, &out, &problem);
	assert_true(str_eq_c(buf_str(&out),
		"proto http\nalgo fastest\nsticky C - -\n"
		"affinity ((max_age,5),(expires,6),(same_site,None),(same_site_known)"
		",(secure,tls),(stays),(balanced))\n"));
	assert_non_null(problem.p);
	buf_fini(&out);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_wanted_has_locations),
		cmocka_unit_test(each_way_is_there_once),
		cmocka_unit_test(old_versions_have_locations_too),
		cmocka_unit_test(every_way_has_its_place),
		cmocka_unit_test(texts_are_encoded),
		cmocka_unit_test(pools_have_lines_of_their_own),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
