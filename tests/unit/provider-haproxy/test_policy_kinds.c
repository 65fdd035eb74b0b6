// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policy_kinds.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static struct arena arena;

static void assert_kind(const struct policy *policy, const char *flags, const char *wanted)
{
	char *text = str_dup(policy_kinds_of(&arena, policy, str_from(flags)));
	assert_string_equal(text, wanted);
	free(text);
}

static void one_thing_said_is_a_kind(void **state)
{
	struct rate_limits limits = {.status = 0};
	struct policy policy = {.rate_limits = &limits};
	(void)state;
	assert_kind(&policy, "-", "300");
	assert_kind(&policy, "-a", "400");
	assert_kind(&policy, "-b", "500");
	assert_kind(&policy, "-o", "600");
	assert_kind(&policy, "-ok", "600");
	assert_kind(&policy, "-c", "600");
	assert_kind(&policy, "-ck", "600");
}

static void rate_limits_are_usual_ones(void **state)
{
	struct rate_limits limits = {.status = 503};
	struct policy policy = {.rate_limits = &limits};
	(void)state;
	assert_kind(&policy, "-b", "500");
	limits.status = 429;
	assert_kind(&policy, "-b", "500");
	limits.status = 509;
	assert_kind(&policy, "-b", "");
	struct str network[] = {STR("10.0.0.0/8")};
	limits = (struct rate_limits){.status = 429, .exempt = {network, 1}};
	assert_kind(&policy, "-b", "");
}

static void https_is_said_besides(void **state)
{
	struct hsts hsts = {.max_age_s = 7};
	struct policy policy = {.https_redirect = 308};
	(void)state;
	assert_kind(&policy, "-s", "380");
	policy.hsts = &hsts;
	assert_kind(&policy, "-sha", "481");
	policy.https_redirect = 301;
	assert_kind(&policy, "-shck", "611");
	policy.https_redirect = 302;
	assert_kind(&policy, "-sh", "");
	policy = (struct policy){.https_redirect = 308, .https_without_slash = true};
	assert_kind(&policy, "-st", "");
	policy = (struct policy){.hsts = &hsts};
	assert_kind(&policy, "-h", "301");
}

static void paths_are_a_slash_and_a_group(void **state)
{
	struct piece pieces[] = {{.value = REQUEST_TEXT, .text = STR("/")},
		{.value = REQUEST_GROUP, .group = 1}, {.value = REQUEST_GROUP, .group = 2}};
	struct policy policy = {.rewrite = {pieces, 2}};
	(void)state;
	assert_kind(&policy, "-R", "100");
	pieces[1].group = 2;
	assert_kind(&policy, "-R", "200");
	pieces[1].group = 3;
	assert_kind(&policy, "-R", "");
	pieces[1] = (struct piece){.value = REQUEST_PATH_REST};
	assert_kind(&policy, "-R", "");
	pieces[1] = (struct piece){.value = REQUEST_GROUP, .group = 1};
	policy.rewrite.count = 3;
	assert_kind(&policy, "-R", "");
	policy.rewrite.count = 1;
	assert_kind(&policy, "-R", "");
	policy.rewrite.count = 2;
	pieces[0].text = STR("/x");
	assert_kind(&policy, "-R", "");
}

static void several_things_are_none(void **state)
{
	struct policy policy = {.body_max_bytes = 1};
	const char *others[] = {"-m", "-w", "-z", "-d", "-da", "-ab", "-bi", "-r", "-oa", "-okm",
		"-p", "-q", "-ocka", "-dambiwz", "-x", "-u"};
	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_kind(&policy, others[i], "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_thing_said_is_a_kind),
		cmocka_unit_test(rate_limits_are_usual_ones),
		cmocka_unit_test(https_is_said_besides),
		cmocka_unit_test(paths_are_a_slash_and_a_group),
		cmocka_unit_test(several_things_are_none),
	};
	arena_init(&arena);
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_fini(&arena);
	return failed;
}
