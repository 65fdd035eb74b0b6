// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/replay_log.h"
#include "sluicectl/replay_tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PREFIX STR("nginx.ingress.kubernetes.io")

static struct migrate_objects objects_of(const char *ingress)
{
	struct migrate_objects objects;
	char line[4096];
	snprintf(line, sizeof(line), "{\"line\":1,\"file\":\"a.yaml\",\"object\":%s}\n", ingress);
	assert_null(migrate_objects_read(str_from(line), &objects));
	return objects;
}

static const char shop[] =
	"{\"kind\":\"Ingress\",\"metadata\":{\"namespace\":\"n\",\"name\":\"shop\",\"annotations\":"
	"{\"nginx.ingress.kubernetes.io/"
	"enable-cors\":\"true\"}},\"spec\":{\"ingressClassName\":\"nginx\",\"rules\":"
	"[{\"host\":\"a.test\",\"http\":{\"paths\":[{\"path\":\"/"
	"cart\",\"pathType\":\"Prefix\",\"backend\":"
	"{\"service\":{\"name\":\"web\",\"port\":{\"number\":80}}}},{\"path\":\"/id/"
	"[0-9]+\",\"backend\":"
	"{\"service\":{\"name\":\"ids\",\"port\":{\"name\":\"http\"}}}}]}}]}}";

static bool has(const struct replay_requests *requests, const char *method, const char *target)
{
	for (size_t i = 0; i < requests->count; i++) {
		if (str_eq_c(requests->items[i].method, method) &&
			str_eq_c(requests->items[i].target, target))
			return true;
	}
	return false;
}

static void test_requests_of_an_ingress(void **ctx)
{
	struct migrate_objects objects = objects_of(shop);
	struct replay_requests requests;
	(void)ctx;
	replay_requests_init(&requests, 100);
	replay_requests_derive(&requests, &objects, PREFIX);
	const char *const targets[] = {"/cart", "/cart/", "/cart/x", "/cartx", "//cart", "/",
		"/id/", "/id", "/id/x", "/sluice-compare-nowhere"};
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		assert_true(has(&requests, "GET", targets[i]));
	assert_true(has(&requests, "OPTIONS", "/cart"));
	assert_false(has(&requests, "GET", "/id/[0-9]+"));
	/* Each once, although both paths are near to the same others. */
	size_t before = requests.count;
	replay_requests_derive(&requests, &objects, PREFIX);
	assert_int_equal(requests.count, before);
	replay_requests_free(&requests);
	migrate_objects_free(&objects);
}

static void test_no_more_requests_than_allowed(void **ctx)
{
	struct migrate_objects objects = objects_of(shop);
	struct replay_requests requests;
	(void)ctx;
	replay_requests_init(&requests, 3);
	replay_requests_derive(&requests, &objects, PREFIX);
	assert_int_equal(requests.count, 3);
	assert_true(requests.left_out != 0);
	replay_requests_free(&requests);
	migrate_objects_free(&objects);
}

static void test_lines_of_a_log(void **ctx)
{
	static const char *const lines[] = {
		"192.0.2.1 - bob [26/Nov/2026:12:10:58 +0000] \"GET /cart?a=b HTTP/1.1\" 200 3 "
		"\"-\" \"curl\"",
		"192.0.2.1 - - [26/Nov/2026:12:10:58 +0000] \"GET /cart/2 HTTP/2.0\" 200 3 \"-\" "
		"\"x \\x22 y\" 99 0.1 [n-web-80] [] 10.0.0.1:80 3 0.1 200 abc",
		"192.0.2.1 - - [26/Nov/2026:12:10:58 +0000] \"POST /cart HTTP/1.1\" 200 3 \"-\" "
		"\"curl\"",
		"192.0.2.1 - - [26/Nov/2026:12:10:58 +0000] \"\\x16\\x03\\x01\" 400 3 \"-\" \"-\"",
		"192.0.2.1 - - [26/Nov/2026:12:10:58 +0000] \"GET http://evil.test/ HTTP/1.1\" 400 "
		"3 \"-\" \"-\"",
		"192.0.2.1 - - [26/Nov/2026:12:10:58 +0000] \"GET /a\\x20b HTTP/1.1\" 400 3 \"-\" "
		"\"-\"",
		"[",
		"[]\"",
		"",
		"\"GET / HTTP/1.1\" [",
	};
	struct migrate_objects objects = objects_of(shop);
	struct replay_requests requests;
	struct replay_log log = {.host = STR("given.test")};
	struct arena arena;
	(void)ctx;
	arena_init(&arena);
	replay_requests_init(&requests, 100);
	replay_log_find_homes(&log, &objects, &arena);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		replay_log_take(&log, str_from(lines[i]), &requests);
	assert_int_equal(requests.count, 2);
	assert_true(str_eq_c(requests.items[0].host, "given.test"));
	assert_true(str_eq_c(requests.items[0].target, "/cart?a=b"));
	assert_true(str_eq_c(requests.items[1].host, "a.test"));
	assert_int_equal(requests.unsafe, 1);
	assert_int_equal(requests.unusable, 7);
	log.host = STR("");
	replay_log_take(&log, str_from(lines[0]), &requests);
	assert_int_equal(requests.homeless, 1);
	log.with_unsafe = true;
	log.host = STR("given.test");
	replay_log_take(&log, str_from(lines[2]), &requests);
	assert_true(has(&requests, "POST", "/cart"));
	replay_requests_free(&requests);
	arena_fini(&arena);
	migrate_objects_free(&objects);
}

