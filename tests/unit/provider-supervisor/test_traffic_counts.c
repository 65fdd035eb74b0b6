// SPDX-License-Identifier: Apache-2.0
/* The traffic of each Ingress, counted from the lines of the proxies. */
#include "provider-supervisor/traffic_counts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static struct traffic_counts *counts;
static struct buf out;

static int set_up(void **state)
{
	(void)state;
	counts = traffic_counts_new();
	buf_init(&out, 64 * 1024);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	traffic_counts_free(counts);
	buf_fini(&out);
	return 0;
}

/* What is logged of it. */
static struct str take(const char *line)
{
	return traffic_counts_take(counts, str_from(line), true);
}

/* All that is told. */
static const char *told(void)
{
	buf_clear(&out);
	for (size_t i = 0; i < traffic_counts_number(counts); i++)
		assert_int_equal(traffic_counts_print(counts, i, &out), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	return buf_str(&out).p;
}

static void assert_logged(const char *line, const char *want)
{
	struct str left = take(line);
	assert_int_equal(left.len, strlen(want));
	assert_memory_equal(left.p != NULL ? left.p : "", want, left.len);
}

#define ID       "4bf92f3577b34da6a3ce929d0e0e4736"
#define OTHER_ID "00000000000000000000000000000001"

static void counting(void **state)
{
	(void)state;
	take("@9 shop/front 200 1000 80 7 0 - 7 3 0\n");
	take("@9 shop/front 503 200 90 20000 +2 backend-failed 7 3 1\n");
	take("@9 -shop/front 403 100 70 -1 0 source-access 7 3 2\n");
	take("@9 - 404 10 20 0 0 no-route 7 3 3\n");
	take("@9 shop/front -1 0 20 0 0 - 7 3 4\n");
	assert_string_equal(told(),
		"shop/front 0 1 0 2 1 2 1 0 0 0 0 0 0 0 0 0 1 20007 1300 260 2 1 0 0 0 0 0\n"
		"/(none) 0 0 0 1 0 1 0 0 0 0 0 0 0 0 0 0 0 0 10 20 0 0 0 0 0 0 0\n"
		"/(lost) 0\n");
}

/* As nginx has them. */
static void lines_of_nginx(void **state)
{
	(void)state;
	traffic_counts_set_time(counts, 1700000000123);
	assert_logged("#9 200 1000 80 0.007 shop/front\n", "");
	assert_logged("#9 503 200 90 20.000 shop/front ++backend-failed\n", "");
	assert_logged("#9 403 100 70 0.000 shop/front source-access =" ID "\n", "");
	assert_logged("#9 499 0 20 0.000 shop/front + =" ID "\n", "");
	assert_logged("#9 101 0 0 0.001 shop/front =" OTHER_ID "\n", "");
	assert_logged("#9 400 10 20 0.000 \n", "");
	assert_logged("#9 413 0 0 0.000  body-limit =" OTHER_ID "\n", "");
	assert_logged("#9 200 10 20 0.000 -\n", "");
	assert_string_equal(told(),
		"shop/front 1 1 0 2 1 3 1 0 0 0 0 0 0 0 0 0 1 20008 1300 260 3 1 0 0 0 0 0 "
		"0:" OTHER_ID ":1:1700000000123\n"
		"/(none) 0 0 0 2 0 2 0 0 0 0 0 0 0 0 0 0 0 0 10 20 0 0 0 0 0 0 1 0:" OTHER_ID
		":0:1700000000123\n"
		"/(lost) 0\n");
}

/* HAProxy has two places where an owner may stand. */
static void two_owners(void **state)
{
	(void)state;
	take("@9 -<shop/front 200 1 1 1 0 - 7 3 0\n");
	take("@9 -<-shop/front 200 1 1 1 0 - 7 3 1\n");
	take("@9 shop/front<- 200 1 1 1 0 - 7 3 2\n");
	take("@9 shop/front<shop/back 200 1 1 1 0 - 7 3 3\n");
	take("@9 -<- 200 1 1 1 0 - 7 3 4\n");
	take("@9 -< 200 1 1 1 0 - 7 3 5\n");
	take("@9 < 200 1 1 1 0 - 7 3 6\n");
	take("@9 <shop/front 200 1 1 1 0 - 7 3 7\n");
	assert_non_null(strstr(told(), "shop/front 0 4 "));
	assert_non_null(strstr(told(), "/(none) 0 1 "));
	assert_null(strstr(told(), "back"));
}

static void each_guard(void **state)
{
	static const char *const guards[] = {"source-access", "basic-auth", "external-auth",
		"client-tls", "rate-limit", "body-limit"};
	char line[128];
	(void)state;
	for (int i = 0; i < 6; i++) {
		snprintf(line, sizeof(line), "@9 shop/front 403 0 0 0 0 %s 7 3 %d\n", guards[i], i);
		take(line);
	}
	assert_non_null(strstr(told(), " 1 1 1 1 1 1\n"));
}

static void what_is_logged(void **state)
{
	(void)state;
	assert_logged("plain\n", "plain\n");
	assert_logged("@9 shop/front 200 1 1 1 0 - 7 3 0 {\"a\":1}\n", "{\"a\":1}\n");
	assert_logged("@9 - 404 1 1 1 0 no-route 7 3 1 a b c\n", "a b c\n");
	assert_logged("@9 -shop/front 200 1 1 1 0 - 7 3 2 {\"a\":1}\n", "");
	assert_logged("@9 shop/front 200 1 1 1 0 - 7 3 3\n", "");
	assert_logged("@9 shop/front 200 1 1 1 0 - 7 3 4 \n", "");
}

/* The newest of each bucket. */
static void exemplars(void **state)
{
	(void)state;
	traffic_counts_set_time(counts, 1700000000123);
	assert_logged("@9 shop/front 200 1 1 7 0 - 7 3 0 =" OTHER_ID " {\"a\":1}\n", "{\"a\":1}\n");
	take("@9 shop/front 200 1 1 8 0 - 7 3 1 =" ID "\n");
	take("@9 shop/front 200 1 1 20000 0 - 7 3 2 =" OTHER_ID "\n");
	assert_non_null(strstr(
		told(), " 0 1:" ID ":8:1700000000123 11:" OTHER_ID ":20000:1700000000123\n"));
}

/* The request counts, and has none. */
static void no_exemplars(void **state)
{
	static const char *const ids[] = {
		"=", "=-", "=x", ("=" ID "0"), "=\"} 1", "=4BF9", "=\x1b[31m", ("==" OTHER_ID), ID};
	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		char line[256];
		snprintf(line, sizeof(line), "@9 shop/front 200 1 1 7 0 - 7 3 %zu %s\n", i, ids[i]);
		take(line);
	}
	assert_non_null(strstr(told(), "shop/front 0 9 "));
	assert_null(strchr(told(), ':'));
}

