// SPDX-License-Identifier: Apache-2.0
/* The traffic of each Ingress: what providers tell, what has come since, and how it is shown. */
#include "sluicectl/top_screen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define OF(ingress) "{namespace=\"shop\",ingress=\"" ingress "\""
#define REQUESTS    "sluice_ingress_requests_total" OF("a") ",status=\"2xx\"} %s\n"
#define FRONT                                                                                                                                                                                                                                                                                                                                                                                                                                                                                                        \
	"# TYPE sluice_ingress_requests_total counter\n"                                                                                                                                                                                                                                                                                                                                                                                                                                                             \
	"sluice_ingress_requests_total" OF(                                                                                                                                                                                                                                                                                                                                                                                                                                                                          \
		"front") ",status=\"2xx\"} 90\n"                                                                                                                                                                                                                                                                                                                                                                                                                                                                     \
			 "sluice_ingress_requests_total" OF(                                                                                                                                                                                                                                                                                                                                                                                                                                                         \
				 "front") ",status=\"5xx\"} 10\n"                                                                                                                                                                                                                                                                                                                                                                                                                                                    \
					  "sluice_ingress_request_"                                                                                                                                                                                                                                                                                                                                                                                                                                                  \
					  "duration_seconds_bucket" OF(                                                                                                                                                                                                                                                                                                                                                                                                                                              \
						  "front") ",le=\"0."                                                                                                                                                                                                                                                                                                                                                                                                                                                \
							   "005\"} "                                                                                                                                                                                                                                                                                                                                                                                                                                                 \
							   "50\n"                                                                                                                                                                                                                                                                                                                                                                                                                                                    \
							   "sluice_"                                                                                                                                                                                                                                                                                                                                                                                                                                                 \
							   "ingress_"                                                                                                                                                                                                                                                                                                                                                                                                                                                \
							   "request_"                                                                                                                                                                                                                                                                                                                                                                                                                                                \
							   "duration_"                                                                                                                                                                                                                                                                                                                                                                                                                                               \
							   "seconds_"                                                                                                                                                                                                                                                                                                                                                                                                                                                \
							   "bucket" OF(                                                                                                                                                                                                                                                                                                                                                                                                                                              \
								   "fr"                                                                                                                                                                                                                                                                                                                                                                                                                                              \
								   "on"                                                                                                                                                                                                                                                                                                                                                                                                                                              \
								   "t") ",le=\"0.01\"} 90\n"                                                                                                                                                                                                                                                                                                                                                                                                                         \
									"sluice_ingress_request_"                                                                                                                                                                                                                                                                                                                                                                                                                    \
									"duration_seconds_"                                                                                                                                                                                                                                                                                                                                                                                                                          \
									"bucket" OF(                                                                                                                                                                                                                                                                                                                                                                                                                                 \
										"front") ",le="                                                                                                                                                                                                                                                                                                                                                                                                                      \
											 "\"0."                                                                                                                                                                                                                                                                                                                                                                                                                      \
											 "025\"} "                                                                                                                                                                                                                                                                                                                                                                                                                   \
											 "90\n"                                                                                                                                                                                                                                                                                                                                                                                                                      \
											 "sluice_"                                                                                                                                                                                                                                                                                                                                                                                                                   \
											 "ingress"                                                                                                                                                                                                                                                                                                                                                                                                                   \
											 "_reques"                                                                                                                                                                                                                                                                                                                                                                                                                   \
											 "t_"                                                                                                                                                                                                                                                                                                                                                                                                                        \
											 "duratio"                                                                                                                                                                                                                                                                                                                                                                                                                   \
											 "n_"                                                                                                                                                                                                                                                                                                                                                                                                                        \
											 "seconds"                                                                                                                                                                                                                                                                                                                                                                                                                   \
											 "_bucke"                                                                                                                                                                                                                                                                                                                                                                                                                    \
											 "t" OF("front") ",le=\"0.05\"} 100\n"                                                                                                                                                                                                                                                                                                                                                                                       \
													 "sluice_ingress_request_duration_seconds_bucket" OF("front") ",le=\"0.1\"} 100\n"                                                                                                                                                                                                                                                                                                                           \
																				      "sluice_ingress_request_duration_seconds_bucket" OF("front") ",le=\"+Inf\"} 100\n"                                                                                                                                                                                                                                                             \
																												   "sluice_ingress_request_duration_seconds_count" OF("front") "} 100\n"                                                                                                                                                                                                             \
																																			       "sluice_ingress_request_duration_seconds_sum" OF("front") "} 1.5\n"                                                                                                                                                   \
																																											 "sluice_ingress_sent_bytes_total" OF("front") "} 123456\n"                                                                                                  \
																																																       "sluice_ingress_received_bytes_total" OF("front") "} 2000\n"                                                  \
																																																							 "sluice_ingress_retries_total" OF(                          \
																																																								 "front") "} 3\n"                                    \
																																																									  "sluice_ingress_denied_requests_total" OF( \
																																																										  "front") ",guard=\"basic-auth\"} 4\n"

