// SPDX-License-Identifier: Apache-2.0
#include "common/metrics.h"

#include <errno.h>
#include <stdio.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PLAIN, PAIR, LEVEL, NEVER, DURATION, METRIC_COUNT };

static struct metric table[METRIC_COUNT] = {
	METRIC_DEFINE(PLAIN, COUNTER, "a_seconds", "seconds", "", "A.") METRIC_DEFINE(
		PAIR, COUNTER, "b", "", "x=one|two,y=p|q|r", "B.") METRIC_DEFINE(LEVEL, GAUGE, "c",
		"", "x=one|two", "C.") METRIC_DEFINE(NEVER, GAUGE, "d", "", "", "D.")
		METRIC_DEFINE(DURATION, HISTOGRAM, "e_seconds", "seconds", "0.1|1|10", "E.")};

static int collections;

static void collect(void *ctx)
{
	assert_ptr_equal(ctx, &collections);
	collections++;
	metric_set(&table[LEVEL], 1, -2.5);
}

static void check(bool is_openmetrics, const char *want)
{
	struct buf out;
	buf_init(&out, 64 * 1024);
	assert_int_equal(metrics_print(&out, is_openmetrics), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	assert_string_equal((const char *)buf_data(&out), want);
	buf_fini(&out);
}

static void test_print(void **state)
{
	(void)state;
	metrics_add(table, METRIC_COUNT);
	metrics_add(table, METRIC_COUNT);
	metrics_collect_with(collect, &collections);
	metric_add(&table[PLAIN], 0, 0.25);
	metric_add(&table[PLAIN], 0, 1);
	metric_add(&table[PAIR], METRIC_PAIR(1, 3, 0), 12345678901);
	metric_add(&table[PAIR], METRIC_PAIR(0, 3, 2), 0);
	metric_observe(&table[DURATION], 0.1);
	metric_observe(&table[DURATION], 0.5);
	metric_observe(&table[DURATION], 11);
	check(true, "# TYPE a_seconds counter\n# UNIT a_seconds seconds\n# HELP a_seconds A.\n"
		    "a_seconds_total 1.25\n"
		    "# TYPE b counter\n# HELP b B.\n"
		    "b_total{x=\"one\",y=\"r\"} 0\nb_total{x=\"two\",y=\"p\"} 12345678901\n"
		    "# TYPE c gauge\n# HELP c C.\nc{x=\"two\"} -2.5\n"
		    "# TYPE e_seconds histogram\n# UNIT e_seconds seconds\n# HELP e_seconds E.\n"
		    "e_seconds_bucket{le=\"0.1\"} 1\ne_seconds_bucket{le=\"1\"} 2\n"
		    "e_seconds_bucket{le=\"10\"} 2\ne_seconds_bucket{le=\"+Inf\"} 3\n"
		    "e_seconds_count 3\ne_seconds_sum 11.6\n# EOF\n");
	metrics_collect_without(collect, &collections);
	check(false, "# TYPE a_seconds_total counter\n# HELP a_seconds_total A.\n"
		     "a_seconds_total 1.25\n"
		     "# TYPE b_total counter\n# HELP b_total B.\n"
		     "b_total{x=\"one\",y=\"r\"} 0\nb_total{x=\"two\",y=\"p\"} 12345678901\n"
		     "# TYPE c gauge\n# HELP c C.\nc{x=\"two\"} -2.5\n"
		     "# TYPE e_seconds histogram\n# HELP e_seconds E.\n"
		     "e_seconds_bucket{le=\"0.1\"} 1\ne_seconds_bucket{le=\"1\"} 2\n"
		     "e_seconds_bucket{le=\"10\"} 2\ne_seconds_bucket{le=\"+Inf\"} 3\n"
		     "e_seconds_count 3\ne_seconds_sum 11.6\n");
	assert_int_equal(collections, 1);
}

/* The last of as many series as there may be, and values that begin alike. */
static void test_series_by_value(void **state)
{
	static const struct metric metric = {.labels = "x=Describe|DescribeTags|Tags|other"};
	(void)state;
	assert_int_equal(metric_series(&metric, STR("Describe")), 0);
	assert_int_equal(metric_series(&metric, STR("DescribeTags")), 1);
	assert_int_equal(metric_series(&metric, STR("Tags")), 2);
	assert_int_equal(metric_series(&metric, STR("other")), 3);
	assert_int_equal(metric_series(&metric, STR("Describ")), 3);
	assert_int_equal(metric_series(&metric, STR("")), 3);
}

static void test_as_many_series_as_there_may_be(void **state)
{
	static char labels[512] = "x=0";
	static struct metric metric = {.name = "g", .unit = "", .labels = labels, .help = "G."};
	struct buf out;
	(void)state;
	for (int i = 1; i < METRIC_VALUES_MAX; i++)
		snprintf(labels + strlen(labels), sizeof(labels) - strlen(labels), "|%d", i);
	metrics_add(&metric, 1);
	metric_add(&metric, 33, 1);
	metric_add(&metric, METRIC_VALUES_MAX - 1, 2);
	buf_init(&out, 64 * 1024);
	assert_int_equal(metrics_print(&out, false), 0);
	assert_int_equal(buf_append(&out, "", 1), 0);
	assert_non_null(strstr((const char *)buf_data(&out),
		"# HELP g_total G.\ng_total{x=\"33\"} 1\ng_total{x=\"63\"} 2\n"));
	buf_fini(&out);
}

static void test_a_buffer_that_is_too_small(void **state)
{
	struct buf out;
	(void)state;
	buf_init(&out, 64);
	assert_int_equal(metrics_print(&out, true), -EMSGSIZE);
	buf_fini(&out);
}

static void test_accept(void **state)
{
	(void)state;
	assert_true(metrics_wants_openmetrics(
		STR("application/openmetrics-text;version=1.0.0,text/plain;q=0.5,*/*;q=0.1")));
	assert_false(metrics_wants_openmetrics(STR("text/plain;version=0.0.4")));
	assert_false(metrics_wants_openmetrics(STR("")));
	assert_false(metrics_wants_openmetrics(STR_NONE));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_series_by_value),
		cmocka_unit_test(test_as_many_series_as_there_may_be),
		cmocka_unit_test(test_a_buffer_that_is_too_small),
		cmocka_unit_test(test_accept),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
