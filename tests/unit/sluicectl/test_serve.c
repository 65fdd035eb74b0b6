// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/serve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_names_of_programs(void **ctx)
{
	static const char *const good[] = {"translator", "provider-haproxy", "x1"};
	static const char *const bad[] = {"", "../translator", "a/b", "Translator", "a.admin",
		"a b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
	(void)ctx;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(serve_is_program(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(serve_is_program(bad[i]));
}

#define LONG_TYPE                                                                              \
	"text/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" \
	"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

struct answer_case {
	const char *name;
	enum http_outcome outcome;
	long status;
	const char *content_type;
	const char *body;
	const char *problem; /* a part of it; NULL: handed on as it is */
};

static const struct answer_case answer_cases[] = {
	{"alive", HTTP_ANSWERED, 200, "text/plain", "the event loop turns\n", NULL},
	{"not ready", HTTP_ANSWERED, 503, "text/plain", "the watcher\n", NULL},
	{"too many metrics", HTTP_ANSWERED, 500, "text/plain", "there are too many metrics\n",
		NULL},
	{"away", HTTP_E_CONNECT, 0, NULL, "", "does not run"},
	{"hung", HTTP_E_TIMEOUT, 0, NULL, "", "in time"},
	{"killed while it answered", HTTP_E_CUT, 200, "text/plain", "", "ended before"},
	{"endless", HTTP_E_TOO_LONG, 200, "text/plain", "", "more than the limit"},
	{"no HTTP", HTTP_E_OTHER, 0, NULL, "", "turned us away"},
	{"we are a stranger", HTTP_ANSWERED, 403, NULL, "", "--admin-allow-uid"},
	{"no place", HTTP_ANSWERED, 503, NULL, "", "turned us away"},
	{"an older program", HTTP_ANSWERED, 404, "text/plain", "there is nothing\n", "one version"},
	{"a redirect", HTTP_ANSWERED, 302, "text/plain", "there\n", "one version"},
	{"nothing", HTTP_ANSWERED, 200, "text/plain", "", "turned us away"},
	{"no type", HTTP_ANSWERED, 200, NULL, "a 1\n", "one version"},
	{"a type without end", HTTP_ANSWERED, 200, LONG_TYPE, "a 1\n", "one version"},
};

static void test_answers(void **ctx)
{
	(void)ctx;
	for (size_t i = 0; i < sizeof(answer_cases) / sizeof(answer_cases[0]); i++) {
		const struct answer_case *want = &answer_cases[i];
		struct serve_answer answer;
		const struct http_result result = {
			.outcome = want->outcome,
			.head.status = want->status,
			.content_type = want->content_type,
			.body = str_from(want->body),
		};
		serve_answer_make("translator", &result, &answer);
		assert_int_equal(answer.is_heard, want->problem == NULL);
		if (want->problem == NULL) {
			assert_int_equal(answer.status, want->status);
			assert_string_equal(answer.content_type, want->content_type);
			assert_true(str_eq_c(answer.body, want->body));
			continue;
		}
		assert_int_equal(answer.status, 503);
		assert_true(strncmp(answer.problem, "sluice-translator ", 18) == 0);
		if (strstr(answer.problem, want->problem) == NULL)
			fail_msg("%s: %s", want->name, answer.problem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_programs),
		cmocka_unit_test(test_answers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
