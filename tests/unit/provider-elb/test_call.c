// SPDX-License-Identifier: Apache-2.0
#include "fake_client.h"
#include "provider-elb/metrics.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const struct request read_group = {.service = AWS_EC2, .action = "DescribeSecurityGroups"};
static const struct request write_group = {
	.service = AWS_EC2, .action = "CreateSecurityGroup", .is_write = true};

struct fixture {
	struct calls calls;
	struct call call;
	const struct request *next; /* what is sent when the turn comes; NULL: nothing */
	size_t answers;
};

static bool on_turn(void *ctx, struct arena *arena, struct request *ret_request)
{
	struct fixture *f = ctx;
	if (f->next == NULL) {
		call_cancel(&f->call);
		return false;
	}
	*ret_request = *f->next;
	return true;
}

static void on_answer(void *ctx, const struct client_answer *answer)
{
	((struct fixture *)ctx)->answers++;
}

static int set_up(void **ret_fixture)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	call_init(&f->call, &f->calls.context, on_turn, on_answer, f);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	call_cancel(&f->call);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

static void what_is_sent_is_decided_when_the_turn_comes(void **fixture)
{
	struct fixture *f = *fixture;
	f->next = &read_group;
	call_join(&f->call, &read_group, RANK_CHANGE);
	assert_true(call_is_active(&f->call));
	assert_false(call_is_running(&f->call));
	f->next = NULL;
	fake_run(f->calls.loop);
	assert_false(call_is_active(&f->call));
	assert_string_equal(fake.log, "");
	f->next = &read_group;
	call_join(&f->call, &read_group, RANK_CHANGE);
	fake_run(f->calls.loop);
	assert_true(call_is_running(&f->call));
	fake_answer("");
	assert_int_equal(f->answers, 1);
	assert_false(call_is_active(&f->call));
}

/* Both are of one class. */
static void a_write_is_not_sent_on_the_turn_of_a_read(void **fixture)
{
	struct fixture *f = *fixture;
	f->calls.is_closed = true;
	f->next = &write_group;
	call_join(&f->call, &read_group, RANK_CHANGE);
	fake_run(f->calls.loop);
	assert_string_equal(fake.log, "");
	assert_true(call_is_active(&f->call));
	f->calls.is_closed = false;
	call_queue_wake(f->calls.context.queue);
	fake_run(f->calls.loop);
	assert_string_equal(fake.log, "CreateSecurityGroup ");
}

static void a_call_that_becomes_a_write_waits_at_the_gate(void **fixture)
{
	struct fixture *f = *fixture;
	f->calls.is_closed = true;
	f->next = &write_group;
	call_join(&f->call, &read_group, RANK_CHANGE);
	call_join(&f->call, &write_group, RANK_CHANGE);
	assert_true(f->call.entry.is_write);
	fake_run(f->calls.loop);
	assert_string_equal(fake.log, "");
}

static double counted(enum elb_metric metric, const char *action)
{
	return elb_metrics[metric].values[metric_series(&elb_metrics[metric], str_from(action))];
}

static void calls_are_counted_by_action(void **fixture)
{
	struct fixture *f = *fixture;
	static const enum aws_outcome outcomes[] = {AWS_OK, AWS_THROTTLED, AWS_DENIED};
	f->next = &write_group;
	for (size_t i = 0; i < 3; i++) {
		call_join(&f->call, &write_group, RANK_CHANGE);
		fake_wait(f->calls.loop, 60);
		fake_fail(outcomes[i], false);
	}
	assert_true(counted(ELB_CALLS_BY_ACTION, "CreateSecurityGroup") == 3);
	assert_true(counted(ELB_THROTTLED_BY_ACTION, "CreateSecurityGroup") == 1);
	assert_true(counted(ELB_FAILED_BY_ACTION, "CreateSecurityGroup") == 1);
	assert_true(counted(ELB_CALLS_BY_ACTION, "other") == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			what_is_sent_is_decided_when_the_turn_comes, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_write_is_not_sent_on_the_turn_of_a_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_call_that_becomes_a_write_waits_at_the_gate, set_up, tear_down),
		cmocka_unit_test_setup_teardown(calls_are_counted_by_action, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