static struct top_sample *sample_of(const char *text)
{
	struct top_sample *sample = top_sample_new();
	top_sample_read(sample, str_from(text));
	return sample;
}

/* ---- samples ---- */

static void what_is_read(void **state)
{
	size_t count;
	(void)state;
	struct top_sample *sample = sample_of(FRONT);
	struct top_row *rows = top_rows_between(NULL, sample, &count);
	assert_int_equal(count, 1);
	assert_true(str_eq(rows[0].name, STR("front")) && str_eq(rows[0].namespace, STR("shop")));
	assert_true(rows[0].requests == 100 && rows[0].counts.classes[4] == 10);
	assert_true(rows[0].counts.sent == 123456 && rows[0].counts.received == 2000);
	assert_true(rows[0].counts.retries == 3 && rows[0].counts.denied[1] == 4);
	assert_true(rows[0].mean_ms == 15 && rows[0].median_ms == 5);
	assert_true(rows[0].p95_ms == 37.5 && rows[0].p99_ms == 47.5);
	free(rows);
	top_sample_free(sample);
}

static void two_providers(void **state)
{
	size_t count;
	(void)state;
	struct top_sample *sample = sample_of(FRONT);
	top_sample_read(sample, str_from(FRONT));
	struct top_row *rows = top_rows_between(NULL, sample, &count);
	assert_true(count == 1 && rows[0].requests == 200);
	free(rows);
	top_sample_free(sample);
}

static void what_has_come_since(void **state)
{
	static const struct {
		const char *before;
		const char *now;
		double want;
	} cases[] = {
		{"90", "100", 10}, {"100", "100", 0},
		{"100", "7", 7}, /* whoever counts has begun anew */
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[2][128];
		size_t count;
		snprintf(text[0], sizeof(text[0]), REQUESTS, cases[i].before);
		snprintf(text[1], sizeof(text[1]), REQUESTS, cases[i].now);
		struct top_sample *before = sample_of(text[0]);
		struct top_sample *now = sample_of(text[1]);
		struct top_row *rows = top_rows_between(before, now, &count);
		assert_true(count == 1 && rows[0].requests == cases[i].want);
		free(rows);
		top_sample_free(before);
		top_sample_free(now);
	}
}

/* None of them may get to a terminal. */
static void lines_that_are_none(void **state)
{
	static const char *const lines[] = {"sluice_ingress_requests_total{namespace=\"a\",ingress="
					    "\"\033[31m\",status=\"2xx\"} 1",
		"sluice_ingress_requests_total{namespace=\"<b>\",ingress=\"a\",status=\"2xx\"} 1",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=\"a\\\"b\",status=\"2xx\"} "
		"1",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=\"\xc3\xa9\",status=\"2xx\"}"
		" 1",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=\"a\",status=\"9xx\"} 1",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=\"a\",status=\"2xx\"} nan",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=\"a\",status=\"2xx\"} -1",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=\"a\",status=\"2xx\"} 1 2",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=\"a\",status=\"2xx\"}",
		"sluice_ingress_requests_total{namespace=\"a\",ingress=",
		"sluice_ingress_requests_total{namespace", "sluice_ingress_requests_total 1",
		"{} 1", "}", "", "\n\n", "sluice_other_total{namespace=\"a\",ingress=\"a\"} 1"};
	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t count;
		struct top_sample *sample = sample_of(lines[i]);
		free(top_rows_between(NULL, sample, &count));
		assert_int_equal(count, 0);
		top_sample_free(sample);
	}
}

static void a_long_name(void **state)
{
	char text[1024];
	char name[TOP_NAME_LEN_MAX + 2];
	(void)state;
	for (size_t more = 0; more < 2; more++) {
		size_t count;
		memset(name, 'a', TOP_NAME_LEN_MAX + more);
		name[TOP_NAME_LEN_MAX + more] = '\0';
		snprintf(text, sizeof(text),
			"sluice_ingress_retries_total{namespace=\"a\",ingress=\"%s\"} 1\n", name);
		struct top_sample *sample = sample_of(text);
		free(top_rows_between(NULL, sample, &count));
		assert_int_equal(count, 1 - more);
		top_sample_free(sample);
	}
}

/* ---- the screen ---- */

static struct top_row rows[3];

static void make_rows(void)
{
	static const char *const names[] = {"many", "failing", "slow"};
	memset(rows, 0, sizeof(rows));
	for (size_t i = 0; i < 3; i++) {
		rows[i].namespace = STR("shop");
		rows[i].name = str_from(names[i]);
		rows[i].requests = i == 0 ? 1000 : 10;
	}
	rows[1].counts.classes[4] = 5;
	rows[2].p95_ms = 900;
}

