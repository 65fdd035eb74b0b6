// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/about.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void test_what_a_program_says_of_itself(void **ctx)
{
	struct about about = {0};
	(void)ctx;
	about_read(&about, STR("program sluice-watcher\nversion 1.2.3\nstarted "
			       "1700000000\nword\nunknown thing\n"
			       "problem-at 1700000009\nproblem link-down peer=translator error=\"a "
			       "b\"\nremedy Wait."));
	assert_true(str_eq(about.version, STR("1.2.3")));
	assert_int_equal(about.started, 1700000000);
	assert_int_equal(about.ready, 0);
	assert_int_equal(about.problem_at, 1700000009);
	assert_true(str_eq(about.problem, STR("link-down peer=translator error=\"a b\"")));
	assert_true(str_eq(about.remedy, STR("Wait.")));
}

static void test_metrics(void **ctx)
{
	struct about about = {0};
	struct buf json;
	(void)ctx;
	about_read_metrics(&about,
		STR("# HELP sluice_watcher_objects "
		    "Objects.\nsluice_watcher_objects{kind=\"ingress\"} 12\n"
		    "sluice_watcher_objects{kind=\"secret\"} 0\nsluice_watcher_queue_objects 3\n"
		    "sluice_watcher_silence_seconds{kind=\"ingress\"} 1.5\n"
		    "sluice_watcher_silence_seconds{kind=\"secret\"} 42.2\n"
		    "sluice_provider_load_balancers{state=\"failed\"} 1\n"
		    "sluice_watcher_changes_total{kind=\"ingress\"} 7\n"
		    "sluice_watcher_changes_total{kind=\"secret\"} 4\nnonsense{ 5\nalone\n"));
	assert_int_equal(about.count, 2);
	assert_true(str_eq(about.counts[0].what, STR("ingress")));
	assert_int_equal(about.counts[0].count, 12);
	assert_int_equal(about.waiting, 3);
	/* A server that has nothing to say is no lag. */
	assert_true(about.has_lag && about.lag_s == 0 && about.lost_count == 0);
	buf_init(&json, 4096);
	assert_int_equal(about_put_json(&about, &json), 0);
	char *text = str_dup(buf_str(&json));
	assert_string_equal(text, ",\"counts\":{\"ingress\":12,\"secret\":0},\"load_balancers\":{"
				  "\"failed\":1},\"lag_s\":0,\"changes\":11,\"waiting\":3");
	free(text);
	buf_fini(&json);
}

static void test_lag_is_of_kinds_that_are_not_followed(void **ctx)
{
	struct about about = {0};
	(void)ctx;
	about_read_metrics(&about, STR("sluice_watcher_silence_seconds{kind=\"ingress\"} 88\n"
				       "sluice_watcher_silence_seconds{kind=\"secret\"} 42.2\n"
				       "sluice_watcher_synced{kind=\"ingress\"} 1\n"
				       "sluice_watcher_synced{kind=\"secret\"} 0\n"));
	assert_int_equal(about.lost_count, 1);
	assert_true(str_eq(about.lost[0].what, STR("secret")));
	assert_true(about.lag_s > 42 && about.lag_s < 43);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_a_program_says_of_itself),
		cmocka_unit_test(test_metrics),
		cmocka_unit_test(test_lag_is_of_kinds_that_are_not_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
