// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/target_sync.h"

#include "fake_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define TG "arn:aws:elasticloadbalancing:us-east-1:123456789012:targetgroup/sl-pool/1"

struct fixture {
	struct calls calls;
	struct observed *observed;
	struct observed_group *group;
	struct target_sync *sync;
	struct arena arena;
	size_t missing;
};

static void on_progress(void *ctx)
{
}

static void on_missing(void *ctx)
{
	((struct fixture *)ctx)->missing++;
}

static struct observed_group *add_group(struct fixture *f, const char *arn)
{
	struct observed_group *group =
		observed_add_group(f->observed, str_from(arn), STR("shop/web"));
	observed_set_group_name(f->observed, group, STR("sl-pool"));
	return group;
}

static int set_up(void **ret_fixture)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	arena_init(&f->arena);
	f->observed = observed_new();
	f->group = add_group(f, TG);
	struct target_sync_config config = {.calls = &f->calls.context,
		.observed = f->observed,
		.poll_s = 5,
		.on_progress = on_progress,
		.on_missing = on_missing,
		.ctx = f};
	f->sync = target_sync_new(&config, STR("sl-pool"));
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	target_sync_free(f->sync);
	observed_free(f->observed);
	arena_fini(&f->arena);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

/* A letter is a target, "10.0.0.a" no address, but nobody here minds. */
static struct elb_target_list list_of(struct fixture *f, const char *letters)
{
	struct elb_target_list list = {
		arena_calloc(&f->arena, strlen(letters) + 1, sizeof(struct elb_target)), 0};
	for (; *letters != '\0'; letters++)
		list.items[list.count++] = (struct elb_target){
			.ip = arena_printf(&f->arena, "10.0.0.%c", *letters), .port = 80};
	return list;
}

/* `serving` are not wanted any more, but still serve. */
static void want_beside(struct fixture *f, const char *letters, const char *serving)
{
	struct elb_target_list list = list_of(f, letters);
	struct elb_target_list others = list_of(f, serving);
	target_sync_set(f->sync, &list, &others);
	fake_run(f->calls.loop);
}

static void want(struct fixture *f, const char *letters)
{
	want_beside(f, letters, "");
}

/* The oldest call is this one, with these targets. */
static void assert_asks(const char *action, const char *letters)
{
	char got[16] = "";
	size_t len = 0;
	assert_string_equal(fake_action(), action);
	for (const char *at = fake.first->body; (at = strstr(at, "=10.0.0.")) != NULL; at++)
		got[len++] = at[sizeof("=10.0.0.") - 1];
	assert_string_equal(got, letters);
}

static void answer(struct fixture *f, const char *result)
{
	fake_answer(result);
	fake_run(f->calls.loop);
}

/* What AWS has, by digits, of which those after a '-' are in their first checks. */
static void answer_health(struct fixture *f, const char *digits)
{
	struct str members = STR("");
	const char *state = "healthy";
	for (; *digits != '\0'; digits++) {
		if (*digits == '-') {
			state = "initial";
			continue;
		}
		members = arena_printf(&f->arena,
			"%.*s<member><Target><Id>10.0.0.%c</Id><Port>80</Port></"
			"Target><TargetHealth>"
			"<State>%s</State></TargetHealth></member>",
			STR_FMT(members), *digits, state);
	}
	answer(f,
		arena_printf(&f->arena, "<TargetHealthDescriptions>%.*s</TargetHealthDescriptions>",
			STR_FMT(members))
			.p);
}

static void the_first_list_is_compared_and_not_written(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "12");
	assert_asks("DescribeTargetHealth", "");
	assert_false(target_sync_is_settled(f->sync));
	answer_health(f, "12");
	assert_true(target_sync_is_settled(f->sync));
	assert_string_equal(fake.log, "DescribeTargetHealth ");
}

static void what_differs_is_registered_first(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "23");
	answer_health(f, "12");
	assert_asks("RegisterTargets", "3");
	assert_false(target_sync_is_settled(f->sync));
	answer(f, "");
	assert_asks("DeregisterTargets", "1");
	answer(f, "");
	assert_true(target_sync_is_settled(f->sync));
	assert_string_equal(fake_action(), "");
}

