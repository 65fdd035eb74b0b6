// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/content_reader.h"

#include "fake_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define ELB  "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
#define LB   ELB "loadbalancer/app/sl-web/50dc"
#define LS   ELB "listener/app/sl-web/50dc/f2f7"
#define RULE ELB "listener-rule/app/sl-web/50dc/f2f7/9683"

struct fixture {
	struct calls calls;
	struct observed *observed;
	struct observed_balancer *balancer;
	struct content_reader *reader;
	size_t ends;
	enum aws_outcome outcome;
};

static void on_done(void *ctx, const struct client_answer *answer)
{
	struct fixture *f = ctx;
	f->ends++;
	f->outcome = answer->outcome;
	content_reader_free(f->reader);
	f->reader = NULL;
}

static struct observed_balancer *add(struct fixture *f)
{
	struct observed_balancer *balancer =
		observed_add_balancer(f->observed, STR(LB), STR("shop/web"));
	observed_set_balancer_name(f->observed, balancer, STR("sl-web"));
	return balancer;
}

static int set_up(void **ret_fixture)
{
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	f->observed = observed_new();
	f->balancer = add(f);
	struct content_reader_config config = {
		.calls = &f->calls.context, .observed = f->observed, .on_done = on_done, .ctx = f};
	f->reader = content_reader_start(&config, STR(LB), RANK_SWEEP);
	fake_run(f->calls.loop);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	content_reader_free(f->reader);
	observed_free(f->observed);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

static void answer(struct fixture *f, const char *action, const char *result)
{
	assert_string_equal(fake_action(), action);
	fake_answer(result);
	fake_run(f->calls.loop);
}

static void answer_listeners(struct fixture *f)
{
	answer(f, "DescribeListeners",
		"<Listeners><member><ListenerArn>" LS "</ListenerArn><Port>443</Port>"
		"<Protocol>HTTPS</Protocol></member></Listeners>");
}

static void answer_rules(struct fixture *f, const char *marker)
{
	char text[1024];
	snprintf(text, sizeof(text),
		"<Rules><member><RuleArn>" RULE
		"%s</RuleArn><Priority>%d</Priority></member></Rules>%s",
		marker, 5 + (int)strlen(marker), marker);
	answer(f, "DescribeRules", text);
}

static void everything_is_read_page_by_page(void **fixture)
{
	struct fixture *f = *fixture;
	answer_listeners(f);
	answer_rules(f, "<NextMarker>m</NextMarker>");
	assert_true(fake_asks("Marker=m"));
	answer_rules(f, "");
	answer(f, "DescribeListenerCertificates", "<Certificates></Certificates>");
	assert_false(f->balancer->has_content);
	answer(f, "DescribeTags",
		"<TagDescriptions><member><ResourceArn>" RULE
		"</ResourceArn><Tags><member><Key>sluice.io/resource</Key><Value>r1</Value></"
		"member>"
		"</Tags></member></TagDescriptions>");
	assert_int_equal(f->ends, 1);
	assert_int_equal(f->outcome, AWS_OK);
	assert_true(f->balancer->has_content);
	assert_int_equal(f->balancer->listeners.count, 1);
	struct elb_listener *listener = &f->balancer->listeners.items[0];
	assert_true(str_eq_c(listener->rules.items[0].identity, "r1"));
}

static void an_empty_one_needs_no_tags(void **fixture)
{
	struct fixture *f = *fixture;
	answer(f, "DescribeListeners", "<Listeners></Listeners>");
	assert_int_equal(f->ends, 1);
	assert_true(f->balancer->has_content);
	assert_string_equal(fake.log, "DescribeListeners ");
}

/* What was read before the drop, and what comes after it, make no content together. */
static void what_is_dropped_while_it_is_read_is_not_known(void **fixture)
{
	struct fixture *f = *fixture;
	answer_listeners(f);
	observed_drop_content(f->balancer);
	answer_rules(f, "");
	assert_int_equal(f->ends, 1);
	assert_int_equal(f->outcome, AWS_OK);
	assert_false(f->balancer->has_content);
}

static void it_may_be_dropped_before_the_last_answer(void **fixture)
{
	struct fixture *f = *fixture;
	answer_listeners(f);
	answer_rules(f, "");
	answer(f, "DescribeListenerCertificates", "<Certificates></Certificates>");
	observed_drop_content(f->balancer);
	answer(f, "DescribeTags", "<TagDescriptions></TagDescriptions>");
	assert_int_equal(f->ends, 1);
	assert_false(f->balancer->has_content);
}

static void one_that_is_forgotten_and_found_again_is_another(void **fixture)
{
	struct fixture *f = *fixture;
	answer_listeners(f);
	observed_forget_balancer(f->observed, f->balancer);
	f->balancer = add(f);
	answer_rules(f, "");
	assert_int_equal(f->ends, 1);
	assert_false(f->balancer->has_content);
}

static void lists_without_an_end_are_given_up(void **fixture)
{
	struct fixture *f = *fixture;
	for (int i = 0; i < 2000 && f->ends == 0; i++)
		answer(f, "DescribeListeners", "<Listeners></Listeners><NextMarker>m</NextMarker>");
	assert_int_equal(f->ends, 1);
	assert_int_equal(f->outcome, AWS_FAILED);
	assert_false(f->balancer->has_content);
}

static void a_refusal_is_handed_over_and_a_throttling_is_not(void **fixture)
{
	struct fixture *f = *fixture;
	fake_fail(AWS_THROTTLED, false);
	assert_int_equal(f->ends, 0);
	fake_wait(f->calls.loop, 60);
	assert_string_equal(fake_action(), "DescribeListeners");
	fake_fail(AWS_DENIED, false);
	assert_int_equal(f->ends, 1);
	assert_int_equal(f->outcome, AWS_DENIED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_is_read_page_by_page),
		TEST(an_empty_one_needs_no_tags),
		TEST(what_is_dropped_while_it_is_read_is_not_known),
		TEST(it_may_be_dropped_before_the_last_answer),
		TEST(one_that_is_forgotten_and_found_again_is_another),
		TEST(lists_without_an_end_are_given_up),
		TEST(a_refusal_is_handed_over_and_a_throttling_is_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
