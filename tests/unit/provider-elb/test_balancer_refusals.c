// SPDX-License-Identifier: Apache-2.0
/* A load balancer that AWS refuses something: what is believed, tried again, told, and forgotten. */
#include "balancer_world.h"

static void what_was_refused_may_be_forgotten_by_then(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	want_web(f);
	run_all(f);
	stage_host(f, "/bar");
	commit(f);
	run_until(f, "DeleteRule");
	observed_drop_content(find(f));
	fake_fail(AWS_REFUSED, false);
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "DescribeListeners");
}

static void what_was_planned_with_may_be_lost_by_then(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateRule");
	observed_forget_balancer(f->observed, find(f));
	around.losses++;
	answer_well(f);
	assert_int_equal(around.lists, 1);
	assert_string_equal(fake_action(), "CreateLoadBalancer");
}

static void end_list(struct fixture *f)
{
	around.complete++;
	balancer_on_listed(f->balancer);
	fake_run(f->calls.loop);
}

/* The list that was under way when it was denied knows nothing of it. */
static void a_denial_is_believed_until_a_list_tells_better(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	f->settings.health_check_interval_s = 30;
	balancer_reconsider(f->balancer, f->object);
	run_until(f, "ModifyTargetGroup");
	fake_fail(AWS_DENIED, false);
	fake_wait(f->calls.loop, 3);
	run_until(f, "ModifyTargetGroup");
	fake_fail(AWS_DENIED, false);
	run_all(f);
	assert_status(f, LB_STATE_FAILED);
	end_list(f);
	assert_status(f, LB_STATE_FAILED);
	/* It is gone. */
	observed_forget_group(f->observed, observed_next_group(f->observed, NULL));
	around.losses++;
	end_list(f);
	run_until(f, "CreateTargetGroup");
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

static void a_denial_that_stays_is_tried_again_once(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	f->settings.health_check_interval_s = 30;
	balancer_reconsider(f->balancer, f->object);
	run_until(f, "ModifyTargetGroup");
	fake_clear_log();
	for (int i = 0; i < 20; i++) {
		if (strcmp(fake_action(), "ModifyTargetGroup") == 0)
			fake_fail(AWS_DENIED, false);
		else if (fake.first != NULL)
			answer_well(f);
		fake_wait(f->calls.loop, 3);
		end_list(f);
	}
	/* Besides the first: after what is in the balancer was read, and after everything was. */
	assert_int_equal(count("ModifyTargetGroup "), 2);
	assert_status(f, LB_STATE_FAILED);
}

/* What is read again between the tries must not make each of them the first. */
static void what_is_not_found_again_and_again_is_told(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_status told;
	want_web(f);
	for (int i = 0; i < 20; i++) {
		run_until(f, "CreateListener");
		fake_fail(AWS_NOT_FOUND, false);
		fake_wait(f->calls.loop, 3);
		if (strcmp(fake_action(), "DescribeListeners") == 0)
			answer_well(f);
	}
	assert_int_equal(status(f, &told), LB_STATE_FAILED);
	assert_true(str_eq_c(told.message, "AWS says no"));
	run_until(f, "CreateListener");
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

static void endpoints_that_change_are_no_reason_to_try_what_was_refused(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateRule");
	fake_fail(AWS_REFUSED, false);
	run_all(f);
	assert_status(f, LB_STATE_FAILED);
	for (int i = 2; i < 9; i++) {
		char ip[16];
		snprintf(ip, sizeof(ip), "10.0.0.%d", i);
		stage_pool(f, ip);
		commit(f);
		run_all(f);
	}
	assert_int_equal(count("CreateRule"), 1);
	stage_host(f, "/bar");
	commit(f);
	run_all(f);
	assert_int_equal(count("CreateRule"), 2);
	assert_status(f, LB_STATE_APPLIED);
}

static void an_answer_without_sense_is_not_asked_for_in_a_loop(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateLoadBalancer");
	fake_answer("");
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "");
	assert_status(f, LB_STATE_FAILED);
	assert_int_equal(around.lists, 1);
	run_until(f, "CreateLoadBalancer");
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

/* Nobody waits for it, and it passes by itself, mostly. */
static void what_cannot_be_cleaned_up_at_once_takes_nothing_back(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	want_web(f);
	run_all(f);
	observed_set_group_name(f->observed,
		observed_add_group(f->observed, STR(ARN "targetgroup/old/1"), STR(LB)), STR("old"));
	balancer_wake(f->balancer);
	run_until(f, "DeleteTargetGroup");
	fake_fail(AWS_IN_USE, false);
	fake_run(f->calls.loop);
	assert_status(f, LB_STATE_APPLIED);
	run_until(f, "DeleteTargetGroup");
	for (int i = 0; i < 20; i++) {
		fake_fail(AWS_IN_USE, false);
		run_until(f, "DeleteTargetGroup");
	}
	assert_status(f, LB_STATE_FAILED);
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

/* Somebody may have raised the quota. */
static void rules_that_were_given_up_are_tried_again(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_status told;
	want_web(f);
	run_until(f, "CreateRule");
	fake_fail(AWS_QUOTA, false);
	fake_run(f->calls.loop);
	run_all(f);
	status(f, &told);
	assert_int_equal(told.notices.count, 1);
	assert_true(str_eq_c(told.notices.items[0].reason, "RuleQuota"));
	clock_ahead_s += 601;
	balancer_wake(f->balancer);
	fake_run(f->calls.loop);
	run_until(f, "CreateRule");
	run_all(f);
	status(f, &told);
	assert_int_equal(told.notices.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_was_refused_may_be_forgotten_by_then),
		TEST(what_was_planned_with_may_be_lost_by_then),
		TEST(a_denial_is_believed_until_a_list_tells_better),
		TEST(a_denial_that_stays_is_tried_again_once),
		TEST(what_is_not_found_again_and_again_is_told),
		TEST(endpoints_that_change_are_no_reason_to_try_what_was_refused),
		TEST(an_answer_without_sense_is_not_asked_for_in_a_loop),
		TEST(what_cannot_be_cleaned_up_at_once_takes_nothing_back),
		TEST(rules_that_were_given_up_are_tried_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