static void a_change_does_not_wait_for_the_read(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "12");
	assert_asks("DescribeTargetHealth", "");
	fake_fail(AWS_FAILED, false);
	want(f, "23");
	assert_asks("RegisterTargets", "23");
	answer(f, "");
	assert_asks("DeregisterTargets", "1");
	answer(f, "");
	assert_asks("DescribeTargetHealth", "");
	answer_health(f, "23");
	assert_true(target_sync_is_settled(f->sync));
}

static void what_changes_while_a_call_is_under_way_is_sent_together(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	want(f, "1");
	want(f, "12");
	want(f, "23");
	assert_asks("RegisterTargets", "1");
	answer(f, "");
	assert_asks("RegisterTargets", "23");
	answer(f, "");
	assert_asks("DeregisterTargets", "1");
	answer(f, "");
	assert_true(target_sync_is_settled(f->sync));
}

static void one_that_is_refused_does_not_hinder_the_others(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	want(f, "1234");
	fake_fail(AWS_REFUSED, false);
	fake_run(f->calls.loop);
	assert_asks("RegisterTargets", "12");
	answer(f, "");
	assert_asks("RegisterTargets", "34");
	fake_fail(AWS_REFUSED, false);
	fake_run(f->calls.loop);
	assert_asks("RegisterTargets", "3");
	fake_fail(AWS_REFUSED, false);
	fake_run(f->calls.loop);
	assert_asks("RegisterTargets", "4");
	answer(f, "");
	assert_string_equal(fake_action(), "");
	assert_string_equal(target_sync_problem(f->sync), "AWS says no");
	assert_false(target_sync_is_settled(f->sync));
	/* Others come and go meanwhile. */
	want(f, "2345");
	assert_asks("RegisterTargets", "5");
	answer(f, "");
	assert_asks("DeregisterTargets", "1");
	answer(f, "");
	assert_non_null(target_sync_problem(f->sync));
	fake_wait(f->calls.loop, 301);
	assert_asks("RegisterTargets", "3");
	answer(f, "");
	assert_null(target_sync_problem(f->sync));
	assert_true(target_sync_is_settled(f->sync));
}

static void one_that_is_refused_and_not_wanted_any_more_is_no_problem(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	want(f, "1");
	fake_fail(AWS_REFUSED, false);
	fake_run(f->calls.loop);
	assert_non_null(target_sync_problem(f->sync));
	want(f, "2");
	assert_null(target_sync_problem(f->sync));
	answer(f, "");
	assert_true(target_sync_is_settled(f->sync));
}

static void with_the_quota_as_many_are_registered_as_fit(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	want(f, "123");
	fake_fail(AWS_QUOTA, false);
	fake_run(f->calls.loop);
	assert_asks("RegisterTargets", "1");
	answer(f, "");
	assert_asks("RegisterTargets", "23");
	fake_fail(AWS_QUOTA, false);
	fake_run(f->calls.loop);
	assert_asks("RegisterTargets", "2");
	fake_fail(AWS_QUOTA, false);
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "");
	assert_non_null(target_sync_problem(f->sync));
	fake_wait(f->calls.loop, 120);
	assert_asks("RegisterTargets", "2");
}

static void with_the_quota_half_of_the_old_ones_make_room(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "1234");
	answer_health(f, "1234");
	want(f, "5678");
	assert_asks("RegisterTargets", "5678");
	fake_fail(AWS_QUOTA, false);
	fake_run(f->calls.loop);
	assert_asks("DeregisterTargets", "12");
	answer(f, "");
	assert_asks("RegisterTargets", "56");
	answer(f, "");
	assert_asks("DeregisterTargets", "3");
	answer(f, "");
	assert_asks("RegisterTargets", "7");
	answer(f, "");
	assert_asks("DeregisterTargets", "4");
	answer(f, "");
	assert_asks("RegisterTargets", "8");
	answer(f, "");
	assert_null(target_sync_problem(f->sync));
	assert_true(target_sync_is_settled(f->sync));
}

