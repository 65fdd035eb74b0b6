// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/control.h"
#include "provider-nginx/pool_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static char *text_of(const struct pool *pool, struct str *ret_problem)
{
	struct arena arena;
	struct buf out;
	arena_init(&arena);
	buf_init(&out, POOL_TEXT_LEN_MAX);
	*ret_problem = STR_NONE;
	struct trust trust = {0};
	pool_text_append(pool, pool_text_protocol(pool, &trust, &arena), &arena, &out, ret_problem);
	char *text = str_dup(buf_str(&out));
	buf_fini(&out);
	arena_fini(&arena);
	return text;
}

static void test_endpoints(void **state)
{
	struct pool_endpoint endpoints[] = {
		{.ip = STR("10.0.0.1"), .port = 80, .active = true},
		{.ip = STR("2001:DB8::1"), .port = 81},
		{.ip = STR("10.0.0.1; x"), .port = 80, .active = true},
		{.ip = STR("10.0.0.1"), .port = 70000, .active = true},
	};
	struct pool pool = {.protocol = POOL_H2C, .algorithm = ALGORITHM_SOURCE};
	struct str problem;
	(void)state;
	pool.endpoints.items = endpoints;
	pool.endpoints.count = 2;
	char *text = text_of(&pool, &problem);
	assert_true(problem.p == NULL);
	assert_non_null(strstr(text, "proto h2c\nalgo source\ne a "));
	assert_non_null(strstr(text, " 10.0.0.1 80\ne d "));
	assert_non_null(strstr(text, " [2001:db8::1] 81\n"));
	char *again = text_of(&pool, &problem);
	assert_string_equal(text, again);
	free(again);
	pool.endpoints.count = 4;
	again = text_of(&pool, &problem);
	assert_string_equal(text, again);
	assert_true(problem.p != NULL);
	free(again);
	free(text);
}

static void test_tls(void **state)
{
	static const struct {
		struct pool_tls tls;
		const char *lines;
	} rows[] = {
		{{.verify = TLS_VERIFY_OFF}, "proto https\ntls off - -\n"},
		{{.verify = TLS_VERIFY_SYSTEM, .server_name = STR("a.b"), .http2 = true},
			"proto h2\ntls system a.b -\n"},
		{{.verify = TLS_VERIFY_CA, .server_name = STR("a.b")},
			"proto https\ntls aX a.b iX\n"},
		{{.verify = TLS_VERIFY_OFF, .nameless = true, .server_name = STR("a.b")},
			"proto https\ntls off . -\n"},
	};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pool_tls tls = rows[i].tls;
		struct pool pool = {.protocol = POOL_HTTPS, .tls = &tls};
		struct trust trust = {0};
		if (tls.verify == TLS_VERIFY_CA)
			trust = (struct trust){.ca = {"aX"}, .client = {"iX"}};
		struct str lines = pool_text_protocol(&pool, &trust, &arena);
		assert_true(str_eq_c(lines, rows[i].lines));
	}
	arena_fini(&arena);
}

static void test_stickiness_and_checks(void **state)
{
	struct stickiness stickiness = {
		.cookie = STR("A-1"), .indirect = true, .domain = STR(".a.test")};
	struct health_check check = {.type = HEALTH_CHECK_HTTP, .path = STR("/x"), .fall = 7};
	struct pool pool = {.stickiness = &stickiness, .health_check = &check};
	struct str problem;
	(void)state;
	char *text = text_of(&pool, &problem);
	assert_non_null(strstr(text, "\nsticky A-1 -i a.test\n"));
	assert_non_null(strstr(text, "\ncheck http 5000 2000 2 7 0 /x\n"));
	assert_true(problem.p == NULL);
	free(text);
	stickiness.cookie = STR("a b\ne a 0 1.2.3.4 5");
	check.path = STR("/x\ne a 0 1.2.3.4 5");
	text = text_of(&pool, &problem);
	assert_string_equal(text, "proto http\nalgo rr\n");
	assert_true(problem.p != NULL);
	free(text);
	/* Nothing can be asked by HTTP/2. */
	pool.stickiness = NULL;
	pool.protocol = POOL_H2C;
	check.path = STR("/x");
	text = text_of(&pool, &problem);
	assert_non_null(strstr(text, "\ncheck tcp 5000 2000 2 7 0 /x\n"));
	assert_true(problem.p != NULL);
	free(text);
	pool.protocol = POOL_HTTP;
	/* A check of the port alone has no path, whatever is sent for one. */
	check.type = HEALTH_CHECK_TCP;
	pool.stickiness = NULL;
	text = text_of(&pool, &problem);
	assert_string_equal(text, "proto http\nalgo rr\ncheck tcp 5000 2000 2 7 0 /\n");
	free(text);
}

static void test_answers(void **state)
{
	struct control_answer answer = {.status = 0};
	(void)state;
	assert_true(control_read_answer(
		STR("version=1 serial=00000000000000ff generation=0123456789abcdef "
		    "master=1 free=5 capacity=10\n"),
		&answer));
	assert_int_equal(answer.serial, 255);
	assert_true(answer.generation == 0x0123456789abcdef);
	assert_int_equal(answer.capacity, 10);
	assert_null(answer.late.p);
	assert_true(control_read_answer(
		STR("version=1 serial=1 generation=1 master=1 free=5 capacity=10 late=pa,pb\n"),
		&answer));
	assert_true(str_eq(answer.late, STR("pa,pb")));
	const struct str bad[] = {STR(""), STR("version=2 serial=1 generation=1 free=1 capacity=1"),
		STR("version=1 serial= generation=1 free=1 capacity=1"),
		STR("version=1 serial=1 generation=11112222333344445 free=1 capacity=1"),
		STR("version=1 serial=1 generation=1 free=-1 capacity=1"), STR("<html>502</html>")};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(control_read_answer(bad[i], &answer));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_endpoints),
		cmocka_unit_test(test_tls),
		cmocka_unit_test(test_stickiness_and_checks),
		cmocka_unit_test(test_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