static void order_and_filter(void **state)
{
	static const struct {
		struct top_view view;
		size_t count;
		const char *first;
	} cases[] = {
		{{.order = TOP_BY_REQUESTS}, 3, "many"},
		{{.order = TOP_BY_ERRORS}, 3, "failing"},
		{{.order = TOP_BY_LATENCY}, 3, "slow"},
		{{.order = TOP_BY_NAME}, 3, "failing"},
		{{.filter = "LOW"}, 1, "slow"},
		{{.filter = "shop/m"}, 1, "many"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		make_rows();
		assert_int_equal(top_view_choose(&cases[i].view, rows, 3), cases[i].count);
		assert_true(str_eq_c(rows[0].name, cases[i].first));
	}
	struct top_view view = {.filter = "nothing"};
	assert_int_equal(top_view_choose(&view, rows, 3), 0);
	enum top_order order;
	assert_true(top_order_read("bytes", &order) && order == TOP_BY_BYTES);
	assert_false(top_order_read("colour", &order));
}

static void keys(void **state)
{
	struct top_view view = {.height = 14};
	(void)state;
	assert_true(top_view_key(&view, 'e', 100) && view.order == TOP_BY_ERRORS);
	for (const char *key = "/qe!\x7f"; *key != '\0'; key++)
		assert_true(top_view_key(&view, *key, 100));
	assert_string_equal(view.filter, "qe");
	assert_true(top_view_key(&view, '\033', 100) && !view.is_typing && view.filter[0] == 0);
	assert_true(top_view_key(&view, ' ', 100) && view.skip == 10);
	assert_true(top_view_key(&view, 'j', 100) && view.skip == 11);
	for (int i = 0; i < 20; i++)
		assert_true(top_view_key(&view, ' ', 100));
	assert_int_equal(view.skip, 90);
	for (int i = 0; i < 20; i++)
		assert_true(top_view_key(&view, '-', 100));
	assert_int_equal(view.skip, 0);
	assert_false(top_view_key(&view, 'q', 100));
	/* Whatever is typed, it is bounded, and printable. */
	view.is_typing = true;
	for (int i = 0; i < 1000; i++)
		assert_true(top_view_key(&view, (char)(i == 999 ? '\r' : i), 100) || i == 'q');
	assert_true(strlen(view.filter) <= TOP_FILTER_LEN_MAX);
	for (const char *c = view.filter; *c != '\0'; c++)
		assert_true(*c > ' ' && *c < 127);
}

/* Whatever the size of the terminal: no more lines than it has, and none longer. */
static void any_terminal(void **state)
{
	(void)state;
	make_rows();
	for (size_t width = 1; width < 200; width += 13) {
		for (size_t height = 1; height < 30; height++) {
			struct buf out;
			struct top_view view = {.width = width, .height = height, .seconds = 2};
			buf_init(&out, 64 * 1024);
			assert_int_equal(top_screen_print(&view, rows, 3, &out), 0);
			size_t lines = 1;
			size_t len = 0;
			struct str text = buf_str(&out);
			for (size_t i = 0; i < text.len; i++) {
				len = text.p[i] == '\n' ? 0 : len + 1;
				lines += text.p[i] == '\n';
				assert_true(len <= width);
			}
			assert_true(lines == height || height < 4);
			buf_fini(&out);
		}
	}
}

static void json(void **state)
{
	struct buf out;
	struct top_view view = {.seconds = 2};
	(void)state;
	make_rows();
	buf_init(&out, 64 * 1024);
	assert_int_equal(top_screen_json(&view, rows, 1, &out), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	assert_string_equal(buf_str(&out).p,
		"[{\"namespace\":\"shop\",\"ingress\":\"many\",\"seconds\":2.000,\"requests\":1000,"
		"\"status\":{\"1xx\":0,\"2xx\":0,\"3xx\":0,\"4xx\":0,\"5xx\":0},\"duration_ms\":{"
		"\"mean\":0.000,\"p50\":0.000,\"p95\":0.000,\"p99\":0.000},\"sent_bytes\":0,"
		"\"received_bytes\":0,\"retries\":0,\"denied\":{\"source-access\":0,\"basic-auth\":"
		"0,\"external-auth\":0,\"client-tls\":0,\"rate-limit\":0,\"body-limit\":0}}]");
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_read),
		cmocka_unit_test(two_providers),
		cmocka_unit_test(what_has_come_since),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(a_long_name),
		cmocka_unit_test(order_and_filter),
		cmocka_unit_test(keys),
		cmocka_unit_test(any_terminal),
		cmocka_unit_test(json),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