static void a_write_whose_answer_is_lost_is_done_again_at_once(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	f->group->balancer_arn = str_dup(STR("arn"));
	want(f, "1");
	fake_fail(AWS_FAILED, true);
	assert_false(target_sync_is_settled(f->sync));
	fake_wait(f->calls.loop, 5);
	assert_asks("RegisterTargets", "1");
	answer(f, "");
	assert_asks("DescribeTargetHealth", "");
	answer_health(f, "1");
	want(f, "");
	assert_asks("DeregisterTargets", "1");
	fake_fail(AWS_FAILED, true);
	fake_wait(f->calls.loop, 5);
	assert_asks("DeregisterTargets", "1");
}

static void a_group_that_aws_does_not_know_is_looked_for(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	want(f, "1");
	assert_int_equal(f->missing, 0);
	fake_fail(AWS_NOT_FOUND, false);
	assert_int_equal(f->missing, 1);
}

/* Another group of that name was made while the call was under way. */
static void an_answer_about_another_group_does_not_count(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	want(f, "1");
	observed_forget_group(f->observed, f->group);
	f->group = add_group(f, TG "2");
	f->group->has_targets = true;
	answer(f, "");
	assert_asks("RegisterTargets", "1");
	assert_true(fake_asks("sl-pool%2F12"));
}

static void it_stays_settled_while_it_is_read_again(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "1");
	answer_health(f, "1");
	target_sync_recheck(f->sync, RANK_SWEEP);
	assert_true(target_sync_is_settled(f->sync));
	fake_run(f->calls.loop);
	answer_health(f, "2");
	assert_false(target_sync_is_settled(f->sync));
	assert_asks("RegisterTargets", "1");
}

static void what_was_never_registered_is_not_deregistered_by_a_sweep(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->has_targets = true;
	want(f, "1");
	want(f, "");
	fake_fail(AWS_REFUSED, false);
	fake_run(f->calls.loop);
	assert_true(target_sync_is_settled(f->sync));
	fake_clear_log();
	target_sync_recheck(f->sync, RANK_SWEEP);
	fake_run(f->calls.loop);
	assert_string_equal(fake.log, "DescribeTargetHealth ");
}

/* What it wanted meanwhile was done by the replica that acted. */
static void a_standby_that_takes_over_compares_first(void **fixture)
{
	struct fixture *f = *fixture;
	f->calls.is_closed = true;
	want(f, "12");
	answer_health(f, "12");
	want(f, "23");
	assert_string_equal(fake_action(), "");
	observed_forget_group(f->observed, f->group);
	target_sync_start_over(f->sync);
	f->calls.is_closed = false;
	call_queue_wake(f->calls.context.queue);
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "");
	f->group = add_group(f, TG);
	target_sync_wake(f->sync);
	fake_run(f->calls.loop);
	assert_false(target_sync_is_settled(f->sync));
	answer_health(f, "23");
	assert_string_equal(fake_action(), "");
	assert_true(target_sync_is_settled(f->sync));
}

/* A balancer leads to the group, which has 12. */
static void serve_12(struct fixture *f)
{
	f->group->balancer_arn = str_dup(STR("arn"));
	want(f, "12");
	answer_health(f, "12");
	fake_clear_log();
}

static void old_ones_stay_until_a_new_one_gets_requests(void **fixture)
{
	struct fixture *f = *fixture;
	serve_12(f);
	want_beside(f, "34", "12");
	assert_asks("RegisterTargets", "34");
	answer(f, "");
	assert_string_equal(fake_action(), "");
	assert_false(target_sync_is_settled(f->sync));
	assert_null(target_sync_problem(f->sync));
	fake_wait(f->calls.loop, 6);
	assert_asks("DescribeTargetHealth", "");
	answer_health(f, "12-34");
	assert_string_equal(fake_action(), "");
	fake_wait(f->calls.loop, 6);
	answer_health(f, "124-3");
	assert_asks("DeregisterTargets", "12");
	answer(f, "");
	assert_true(target_sync_is_settled(f->sync));
	/* It is known now that 4 gets requests. */
	want(f, "45");
	assert_asks("RegisterTargets", "5");
	answer(f, "");
	assert_asks("DeregisterTargets", "3");
}

