// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/compare.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define TEXTS(...)                                                               \
	{                                                                        \
		(struct str[]){__VA_ARGS__},                                     \
			sizeof((struct str[]){__VA_ARGS__}) / sizeof(struct str) \
	}
#define HOST(...)                                         \
	{                                                 \
		ELB_FIELD_HOST, false, TEXTS(__VA_ARGS__) \
	}
#define PATH(...)                                         \
	{                                                 \
		ELB_FIELD_PATH, false, TEXTS(__VA_ARGS__) \
	}
#define REGEX(...)                                       \
	{                                                \
		ELB_FIELD_PATH, true, TEXTS(__VA_ARGS__) \
	}
#define RULE(...)                                                       \
	{                                                               \
		.conditions = {                                         \
			(struct elb_condition[]){__VA_ARGS__},          \
			sizeof((struct elb_condition[]){__VA_ARGS__}) / \
				sizeof(struct elb_condition)            \
		}                                                       \
	}

static void conditions(void **state)
{
	const struct {
		const char *name;
		struct elb_rule a, b;
		bool is_equal;
	} cases[] = {
		{"the same", RULE(HOST(STR("a"))), RULE(HOST(STR("a"))), true},
		{"another host", RULE(HOST(STR("a"))), RULE(HOST(STR("b"))), false},
		{"another field", RULE(HOST(STR("a"))), RULE(PATH(STR("a"))), false},
		{"a pattern is no regular expression", RULE(PATH(STR("a"))), RULE(REGEX(STR("a"))),
			false},
		{"one more", RULE(HOST(STR("a"))), RULE(HOST(STR("a")), PATH(STR("b"))), false},
		{"order of conditions", RULE(HOST(STR("a")), PATH(STR("b"))),
			RULE(PATH(STR("b")), HOST(STR("a"))), true},
		{"order of values", RULE(PATH(STR("a"), STR("b"))), RULE(PATH(STR("b"), STR("a"))),
			true},
		{"one value more", RULE(PATH(STR("a"))), RULE(PATH(STR("a"), STR("b"))), false},
		{"other values", RULE(PATH(STR("a"), STR("b"))), RULE(PATH(STR("c"), STR("a"))),
			false},
		{"the same value twice", RULE(PATH(STR("a"), STR("a"))),
			RULE(PATH(STR("a"), STR("b"))), false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int order = compare_conditions(&cases[i].a, &cases[i].b);
		int back = compare_conditions(&cases[i].b, &cases[i].a);
		if ((order == 0) != cases[i].is_equal || (order < 0) != (back > 0))
			fail_msg("%s: %d, %d", cases[i].name, order, back);
	}
}

static void actions(void **state)
{
	struct elb_forward light[] = {{STR("g"), 1}, {STR("h"), 0}};
	struct elb_forward heavy[] = {{STR("g"), 100}, {STR("h"), 0}};
	struct elb_action a = {.type = ELB_FORWARD, .groups = {light, 1}};
	struct elb_action b = {.type = ELB_FORWARD, .groups = {heavy, 1}};
	assert_true(compare_action(&a, &b));
	a.groups.count = 2;
	assert_false(compare_action(&a, &b));
	b.groups.count = 2;
	assert_false(compare_action(&a, &b));
	heavy[0].weight = 1;
	assert_true(compare_action(&a, &b));
	a = (struct elb_action){.type = ELB_FIXED_RESPONSE, .status = 404};
	assert_false(compare_action(&a, &b));
	b = a;
	assert_true(compare_action(&a, &b));
	b.status = 503;
	assert_false(compare_action(&a, &b));
	a = (struct elb_action){.type = ELB_REDIRECT_HTTPS, .port = 443};
	b = (struct elb_action){.type = ELB_REDIRECT_HTTPS, .port = 8443};
	assert_false(compare_action(&a, &b));
	a = b = (struct elb_action){.type = ELB_ACTION_OTHER};
	assert_false(compare_action(&a, &b));
}

/* What AWS has beyond what we set does not count. */
static void attributes(void **state)
{
	struct elb_attribute two[] = {{STR("a"), STR("1")}, {STR("b"), STR("2")}};
	struct elb_attribute three[] = {
		{STR("a"), STR("1")}, {STR("aa"), STR("x")}, {STR("b"), STR("2")}};
	struct elb_group wanted = {.attributes = {two, 2}};
	struct elb_group known = {.attributes = {three, 3}};
	assert_true(compare_attributes(&wanted, &known));
	assert_false(compare_attributes(&known, &wanted));
	three[2].value = STR("3");
	assert_false(compare_attributes(&wanted, &known));
	known.attributes.count = 0;
	assert_false(compare_attributes(&wanted, &known));
}

static void listeners(void **state)
{
	struct elb_listener a = {.protocol = ELB_HTTP, .ssl_policy = STR("p")};
	struct elb_listener b = {.protocol = ELB_HTTP};
	assert_true(compare_listener_settings(&a, &b));
	a.protocol = ELB_HTTPS;
	assert_false(compare_listener_settings(&a, &b));
	b.protocol = ELB_HTTPS;
	assert_false(compare_listener_settings(&a, &b));
	b.ssl_policy = STR("p");
	assert_true(compare_listener_settings(&a, &b));
	b.default_certificate = STR("c");
	assert_false(compare_listener_settings(&a, &b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions),
		cmocka_unit_test(actions),
		cmocka_unit_test(attributes),
		cmocka_unit_test(listeners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
