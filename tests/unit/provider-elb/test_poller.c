// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/poller.h"

#include "fake_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ARN "arn:aws:elasticloadbalancing:us-east-1:123456789012:loadbalancer/app/"

struct fixture {
	struct calls calls;
	struct observed *observed;
	struct poller *poller;
	char told[256]; /* "+lb" its state was read, "-lb" it is gone */
};

static void tell(struct fixture *f, char sign, struct str lb)
{
	size_t len = strlen(f->told);
	snprintf(f->told + len, sizeof(f->told) - len, "%c%.*s ", sign, STR_FMT(lb));
}

static void on_state(void *ctx, struct str lb)
{
	tell(ctx, '+', lb);
}

static void on_gone(void *ctx, struct observed_balancer *balancer)
{
	struct fixture *f = ctx;
	tell(f, '-', str_from(balancer->lb));
	observed_forget_balancer(f->observed, balancer);
}

static int set_up(void **ret_fixture)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	f->observed = observed_new();
	struct poller_config config = {.calls = &f->calls.context,
		.observed = f->observed,
		.interval_s = 5,
		.on_state = on_state,
		.on_gone = on_gone,
		.ctx = f};
	f->poller = poller_new(&config);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	poller_free(f->poller);
	observed_free(f->observed);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

static struct observed_balancer *add(struct fixture *f, const char *arn, enum elb_state state)
{
	struct str name = str_skip(str_from(arn), sizeof(ARN) - 1);
	struct observed_balancer *balancer =
		observed_add_balancer(f->observed, str_from(arn), name);
	observed_set_balancer_name(f->observed, balancer, name);
	balancer->state = state;
	return balancer;
}

static void wait_round(struct fixture *f)
{
	fake_wait(f->calls.loop, 6);
}

#define MEMBER(name, state)                                                                \
	"<member><LoadBalancerArn>" ARN name "</LoadBalancerArn><LoadBalancerName>" name   \
	"</LoadBalancerName><Type>application</Type><State><Code>" state "</Code></State>" \
	"</member>"

static void nothing_is_asked_when_nothing_comes_up(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, ARN "a", ELB_ACTIVE);
	poller_start(f->poller);
	wait_round(f);
	wait_round(f);
	assert_string_equal(fake.log, "");
}

static void those_that_come_up_are_asked_for_together(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, ARN "a", ELB_PROVISIONING);
	add(f, ARN "b", ELB_PROVISIONING);
	poller_start(f->poller);
	wait_round(f);
	assert_true(fake_asks("app%2Fa") && fake_asks("app%2Fb"));
	fake_answer("<LoadBalancers>" MEMBER("a", "active")
			MEMBER("b", "provisioning") "</LoadBalancers>");
	assert_string_equal(f->told, "+a ");
	wait_round(f);
	assert_false(fake_asks("app%2Fa"));
	fake_answer("<LoadBalancers>" MEMBER("b", "active") "</LoadBalancers>");
	assert_string_equal(f->told, "+a +b ");
	wait_round(f);
	assert_string_equal(fake.log, "DescribeLoadBalancers DescribeLoadBalancers ");
}

static void one_that_is_gone_does_not_hide_the_others(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, ARN "a", ELB_PROVISIONING);
	add(f, ARN "b", ELB_PROVISIONING);
	poller_start(f->poller);
	wait_round(f);
	fake_fail(AWS_NOT_FOUND, false);
	fake_run(f->calls.loop);
	assert_true(fake_asks("app%2Fa") && !fake_asks("app%2Fb"));
	fake_fail(AWS_NOT_FOUND, false);
	fake_run(f->calls.loop);
	assert_true(fake_asks("app%2Fb"));
	fake_answer("<LoadBalancers>" MEMBER("b", "active") "</LoadBalancers>");
	assert_string_equal(f->told, "-a +b ");
}

static void one_that_goes_is_asked_for_until_it_is_gone(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, ARN "a", ELB_ACTIVE);
	poller_add_going(f->poller, STR(ARN "a"));
	poller_add_going(f->poller, STR(ARN "a"));
	wait_round(f);
	fake_answer("<LoadBalancers>" MEMBER("a", "active") "</LoadBalancers>");
	wait_round(f);
	fake_fail(AWS_NOT_FOUND, false);
	assert_string_equal(f->told, "+a -a ");
	wait_round(f);
	assert_string_equal(fake.log, "DescribeLoadBalancers DescribeLoadBalancers ");
}

/* One that came up when it was deleted is asked for alone. */
static void one_that_goes_is_not_taken_for_one_that_comes(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, ARN "a", ELB_PROVISIONING)->is_leaving = true;
	add(f, ARN "b", ELB_PROVISIONING);
	poller_add_going(f->poller, STR(ARN "a"));
	wait_round(f);
	assert_true(fake_asks("app%2Fb") && !fake_asks("app%2Fa"));
}

static void others_may_go_while_one_is_asked_for(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, ARN "a", ELB_ACTIVE);
	poller_add_going(f->poller, STR(ARN "a"));
	wait_round(f);
	for (int i = 0; i < 100; i++) {
		char arn[128];
		snprintf(arn, sizeof(arn), ARN "more%d", i);
		poller_add_going(f->poller, str_from(arn));
	}
	fake_fail(AWS_NOT_FOUND, false);
	assert_string_equal(f->told, "-a ");
	fake_run(f->calls.loop);
	assert_true(fake_asks("more"));
}

static void a_failure_ends_the_round_and_the_next_one_comes(void **fixture)
{
	struct fixture *f = *fixture;
	add(f, ARN "a", ELB_PROVISIONING);
	poller_start(f->poller);
	wait_round(f);
	fake_fail(AWS_FAILED, false);
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "");
	wait_round(f);
	assert_string_equal(fake_action(), "DescribeLoadBalancers");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_is_asked_when_nothing_comes_up),
		TEST(those_that_come_up_are_asked_for_together),
		TEST(one_that_is_gone_does_not_hide_the_others),
		TEST(one_that_goes_is_asked_for_until_it_is_gone),
		TEST(one_that_goes_is_not_taken_for_one_that_comes),
		TEST(others_may_go_while_one_is_asked_for),
		TEST(a_failure_ends_the_round_and_the_next_one_comes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