static void their_number_is_bounded(void **state)
{
	(void)state;
	take("@2 shop/a 200 1 1 1 0 - 7 3 0\n");
	take("@2 - 404 1 1 1 0 - 7 3 1\n");
	take("@2 shop/b 200 1 1 1 0 - 7 3 2\n");
	take("@2 shop/c 200 1 1 1 0 - 7 3 3\n");
	take("@2 shop/d 200 1 1 1 0 - 7 3 4\n");
	take("@2 shop/a 200 1 1 1 0 - 7 3 5\n");
	assert_int_equal(traffic_counts_number(counts), 5);
	assert_non_null(strstr(told(), "/(others) 0 2 "));
	assert_non_null(strstr(told(), "shop/a 0 2 "));
	assert_null(strstr(told(), "shop/c"));
}

static void many_owners(void **state)
{
	enum { MANY = 1000 };
	char line[64];
	(void)state;
	for (int i = 0; i < 3 * MANY; i++) {
		snprintf(line, sizeof(line), "#%d 200 1 1 0.001 many/app-%d\n", MANY, i % MANY);
		take(line);
	}
	assert_int_equal(traffic_counts_number(counts), MANY + 1);
	for (size_t i = 0; i < MANY; i++) {
		buf_clear(&out);
		assert_int_equal(traffic_counts_print(counts, i, &out), 0);
		snprintf(line, sizeof(line), "many/app-%zu 0 3 ", i);
		assert_true(str_starts_with(buf_str(&out), str_from(line)));
	}
}

/* Nothing of them is told, and nothing logged. */
static void lines_that_are_none(void **state)
{
	static const char *const lines[] = {"@\n", "@ \n", "@9\n", "@9 shop/front\n",
		"@x shop/front 200 1 1 1 0 - 7 3 0\n", "@0 shop/front 200 1 1 1 0 - 7 3 0\n",
		"@9 shop/front 200 -1 1 1 0 - 7 3 0\n", "@9 shop/front x 1 1 1 0 - 7 3 0\n",
		"@9 shop/front 200 1 1 1 0 - 7 3 99999999999999999999\n",
		"@9 shop/front 200 1 1 1 0  7 3 0\n", "@9 shop/front 200 1 1 1 + - 7 3 0\n",
		"@9 shop/front 200 1 1 -2 0 - 7 3 0\n", "@9 shop/front 200 1 1x 1 0 - 7 3 0\n",
		"@9 shop/front 200 1 1 1 0 - 0 3 0\n", "#\n", "#9\n",
		"#0 200 1 1 0.001 shop/front\n", "#9 200 1 1 1 shop/front\n",
		"#9 200 1 1 0.1 shop/front\n", "#9 200 1 1 0.0011 shop/front\n",
		"#9 -1 1 1 0.001 shop/front\n", "#9 200 1 1 9007199254740992.000 shop/front\n"};
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_logged(lines[i], "");
	assert_string_equal(told(), "/(lost) 0\n");
}