/* The reads do not get their turn, or no answer. */
static void the_wait_ends_without_a_read(void **fixture)
{
	struct fixture *f = *fixture;
	serve_12(f);
	want(f, "34");
	answer(f, "");
	fake_wait(f->calls.loop, 6);
	assert_asks("DescribeTargetHealth", "");
	fake_fail(AWS_THROTTLED, false);
	assert_string_equal(fake_action(), "");
	fake_wait(f->calls.loop, 31);
	assert_asks("DeregisterTargets", "12");
}

/* Health does not come of itself where nothing leads to. */
static void nobody_waits_in_a_group_that_nothing_leads_to(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "12");
	answer_health(f, "12");
	want_beside(f, "34", "12");
	answer(f, "");
	assert_asks("DeregisterTargets", "12");
}

/* Killed while the old ones were kept. */
static void after_a_start_they_stay_likewise(void **fixture)
{
	struct fixture *f = *fixture;
	f->group->balancer_arn = str_dup(STR("arn"));
	want_beside(f, "34", "12");
	answer_health(f, "12-34");
	assert_string_equal(fake_action(), "");
	fake_wait(f->calls.loop, 6);
	answer_health(f, "1234");
	assert_asks("DeregisterTargets", "12");
}

/* What is wanted again was never taken out. */
static void a_change_that_is_taken_back_ends_the_wait(void **fixture)
{
	struct fixture *f = *fixture;
	serve_12(f);
	want_beside(f, "34", "12");
	answer(f, "");
	want(f, "12");
	assert_asks("DeregisterTargets", "34");
	answer(f, "");
	assert_true(target_sync_is_settled(f->sync));
	fake_wait(f->calls.loop, 60);
	assert_string_equal(fake_action(), "");
}

static void with_the_quota_the_last_old_one_stays(void **fixture)
{
	struct fixture *f = *fixture;
	serve_12(f);
	want(f, "34");
	fake_fail(AWS_QUOTA, false);
	fake_run(f->calls.loop);
	assert_asks("DeregisterTargets", "1");
	answer(f, "");
	assert_asks("RegisterTargets", "3");
	answer(f, "");
	assert_string_equal(fake_action(), "");
	fake_wait(f->calls.loop, 6);
	answer_health(f, "23");
	assert_asks("DeregisterTargets", "2");
	answer(f, "");
	assert_asks("RegisterTargets", "4");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_list_is_compared_and_not_written),
		TEST(what_differs_is_registered_first),
		TEST(a_change_does_not_wait_for_the_read),
		TEST(what_changes_while_a_call_is_under_way_is_sent_together),
		TEST(one_that_is_refused_does_not_hinder_the_others),
		TEST(one_that_is_refused_and_not_wanted_any_more_is_no_problem),
		TEST(with_the_quota_as_many_are_registered_as_fit),
		TEST(with_the_quota_half_of_the_old_ones_make_room),
		TEST(a_write_whose_answer_is_lost_is_done_again_at_once),
		TEST(a_group_that_aws_does_not_know_is_looked_for),
		TEST(an_answer_about_another_group_does_not_count),
		TEST(it_stays_settled_while_it_is_read_again),
		TEST(what_was_never_registered_is_not_deregistered_by_a_sweep),
		TEST(old_ones_stay_until_a_new_one_gets_requests),
		TEST(the_wait_ends_without_a_read),
		TEST(nobody_waits_in_a_group_that_nothing_leads_to),
		TEST(after_a_start_they_stay_likewise),
		TEST(a_change_that_is_taken_back_ends_the_wait),
		TEST(with_the_quota_the_last_old_one_stays),
		TEST(a_standby_that_takes_over_compares_first),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
