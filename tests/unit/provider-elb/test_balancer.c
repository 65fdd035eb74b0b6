// SPDX-License-Identifier: Apache-2.0
/* A load balancer on its way: made, changed while calls are under way, replaced, removed; and when that is told. */
#include "balancer_world.h"

static void it_is_made_step_by_step_and_told_when_it_is_there(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_status told;
	want_web(f);
	assert_status(f, LB_STATE_PENDING);
	run_until(f, "CreateListener");
	assert_int_equal(status(f, &told), LB_STATE_PENDING);
	assert_int_equal(told.addresses.count, 0);
	run_all(f);
	assert_int_equal(status(f, &told), LB_STATE_APPLIED);
	assert_int_equal(told.addresses.count, 1);
}

/* The plan of the call points to what was wanted before. */
static void a_change_may_come_while_a_call_is_under_way(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	want_web(f);
	run_until(f, "CreateRule");
	stage_host(f, "/bar");
	commit(f);
	run_all(f);
	assert_int_equal(count("CreateRule"), 2);
	assert_int_equal(count("DeleteRule"), 1);
	const struct elb_listener *listener = &find(f)->listeners.items[0];
	assert_int_equal(listener->rules.count, 1);
	assert_status(f, LB_STATE_APPLIED);
}

static void it_may_stop_being_wanted_while_a_call_is_under_way(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_until(f, "CreateRule");
	balancer_want_nothing(f->balancer, 0);
	answer_well(f);
	/* The snapshot is not complete. */
	assert_null(fake.first);
	assert_int_equal(find(f)->listeners.items[0].rules.count, 1);
}

static void a_new_state_is_not_applied_because_the_old_one_was(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
	/* Looked at again, it is still as it was seen. */
	fake_clear_log();
	assert_true(balancer_sweep(f->balancer));
	fake_run(f->calls.loop);
	assert_int_equal(count("DescribeListeners"), 1);
	assert_status(f, LB_STATE_APPLIED);
	stage_host(f, "/bar");
	commit(f);
	assert_status(f, LB_STATE_PENDING);
}

static void new_endpoints_are_not_applied_before_they_are_registered(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	stage_pool(f, "10.0.0.2");
	commit(f);
	assert_string_equal(fake_action(), "RegisterTargets");
	assert_status(f, LB_STATE_PENDING);
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
}

static void what_must_not_exist_is_removed_before_that_is_told(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	want_web(f);
	run_all(f);
	stage_balancer(f, true);
	commit(f);
	assert_string_equal(fake_action(), "DeleteLoadBalancer");
	assert_status(f, LB_STATE_PENDING);
	answer_well(f);
	observed_forget_balancer(f->observed, find(f));
	balancer_wake(f->balancer);
	run_until(f, "DeleteTargetGroup");
	answer_well(f);
	assert_status(f, LB_STATE_APPLIED);
	assert_int_equal(f->gone, 0);
}

/* It belonged to nobody, and its removal waits for its turn. */
static void what_is_wanted_again_is_not_removed_before_that_is_worked_out(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	want_web(f);
	run_all(f);
	f->calls.is_closed = true;
	balancer_want_nothing(f->balancer, 0);
	fake_run(f->calls.loop);
	around.has_network = false;
	commit(f);
	f->calls.is_closed = false;
	call_queue_wake(f->calls.context.queue);
	fake_clear_log();
	fake_run(f->calls.loop);
	assert_string_equal(fake.log, "");
	assert_status(f, LB_STATE_PENDING);
}

static struct str shown(struct fixture *f)
{
	struct lb_status told;
	status(f, &told);
	return told.addresses.count != 0 ? told.addresses.items[0].hostname : STR_NONE;
}

/* Its address is that of what serves everything. */
static void a_successor_is_shown_when_it_has_all_that_is_wanted(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	want_web(f);
	run_all(f);
	struct observed_balancer *old = find(f);
	char *before = xstrdup(old->dns_name);
	f->settings.scheme = STR("internal");
	commit(f);
	run_until(f, "CreateRule");
	assert_true(str_eq_c(shown(f), before));
	run_all(f);
	assert_status(f, LB_STATE_APPLIED);
	assert_false(str_eq_c(shown(f), before));
	assert_true(old->replaced_at > 0);
	/* Taken back: its time begins anew when it is replaced again. */
	f->settings.scheme = STR("internet-facing");
	commit(f);
	assert_true(old->replaced_at == 0);
	free(before);
}

/* Nobody tells it when nothing was found that concerns it. */
static void what_acm_has_is_waited_for_and_no_longer(void **fixture)
{
	struct fixture *f = *fixture;
	struct listener https = {.port = 443,
		.protocol = LISTENER_HTTPS,
		.certificates = {.items = (struct str[]){STR("tls")}, .count = 1}};
	struct listener both[] = {{.port = 80, .protocol = LISTENER_HTTP}, https};
	struct load_balancer lb = make_load_balancer(LB, "web");
	struct lb_status told;
	lb.listeners.items = both;
	lb.listeners.count = 2;
	stage_upsert(&f->stage, &lb);
	around.has_certificates = false;
	commit(f);
	assert_string_equal(fake.log, "");
	assert_int_equal(status(f, &told), LB_STATE_PENDING);
	assert_true(str_is_empty(told.message));
	around.has_certificates = true;
	run_until(f, "CreateListener");
	assert_true(fake_asks("Port=80"));
}

static void a_removal_that_is_complete_ends_it(void **fixture)
{
	struct fixture *f = *fixture;
	state_begin_snapshot(f->stage.state);
	want_web(f);
	run_all(f);
	balancer_want_nothing(f->balancer, 0);
	run_until(f, "DeleteLoadBalancer");
	answer_well(f);
	observed_forget_balancer(f->observed, find(f));
	balancer_wake(f->balancer);
	run_until(f, "DeleteTargetGroup");
	answer_well(f);
	assert_int_equal(f->gone, 1);
}

static void a_standby_that_takes_over_reads_again_what_it_was_reading(void **fixture)
{
	struct fixture *f = *fixture;
	want_web(f);
	run_all(f);
	fake_clear_log();
	assert_true(balancer_sweep(f->balancer));
	fake_run(f->calls.loop);
	assert_int_equal(count("DescribeListeners"), 1);
	observed_forget_balancer(f->observed, find(f));
	around.losses++;
	balancer_start_over(f->balancer);
	/* Its answer comes to nothing: the group is forgotten. */
	assert_string_equal(fake_action(), "DescribeTargetHealth");
	assert_null(fake.first->next);
	assert_status(f, LB_STATE_PENDING);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_made_step_by_step_and_told_when_it_is_there),
		TEST(a_change_may_come_while_a_call_is_under_way),
		TEST(it_may_stop_being_wanted_while_a_call_is_under_way),
		TEST(a_new_state_is_not_applied_because_the_old_one_was),
		TEST(new_endpoints_are_not_applied_before_they_are_registered),
		TEST(what_must_not_exist_is_removed_before_that_is_told),
		TEST(what_is_wanted_again_is_not_removed_before_that_is_worked_out),
		TEST(a_successor_is_shown_when_it_has_all_that_is_wanted),
		TEST(what_acm_has_is_waited_for_and_no_longer),
		TEST(a_removal_that_is_complete_ends_it),
		TEST(a_standby_that_takes_over_reads_again_what_it_was_reading),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
