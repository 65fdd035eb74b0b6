// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/params.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

static void a_body_is_a_form(void **state)
{
	struct arena arena;
	struct params params;
	(void)state;
	arena_init(&arena);
	params_begin(&params, AWS_ELB, "CreateRule");
	params_add(&params, STR("arn:aws:x/app*"), "ListenerArn");
	params_add(&params, STR_NONE, "Nothing");
	params_add(&params, STR(""), "Empty");
	params_add(
		&params, STR("a b+c~d&=\xc3\xa4\n"), "Conditions.member.%d.Values.member.%d", 1, 2);
	params_add_number(&params, 50000, "Priority");
	struct str body = params_end(&params, &arena);
	assert_string_equal(body.p,
		"Action=CreateRule&Version=2015-12-01&ListenerArn=arn%3Aaws%3Ax%2Fapp%2A&Empty="
		"&Conditions.member.1.Values.member.2=a%20b%2Bc~d%26%3D%C3%A4%0A&Priority=50000");
	params_begin(&params, AWS_EC2, "DescribeVpcs");
	body = params_end(&params, &arena);
	assert_string_equal(body.p, "Action=DescribeVpcs&Version=2016-11-15");
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(a_body_is_a_form)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