static struct replay_answer answer(unsigned status, struct replay_header *headers, size_t count)
{
	return (struct replay_answer){
		.failure = STR(""), .status = status, .headers = headers, .header_count = count};
}

static void test_differences(void **ctx)
{
	struct replay_header before[] = {{STR("date"), STR("yesterday")}, {STR("x-a"), STR("1")},
		{STR("set-cookie"), STR("s=abc; Path=/")}, {STR("x-who"), STR("blue")},
		{STR("content-type"), STR("text/html")}, {STR("etag"), STR("7")}};
	struct replay_header after[] = {{STR("date"), STR("today")}, {STR("x-b"), STR("2")},
		{STR("set-cookie"), STR("s=def; Path=/")}, {STR("x-who"), STR("green")},
		{STR("content-type"), STR("text/plain")}, {STR("etag"), STR("8")}};
	char ignored_name[] = "ETag";
	char *ignored_items[] = {ignored_name};
	const struct text_list ignored = {ignored_items, 1};
	const struct replay_criteria criteria = {.backend_header = "X-Who", .ignored = &ignored};
	struct replay_answer old = answer(404, before, 6);
	struct replay_answer new = answer(404, after, 6);
	struct arena arena;
	(void)ctx;
	arena_init(&arena);
	struct replay_differences found = replay_compare(&old, &new, &criteria, &arena);
	assert_int_equal(found.count, 3);
	assert_int_equal(found.items[0].kind, REPLAY_BACKEND);
	assert_true(str_eq_c(found.items[0].new, "green"));
	assert_int_equal(found.items[1].kind, REPLAY_HEADER);
	assert_true(str_eq_c(found.items[1].name, "x-a") && found.items[1].new.p == NULL);
	assert_true(str_eq_c(found.items[2].name, "x-b") && found.items[2].old.p == NULL);
	new.status = 200;
	found = replay_compare(&old, &new, &criteria, &arena);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].kind, REPLAY_STATUS);
	new.failure = STR("refused");
	found = replay_compare(&old, &new, &criteria, &arena);
	assert_int_equal(found.items[0].kind, REPLAY_FAILURE);
	assert_int_equal(replay_compare(&old, &old, &criteria, &arena).count, 0);
	arena_fini(&arena);
}

static void test_bodies_and_places(void **ctx)
{
	struct replay_header before[] = {{STR("location"), STR("/a")}};
	struct replay_header after[] = {{STR("location"), STR("/b")}};
	struct replay_answer old = answer(301, before, 1);
	struct replay_answer new = answer(301, after, 1);
	struct replay_criteria criteria = {.bodies = false};
	struct arena arena;
	(void)ctx;
	arena_init(&arena);
	old.body_hash = 1;
	struct replay_differences found = replay_compare(&old, &new, &criteria, &arena);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.items[0].kind, REPLAY_LOCATION);
	criteria.bodies = true;
	found = replay_compare(&old, &new, &criteria, &arena);
	assert_int_equal(found.count, 2);
	assert_int_equal(found.items[1].kind, REPLAY_BODY);
	arena_fini(&arena);
}

static void test_groups(void **ctx)
{
	const struct replay_request request = {.method = STR("GET")};
	struct replay_difference header = {REPLAY_HEADER, STR("x-a"), STR("1"), STR_NONE};
	struct replay_difference status = {REPLAY_STATUS, STR(""), STR("200"), STR("404")};
	struct replay_tally tally;
	(void)ctx;
	replay_tally_init(&tally);
	for (size_t i = 0; i < 5; i++)
		replay_tally_add(&tally, &request, &(struct replay_differences){&header, 1});
	replay_tally_add(&tally, &request, &(struct replay_differences){&status, 1});
	replay_tally_add(&tally, &request, &(struct replay_differences){NULL, 0});
	replay_tally_sort(&tally);
	assert_int_equal(tally.group_count, 2);
	assert_int_equal(tally.groups[0].what.kind, REPLAY_STATUS);
	assert_int_equal(tally.groups[1].count, 5);
	assert_null(tally.groups[1].what.new.p);
	assert_int_equal(tally.asked, 7);
	assert_int_equal(tally.same, 1);
	assert_int_equal(tally.grave, 1);
	assert_int_equal(tally.light, 5);
	replay_tally_free(&tally);
}

static void test_groups_have_a_limit(void **ctx)
{
	const struct replay_request request = {.method = STR("GET")};
	struct replay_tally tally;
	(void)ctx;
	replay_tally_init(&tally);
	for (size_t i = 0; i < REPLAY_GROUPS_MAX + 5; i++) {
		char value[32];
		snprintf(value, sizeof(value), "%zu", i);
		struct replay_difference header = {
			REPLAY_HEADER, STR("x-a"), STR("1"), str_from(value)};
		replay_tally_add(&tally, &request, &(struct replay_differences){&header, 1});
	}
	assert_int_equal(tally.group_count, REPLAY_GROUPS_MAX);
	assert_int_equal(tally.ungrouped, 5);
	replay_tally_free(&tally);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests_of_an_ingress),
		cmocka_unit_test(test_no_more_requests_than_allowed),
		cmocka_unit_test(test_lines_of_a_log),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_bodies_and_places),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_groups_have_a_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
