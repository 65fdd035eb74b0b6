// SPDX-License-Identifier: Apache-2.0
#include "common/xalloc.h"
#include "sluicectl/web_api.h"
#include "sluicectl/web_guard.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static void test_addresses(void **ctx)
{
	static const char *const good[] = {
		"127.0.0.1:0", "127.255.0.9:80", "[::1]:8080", "[0:0::1]:1"};
	static const char *const bad[] = {"", ":", ":0", "127.0.0.1", "0.0.0.0:0", "126.0.0.1:0",
		"128.0.0.1:0", "127.1:0", "[127.0.0.1]:0", "::1:0", "[::]:0", "[::2]:0",
		"[::ffff:127.0.0.1]:0", "[]:0", "[:0", "localhost:0",
		"127.0.0.1000000000000000000000000000000000000000000000000000000000000000:0"};
	struct web_guard guard;
	struct web_guard other;
	(void)ctx;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(web_guard_init(&guard, good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (web_guard_init(&guard, bad[i]))
			fail_msg("%s", bad[i]);
	}
	assert_true(web_guard_init(&guard, good[0]) && web_guard_init(&other, good[0]));
	assert_int_equal(strlen(guard.key), WEB_KEY_LEN);
	assert_string_not_equal(guard.key, other.key);
}

struct guard_case {
	const char *host;
	const char *site;
	const char *path; /* K stands for the key */
	enum web_verdict verdict;
	const char *rest;
};

static const struct guard_case guard_cases[] = {
	{"127.0.0.1:80", "", "/K/", WEB_WELCOME, ""},
	/* A browser leaves out the port of its scheme. */
	{"127.0.0.1", "none", "/K/api/status", WEB_WELCOME, "api/status"},
	{"LocalHost", "same-origin", "/K//x", WEB_WELCOME, "/x"},
	{"localhost:80", "", "/K", WEB_E_KEY, NULL},
	{"localhost:80", "", "/", WEB_E_KEY, NULL},
	{"localhost:80", "", "", WEB_E_KEY, NULL},
	{"localhost:80", "", "/KK/", WEB_E_KEY, NULL},
	{"localhost:80", "", "K/", WEB_E_KEY, NULL},
	{"localhost:8", "", "/K/", WEB_E_HOST, NULL},
	{"localhost:800", "", "/K/", WEB_E_HOST, NULL},
	{"", "", "/K/", WEB_E_HOST, NULL},
	{"evil.example", "", "/K/", WEB_E_HOST, NULL},
	{"localhost.evil.example", "", "/K/", WEB_E_HOST, NULL},
	{"localhost", "cross-site", "/K/", WEB_E_SITE, NULL},
	{"localhost", "same-site", "/K/", WEB_E_SITE, NULL},
};

static void test_requests(void **ctx)
{
	struct web_guard guard;
	(void)ctx;
	assert_true(web_guard_init(&guard, "127.0.0.1:80"));
	guard.port = 80;
	for (size_t i = 0; i < sizeof(guard_cases) / sizeof(guard_cases[0]); i++) {
		const struct guard_case *want = &guard_cases[i];
		char path[128] = "";
		struct str rest = STR("unchanged");
		for (const char *at = want->path; *at != '\0'; at++)
			strcat(path, *at == 'K' ? guard.key : (char[2]){*at, '\0'});
		const struct admin_request request = {.path = str_from(path),
			.host = str_from(want->host),
			.site = str_from(want->site)};
		assert_int_equal(web_guard_check(&guard, &request, &rest), want->verdict);
		assert_true(str_eq_c(rest, want->rest != NULL ? want->rest : "unchanged"));
	}
	/* One byte is wrong, wherever it is. */
	for (size_t i = 0; i < WEB_KEY_LEN; i++) {
		char path[WEB_KEY_LEN + 3];
		struct str rest;
		snprintf(path, sizeof(path), "/%s/", guard.key);
		path[i + 1] ^= 1;
		const struct admin_request request = {
			.path = str_from(path), .host = STR("localhost")};
		assert_int_equal(web_guard_check(&guard, &request, &rest), WEB_E_KEY);
	}
}

struct words_case {
	const char *api;
	const char *query;
	const char *want; /* words with | between them; or what is wrong, behind ! */
};

static const struct words_case words_cases[] = {
	{"status", "", "status|--output=json|--"},
	{"explain", "what=default%2Fweb", "explain|--output=json|--|default/web"},
	{"explain", "what=--help", "explain|--output=json|--|--help"},
	{"explain", "", "explain|--output=json|--"},
	{"routes", "limit=5&match=a+b&skip=", "routes|--output=json|--limit=5|--|a b"},
	{"traffic", "match=shop&sort=errors&limit=50",
		"top|--output=json|--interval=1|--sort=errors|--limit=50|--|shop"},
	{"counts", "match=--x", "top|--output=json|--interval=0|--|--x"},
	{"pools", "match=--x", "get|--output=json|--rows|--worst-first|--match=--x|--|pool"},
	{"request", "headers=A:+1%0d%0aB:2%0a&url=u&method=POST&from=::1",
		"request|--output=json|--header=A: 1|--header=B:2|--from=::1|--|POST|u"},
	{"status", "x=1", "!status has no such parameter"},
	{"status", "&", "!status has no such parameter"},
	{"explain", "what=a&what=b", "!what is given twice"},
	{"explain", "what=%00", "!what is longer than 2048 bytes, or malformed"},
};

static void test_words(void **ctx)
{
	(void)ctx;
	for (size_t i = 0; i < sizeof(words_cases) / sizeof(words_cases[0]); i++) {
		const struct words_case *want = &words_cases[i];
		const struct web_api *api = web_api_find(str_from(want->api));
		const char *words[WEB_WORDS_MAX];
		char text[512] = "";
		struct arena arena;
		arena_init(&arena);
		assert_non_null(api);
		char *problem = web_api_words(api, str_from(want->query), &arena, words);
		if (problem != NULL)
			snprintf(text, sizeof(text), "!%s", problem);
		for (size_t k = 0; problem == NULL && words[k] != NULL; k++) {
			strcat(text, k != 0 ? "|" : "");
			strcat(text, words[k]);
		}
		assert_string_equal(text, want->want);
		free(problem);
		arena_fini(&arena);
	}
	assert_null(web_api_find(STR("compare")));
	assert_null(web_api_find(STR("")));
}

/* The longest that fits, and what is longer by one. */
static void test_limits(void **ctx)
{
	const struct web_api *api = web_api_find(STR("request"));
	const char *words[WEB_WORDS_MAX];
	(void)ctx;
	for (size_t over = 0; over <= 1; over++) {
		struct arena arena;
		struct buf query;
		arena_init(&arena);
		buf_init(&query, 64 * 1024);
		assert_int_equal(buf_printf(&query, "url=u&method=M&from=f&headers="), 0);
		for (size_t i = 0; i < WEB_LINES_MAX + over; i++)
			assert_int_equal(buf_printf(&query, "a:b%%0a"), 0);
		char *problem = web_api_words(api, buf_str(&query), &arena, words);
		assert_int_equal(problem != NULL, over);
		free(problem);
		buf_clear(&query);
		assert_int_equal(buf_printf(&query, "url="), 0);
		for (size_t i = 0; i < WEB_VALUE_LEN_MAX + over; i++)
			assert_int_equal(buf_append(&query, "u", 1), 0);
		problem = web_api_words(api, buf_str(&query), &arena, words);
		assert_int_equal(problem != NULL, over);
		free(problem);
		buf_fini(&query);
		arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
