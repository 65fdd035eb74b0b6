// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/inventory.h"

#include "fake_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ARN  "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
#define LB   ARN "loadbalancer/app/sl-web/1"
#define PASS "GetResources DescribeLoadBalancers DescribeTargetGroups DescribeSecurityGroups "

struct fixture {
	struct calls calls;
	struct config options;
	struct observed *observed;
	struct inventory *inventory;
	size_t listed;
};

static void on_certificate(void *ctx, struct str arn, struct str identity, struct str applied)
{
}

static void on_certificates_end(void *ctx)
{
}

static void on_listed(void *ctx)
{
	((struct fixture *)ctx)->listed++;
}

static void on_changed(void *ctx, struct str lb)
{
}

static void on_progress(void *ctx)
{
}

static const struct inventory_ops ops = {
	.on_certificate = on_certificate,
	.on_certificates_end = on_certificates_end,
	.on_listed = on_listed,
	.on_changed = on_changed,
	.on_progress = on_progress,
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	f->options = (struct config){
		.cluster = (char *)(uintptr_t) "demo", .poll_interval = 5, .list_interval = 600};
	f->observed = observed_new();
	struct inventory_config config = {.calls = &f->calls.context,
		.options = &f->options,
		.observed = f->observed,
		.ops = &ops,
		.ctx = f};
	f->inventory = inventory_new(&config);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	inventory_free(f->inventory);
	observed_free(f->observed);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

static void answer_tagged(struct fixture *f, const char *list)
{
	char text[2048];
	snprintf(text, sizeof(text), "{\"ResourceTagMappingList\":[%s]}", list);
	assert_string_equal(fake_action(), "GetResources");
	fake_answer_json(text);
	fake_run(f->calls.loop);
}

static void answer(struct fixture *f, const char *action, const char *result)
{
	assert_string_equal(fake_action(), action);
	fake_answer(result);
	fake_run(f->calls.loop);
}

static void answer_pages(struct fixture *f, const char *balancers)
{
	answer(f, "DescribeLoadBalancers", balancers);
	answer(f, "DescribeTargetGroups", "");
}

static void answer_pass(struct fixture *f, const char *tagged, const char *balancers)
{
	answer_tagged(f, tagged);
	answer_pages(f, balancers);
	answer(f, "DescribeSecurityGroups", "");
}

#define TAGGED                                                                  \
	"{\"ResourceARN\":\"" LB "\",\"Tags\":[{\"Key\":\"sluice.io/cluster\"," \
	"\"Value\":\"demo\"},{\"Key\":\"sluice.io/lb\",\"Value\":\"shop/web\"}]}"
#define PAGE                                                                  \
	"<LoadBalancers><member><LoadBalancerArn>" LB "</LoadBalancerArn>"    \
	"<LoadBalancerName>sl-web</LoadBalancerName><Type>application</Type>" \
	"<State><Code>active</Code></State></member></LoadBalancers>"

static void start(struct fixture *f)
{
	inventory_start(f->inventory);
	fake_run(f->calls.loop);
}

static void a_pass_finds_and_confirms(void **fixture)
{
	struct fixture *f = *fixture;
	assert_non_null(inventory_missing_text(f->inventory));
	start(f);
	answer_pass(f, TAGGED, PAGE);
	assert_true(inventory_is_known(f->inventory));
	assert_null(inventory_missing_text(f->inventory));
	assert_non_null(observed_find_balancer_name(f->observed, STR("sl-web")));
	assert_string_equal(fake.log, PASS);
	fake_wait(f->calls.loop, 601);
	answer_pass(f, TAGGED, "<LoadBalancers></LoadBalancers>");
	assert_null(observed_find_balancer_name(f->observed, STR("sl-web")));
	assert_int_equal(inventory_losses(f->inventory), 1);
}

/* The tagging API goes on listing what was deleted. */
static void what_is_only_hinted_at_is_no_loss(void **fixture)
{
	struct fixture *f = *fixture;
	start(f);
	answer_pass(f, TAGGED, "<LoadBalancers></LoadBalancers>");
	assert_int_equal(observed_balancer_count(f->observed), 0);
	assert_int_equal(inventory_losses(f->inventory), 0);
}

/* Nothing of ours was ever seen, and the page was made before it. */
static void what_is_made_during_a_pass_is_not_taken_for_gone(void **fixture)
{
	struct fixture *f = *fixture;
	start(f);
	answer_pass(f, "", "");
	for (int i = 0; i < 3; i++) {
		fake_wait(f->calls.loop, 601);
		answer_pass(f, "", "");
	}
	fake_wait(f->calls.loop, 601);
	answer_tagged(f, "");
	struct observed_balancer *made =
		observed_add_balancer(f->observed, STR(LB), STR("shop/web"));
	observed_set_balancer_name(f->observed, made, STR("sl-web"));
	observed_see_new(f->observed, &made->seen_in);
	answer_pages(f, "");
	answer(f, "DescribeSecurityGroups", "");
	assert_int_equal(inventory_losses(f->inventory), 0);
	assert_non_null(observed_find_balancer_name(f->observed, STR("sl-web")));
}

static void many_who_ask_get_one_pass_and_not_at_once_again(void **fixture)
{
	struct fixture *f = *fixture;
	start(f);
	for (int i = 0; i < 100; i++)
		inventory_list_now(f->inventory);
	answer_pass(f, "", "");
	assert_string_equal(fake_action(), "");
	fake_wait(f->calls.loop, 6);
	answer_pass(f, "", "");
	assert_int_equal(f->listed, 2);
	inventory_list_now(f->inventory);
	fake_run(f->calls.loop);
	assert_string_equal(fake_action(), "");
	fake_wait(f->calls.loop, 6);
	assert_string_equal(fake_action(), "GetResources");
}

static void a_list_that_fails_is_not_asked_for_more_often_by_those_who_want_it(void **fixture)
{
	struct fixture *f = *fixture;
	start(f);
	answer_pass(f, "", "");
	fake_wait(f->calls.loop, 601);
	fake_fail(AWS_DENIED, false);
	fake_clear_log();
	inventory_list_now(f->inventory);
	fake_run(f->calls.loop);
	assert_string_equal(fake.log, "");
	fake_wait(f->calls.loop, 3);
	assert_string_equal(fake.log, "GetResources ");
}

/* Before the region is known nobody can be asked. */
static void it_does_not_begin_before_it_is_started(void **fixture)
{
	struct fixture *f = *fixture;
	inventory_list_now(f->inventory);
	inventory_start_over(f->inventory);
	fake_wait(f->calls.loop, 60);
	assert_string_equal(fake.log, "");
}

/* A pass that began while another replica acted does not count. */
static void starting_over_forgets_all_and_waits_for_a_whole_pass(void **fixture)
{
	struct fixture *f = *fixture;
	start(f);
	answer_pass(f, TAGGED, PAGE);
	fake_wait(f->calls.loop, 601);
	answer_tagged(f, TAGGED);
	inventory_start_over(f->inventory);
	fake_run(f->calls.loop);
	assert_false(inventory_is_known(f->inventory));
	assert_int_equal(observed_balancer_count(f->observed), 0);
	assert_int_equal(inventory_losses(f->inventory), 1);
	answer_pass(f, TAGGED, PAGE);
	assert_true(inventory_is_known(f->inventory));
	assert_int_equal(f->listed, 2);
	assert_non_null(observed_find_balancer_name(f->observed, STR("sl-web")));
}

#define OTHER(n)                                                                 \
	"<member><TargetGroupArn>" ARN "targetgroup/sl-" n "/1</TargetGroupArn>" \
	"<TargetGroupName>sl-" n "</TargetGroupName></member>"

/* Their tags are asked for together, and the answer is refused whole. */
static void one_that_is_gone_does_not_hide_the_tags_of_others(void **fixture)
{
	struct fixture *f = *fixture;
	start(f);
	answer_tagged(f, "");
	answer(f, "DescribeLoadBalancers", "");
	answer(f, "DescribeTargetGroups",
		"<TargetGroups>" OTHER("a") OTHER("b") OTHER("c") "</TargetGroups>");
	assert_string_equal(fake_action(), "DescribeTags");
	fake_fail(AWS_NOT_FOUND, false);
	fake_run(f->calls.loop);
	fake_fail(AWS_NOT_FOUND, false);
	fake_run(f->calls.loop);
	assert_true(fake_asks("sl-b"));
	answer(f, "DescribeTags",
		"<TagDescriptions><member><ResourceArn>" ARN
		"targetgroup/sl-b/1</ResourceArn><Tags>"
		"<member><Key>sluice.io/cluster</Key><Value>demo</Value></member>"
		"<member><Key>sluice.io/lb</Key><Value>shop/web</Value></member>"
		"</Tags></member></TagDescriptions>");
	assert_true(fake_asks("sl-c"));
	answer(f, "DescribeTags", "");
	answer(f, "DescribeSecurityGroups", "");
	/* What was found has to be confirmed. */
	answer_tagged(f, "");
	answer(f, "DescribeLoadBalancers", "");
	answer(f, "DescribeTargetGroups", "<TargetGroups>" OTHER("b") "</TargetGroups>");
	answer(f, "DescribeSecurityGroups", "");
	assert_int_equal(f->listed, 1);
	assert_non_null(observed_find_group_name(f->observed, STR("sl-b")));
	assert_string_equal(fake_action(), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_pass_finds_and_confirms),
		TEST(what_is_only_hinted_at_is_no_loss),
		TEST(what_is_made_during_a_pass_is_not_taken_for_gone),
		TEST(many_who_ask_get_one_pass_and_not_at_once_again),
		TEST(a_list_that_fails_is_not_asked_for_more_often_by_those_who_want_it),
		TEST(it_does_not_begin_before_it_is_started),
		TEST(starting_over_forgets_all_and_waits_for_a_whole_pass),
		TEST(one_that_is_gone_does_not_hide_the_tags_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
