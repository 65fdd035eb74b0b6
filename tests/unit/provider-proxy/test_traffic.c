// SPDX-License-Identifier: Apache-2.0
/* Counts of Ingresses as a scraper gets them. */
#include "provider-proxy/traffic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#define LINE "shop/front 0 7 0 2 1 3 4 0 0 0 0 0 0 0 0 0 2 1234 900 800 3 1 0 0 0 5 0"

static struct buf out;

static int set_up(void **state)
{
	(void)state;
	buf_init(&out, 64 * 1024);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	buf_fini(&out);
	return 0;
}

/* Up to the next call. */
static const char *printed(enum traffic_family family, const char *line)
{
	buf_clear(&out);
	assert_int_equal(traffic_print_line(&out, family, "trace_id", str_from(line)), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	return buf_str(&out).p;
}

static void lines(void **state)
{
	(void)state;
	assert_string_equal(printed(TRAFFIC_FAMILY_REQUESTS, LINE),
		"sluice_ingress_requests_total{namespace=\"shop\",ingress=\"front\",status=\"2xx\"}"
		" 7\n"
		"sluice_ingress_requests_total{namespace=\"shop\",ingress=\"front\",status=\"4xx\"}"
		" 2\n"
		"sluice_ingress_requests_total{namespace=\"shop\",ingress=\"front\",status=\"5xx\"}"
		" 1\n");
	const char *text = printed(TRAFFIC_FAMILY_DURATION, LINE);
	assert_non_null(strstr(text, "ingress=\"front\",le=\"0.005\"} 3\n"));
	assert_non_null(strstr(text, "ingress=\"front\",le=\"10.0\"} 7\n"));
	assert_non_null(strstr(text, "ingress=\"front\",le=\"+Inf\"} 9\n"));
	assert_non_null(strstr(text, "_count{namespace=\"shop\",ingress=\"front\"} 9\n"));
	assert_non_null(strstr(text, "_sum{namespace=\"shop\",ingress=\"front\"} 1.234\n"));
	assert_string_equal(printed(TRAFFIC_FAMILY_RETRIES, LINE),
		"sluice_ingress_retries_total{namespace=\"shop\",ingress=\"front\"} 3\n");
	assert_string_equal(printed(TRAFFIC_FAMILY_DENIED, LINE),
		"sluice_ingress_denied_requests_total{namespace=\"shop\",ingress=\"front\",guard="
		"\"source-access\"} 1\n"
		"sluice_ingress_denied_requests_total{namespace=\"shop\",ingress=\"front\",guard="
		"\"rate-limit\"} 5\n");
}

#define ID "4bf92f3577b34da6a3ce929d0e0e4736"

static void exemplars(void **state)
{
	(void)state;
	const char *text = printed(TRAFFIC_FAMILY_DURATION,
		LINE " 0:" ID ":3:1700000000123 11:" ID ":12034:1700000001000");
	assert_non_null(
		strstr(text, "le=\"0.005\"} 3 # {trace_id=\"" ID "\"} 0.003 1700000000.123\n"));
	assert_non_null(
		strstr(text, "le=\"+Inf\"} 9 # {trace_id=\"" ID "\"} 12.034 1700000001.000\n"));
	assert_non_null(strstr(text, "le=\"0.01\"} 7\n"));
	/* The older format has none. */
	buf_clear(&out);
	assert_int_equal(traffic_print_line(&out, TRAFFIC_FAMILY_DURATION, NULL,
				 str_from(LINE " 0:" ID ":3:1700000000123")),
		0);
	assert_null(memchr(buf_data(&out), '#', buf_len(&out)));
}

/* A line with such an exemplar leaves nothing behind. */
static void refused_exemplars(void **state)
{
	static const char *const words[] = {" x", (" 12:" ID ":3:4"), " 0::3:4", " 0:" ID,
		(" 0:" ID ":3"), (" 0:" ID ":-3:4"), (" 0:" ID ":3:4:5"), (" 0:\"} 1\n:3:4"),
		" 0:4BF9:3:4", (" 0:" ID ID "0:3:4"), " 0:\x1b[31m:3:4"};
	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		char line[512];
		snprintf(line, sizeof(line), LINE "%s", words[i]);
		assert_string_equal(printed(TRAFFIC_FAMILY_DURATION, line), "");
	}
}

/* What is no Ingress, or has not as many numbers, leaves nothing behind. */
static void refused(void **state)
{
	static const char rest[] = " 0 7 0 2 1 3 4 0 0 0 0 0 0 0 0 0 2 1234 900 800 3 1 0 0 0 5 0";
	static const char *const owners[] = {
		"", "a", "a/", "/b", "A/b", "a/b\"", "a/b/c", "/(other)", "a\\/b", "-a/b"};
	(void)state;
	for (size_t i = 0; i < sizeof(owners) / sizeof(owners[0]); i++) {
		char line[256];
		snprintf(line, sizeof(line), "%s%s", owners[i], rest);
		assert_string_equal(printed(TRAFFIC_FAMILY_SENT, line), "");
	}
	assert_string_equal(printed(TRAFFIC_FAMILY_SENT, "a/b 1 2"), "");
	assert_string_equal(printed(TRAFFIC_FAMILY_SENT, LINE " 1"), "");
	assert_string_equal(printed(TRAFFIC_FAMILY_SENT, "a/b -1 2"), "");
	char line[256];
	snprintf(line, sizeof(line), TRAFFIC_OTHERS "%s", rest);
	assert_string_equal(printed(TRAFFIC_FAMILY_SENT, line),
		"sluice_ingress_sent_bytes_total{namespace=\"\",ingress=\"(others)\"} 900\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines, set_up, tear_down),
		cmocka_unit_test_setup_teardown(exemplars, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused_exemplars, set_up, tear_down),
		cmocka_unit_test_setup_teardown(refused, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
