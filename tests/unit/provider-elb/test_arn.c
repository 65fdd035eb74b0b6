// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/arn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define ELB "arn:aws:elasticloadbalancing:us-east-1:123456789012:"

static const struct {
	const char *arn;
	enum arn_kind kind;
	const char *balancer;
	const char *listener;
} CASES[] = {
	{ELB "loadbalancer/app/web/50dc", ARN_BALANCER, NULL, NULL},
	{ELB "targetgroup/web/73e2", ARN_GROUP, NULL, NULL},
	{ELB "listener/app/web/50dc/f2f7", ARN_LISTENER, ELB "loadbalancer/app/web/50dc", NULL},
	{ELB "listener/net/web/50dc/f2f7", ARN_LISTENER, ELB "loadbalancer/net/web/50dc", NULL},
	{ELB "listener-rule/app/web/50dc/f2f7/9683", ARN_RULE, ELB "loadbalancer/app/web/50dc",
		ELB "listener/app/web/50dc/f2f7"},
	{"arn:aws-cn:elasticloadbalancing:cn-north-1:1:listener/app/a/b/c", ARN_LISTENER,
		"arn:aws-cn:elasticloadbalancing:cn-north-1:1:loadbalancer/app/a/b", NULL},
	{"arn:aws:ec2:us-east-1:1:security-group/sg-5c2b", ARN_SECURITY_GROUP, NULL, NULL},
	{"arn:aws:acm:us-east-1:1:certificate/a3e6", ARN_CERTIFICATE, NULL, NULL},
	{"arn:aws:iam::1:server-certificate/a", ARN_OTHER, NULL, NULL},
	{"arn:aws:elasticloadbalancing", ARN_OTHER, NULL, NULL},
	{ELB "listener/", ARN_LISTENER, ELB "loadbalancer/", NULL},
	{ELB, ARN_OTHER, NULL, NULL},
	{"xarn:aws:acm:us-east-1:1:certificate/a3e6", ARN_OTHER, NULL, NULL},
	{"", ARN_OTHER, NULL, NULL},
};

static void tells_what_it_names(void **state)
{
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		struct str arn = str_from(CASES[i].arn);
		struct str balancer = arn_of_balancer(arn, &arena);
		struct str listener = arn_of_listener(arn, &arena);
		if (arn_kind(arn) != CASES[i].kind)
			fail_msg("%s: kind %d", CASES[i].arn, arn_kind(arn));
		if (!str_eq_c(balancer, CASES[i].balancer) ||
			!str_eq_c(listener, CASES[i].listener))
			fail_msg("%s: \"%.*s\", \"%.*s\"", CASES[i].arn, STR_FMT(balancer),
				STR_FMT(listener));
	}
	assert_int_equal(arn_kind(STR_NONE), ARN_OTHER);
	assert_true(str_eq_c(
		arn_security_group_id(STR("arn:aws:ec2:us-east-1:1:security-group/sg-5c2b")),
		"sg-5c2b"));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(tells_what_it_names)};
	return cmocka_run_group_tests_name("elb-arn", tests, NULL, NULL);
}