static void owners_that_are_none(void **state)
{
	static const char *const owners[] = {
		"shop", "/x", "a/b/c", "A/b", "a/b\"", "a/\x1b[31m", "a/{}", "--/x\\"};
	char line[128];
	(void)state;
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		snprintf(line, sizeof(line), "@9 %s 200 1 1 1 0 - 7 3 %zu\n", owners[i], i);
		take(line);
	}
	assert_int_equal(traffic_counts_number(counts), 2);
	assert_non_null(strstr(told(), "/(none) 0 8 "));
}

static void a_long_owner(void **state)
{
	char line[1024];
	char owner[TRAFFIC_OWNER_LEN_MAX + 2] = "a/";
	(void)state;
	memset(owner + 2, 'b', TRAFFIC_OWNER_LEN_MAX - 1);
	snprintf(line, sizeof(line), "@9 %s 200 1 1 1 0 - 7 3 0\n", owner);
	take(line);
	owner[TRAFFIC_OWNER_LEN_MAX] = 0;
	snprintf(line, sizeof(line), "@9 %s 200 1 1 1 0 - 7 3 1\n", owner);
	take(line);
	assert_non_null(strstr(told(), "/(none) 0 1 "));
	assert_non_null(strstr(told(), owner));
}

static void what_is_lost(void **state)
{
	(void)state;
	/* The first may have been read by somebody else. */
	take("@9 a/b 200 1 1 1 0 - 7 3 10\n");
	take("@9 a/b 200 1 1 1 0 - 7 4 0\n");
	take("@9 a/b 200 1 1 1 0 - 7 3 12\n");
	take("@9 a/b 200 1 1 1 0 - 7 3 11\n");
	assert_non_null(strstr(told(), "/(lost) 0\n"));
	take("@9 a/b 200 1 1 1 0 - 7 4 3\n");
	assert_non_null(strstr(told(), "/(lost) 2\n"));
	/* Two threads have taken the same number. */
	take("@9 a/b 200 1 1 1 0 - 7 3 13\n");
	take("@9 a/b 200 1 1 1 0 - 7 3 13\n");
	take("@9 a/b 200 1 1 1 0 - 7 3 15\n");
	assert_non_null(strstr(told(), "/(lost) 2\n"));
	/* Another worker begins anew. */
	take("@9 a/b 200 1 1 1 0 - 8 3 0\n");
	take("@9 a/b 200 1 1 1 0 - 8 3 2\n");
	assert_non_null(strstr(told(), "/(lost) 3\n"));
	/* Late, but a counter does not fall. */
	take("@9 a/b 200 1 1 1 0 - 8 3 1\n");
	assert_non_null(strstr(told(), "/(lost) 3\n"));
}

static void what_is_no_request(void **state)
{
	(void)state;
	struct str line = STR("@9 - 0 0 0 0 0 bad-request 7 3 0 x\n");
	assert_int_equal(traffic_counts_take(counts, line, false).len, 0);
	take("@9 a/b 200 1 1 1 0 - 7 3 1\n");
	assert_int_equal(traffic_counts_number(counts), 2);
	assert_non_null(strstr(told(), "/(lost) 0\n"));
}

static void many_frontends(void **state)
{
	char line[64];
	(void)state;
	for (int i = 0; i < TRAFFIC_FRONTENDS_MAX + 10; i++) {
		snprintf(line, sizeof(line), "@9 a/b 200 1 1 1 0 - 7 %d 0\n", i);
		take(line);
	}
	assert_non_null(strstr(told(), "a/b 0 74 "));
	/* What one has lost that is forgotten stays lost. */
	take("@9 a/b 200 1 1 1 0 - 8 1 5\n");
	take("@9 a/b 200 1 1 1 0 - 8 1 9\n");
	for (int i = 0; i < TRAFFIC_FRONTENDS_MAX + 10; i++) {
		snprintf(line, sizeof(line), "@9 a/b 200 1 1 1 0 - 9 %d 0\n", i);
		take(line);
	}
	assert_non_null(strstr(told(), "/(lost) 3\n"));
}

static void sums_do_not_wrap(void **state)
{
	char line[128];
	(void)state;
	for (int i = 0; i < 1100; i++) {
		snprintf(line, sizeof(line), "@9 a/b 200 9007199254740992 0 0 0 - 7 3 %d\n", i);
		take(line);
	}
	assert_non_null(strstr(told(), " 9223372036854775807 "));
}

int main(void)
{
#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(counting),
		TEST(lines_of_nginx),
		TEST(two_owners),
		TEST(each_guard),
		TEST(what_is_logged),
		TEST(exemplars),
		TEST(no_exemplars),
		TEST(their_number_is_bounded),
		TEST(many_owners),
		TEST(lines_that_are_none),
		TEST(owners_that_are_none),
		TEST(a_long_owner),
		TEST(what_is_lost),
		TEST(what_is_no_request),
		TEST(many_frontends),
		TEST(sums_do_not_wrap),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
