// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/observed.h"

#include "provider-elb/content.h"
#include "provider-elb/observed_texts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

struct fixture {
	struct observed *observed;
	struct arena arena;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	f->observed = observed_new();
	arena_init(&f->arena);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	observed_free(f->observed);
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

static struct observed_balancer *add_balancer(
	struct fixture *f, const char *arn, const char *lb, const char *name)
{
	struct observed_balancer *balancer =
		observed_add_balancer(f->observed, str_from(arn), str_from(lb));
	observed_set_balancer_name(f->observed, balancer, str_from(name));
	return balancer;
}

static struct observed_group *add_group(
	struct fixture *f, const char *arn, const char *lb, const char *name)
{
	struct observed_group *group = observed_add_group(f->observed, str_from(arn), str_from(lb));
	observed_set_group_name(f->observed, group, str_from(name));
	return group;
}

static void finds_by_arn_name_and_object(void **fixture)
{
	struct fixture *f = *fixture;
	struct observed_balancer **balancers;
	struct observed_group **groups;
	struct observed_balancer *b = add_balancer(f, "arn:2", "shop/web", "sl-b");
	struct observed_balancer *a = add_balancer(f, "arn:3", "shop/web", "sl-a");
	add_balancer(f, "arn:1", "shop/api", "sl-c");
	assert_ptr_equal(observed_add_balancer(f->observed, STR("arn:2"), STR("other")), b);
	assert_ptr_equal(observed_find_balancer(f->observed, STR("arn:3")), a);
	assert_ptr_equal(observed_find_balancer_name(f->observed, STR("sl-a")), a);
	assert_null(observed_find_balancer(f->observed, STR("arn:4")));
	assert_null(observed_find_balancer(f->observed, STR_NONE));
	assert_null(observed_find_balancer_name(f->observed, STR("sl-")));
	assert_int_equal(
		observed_balancers_of(f->observed, STR("shop/web"), &f->arena, &balancers), 2);
	assert_ptr_equal(balancers[0], a);
	assert_ptr_equal(balancers[1], b);
	assert_int_equal(observed_balancers_of(f->observed, STR("shop"), &f->arena, &balancers), 0);
	struct observed_group *group = add_group(f, "arn:g", "shop/web", "sl-g");
	assert_ptr_equal(observed_find_group(f->observed, STR("arn:g")), group);
	assert_ptr_equal(observed_find_group_name(f->observed, STR("sl-g")), group);
	assert_int_equal(observed_groups_of(f->observed, STR("shop/web"), &f->arena, &groups), 1);
	observed_forget_balancer(f->observed, b);
	assert_null(observed_find_balancer_name(f->observed, STR("sl-b")));
	assert_int_equal(
		observed_balancers_of(f->observed, STR("shop/web"), &f->arena, &balancers), 1);
	assert_int_equal(observed_balancer_count(f->observed), 2);
}

static void a_hint_is_found_by_its_arn_only(void **fixture)
{
	struct fixture *f = *fixture;
	struct observed_balancer **balancers;
	struct observed_security_group **groups;
	struct str *lbs;
	struct observed_balancer *hint =
		observed_add_balancer(f->observed, STR("arn:1"), STR("shop/web"));
	struct observed_security_group *group =
		observed_add_security_group(f->observed, STR("sg-1"), STR("shop/web"));
	assert_ptr_equal(observed_find_balancer(f->observed, STR("arn:1")), hint);
	assert_ptr_equal(observed_next_balancer(f->observed, NULL), hint);
	assert_null(observed_next_balancer(f->observed, hint));
	assert_null(observed_find_balancer_name(f->observed, STR("")));
	assert_int_equal(
		observed_balancers_of(f->observed, STR("shop/web"), &f->arena, &balancers), 0);
	assert_int_equal(
		observed_security_groups_of(f->observed, STR("shop/web"), &f->arena, &groups), 0);
	assert_int_equal(observed_load_balancers(f->observed, &f->arena, &lbs), 0);
	observed_set_security_group_name(f->observed, group, STR("sl-web"));
	assert_int_equal(
		observed_security_groups_of(f->observed, STR("shop/web"), &f->arena, &groups), 1);
	assert_ptr_equal(groups[0], group);
	assert_int_equal(observed_load_balancers(f->observed, &f->arena, &lbs), 1);
}

static void lists_load_balancer_objects_once(void **fixture)
{
	struct fixture *f = *fixture;
	struct str *lbs;
	add_balancer(f, "arn:1", "shop/web", "sl-1");
	add_balancer(f, "arn:2", "shop/web", "sl-2");
	add_balancer(f, "arn:3", "a/a", "sl-3");
	add_group(f, "arn:g", "shop/web", "sl-g");
	add_group(f, "arn:h", "z/z", "sl-h");
	observed_set_security_group_name(f->observed,
		observed_add_security_group(f->observed, STR("sg-1"), STR("b/b")), STR("sl-s"));
	assert_int_equal(observed_load_balancers(f->observed, &f->arena, &lbs), 4);
	static const char *const want[] = {"a/a", "b/b", "shop/web", "z/z"};
	for (size_t i = 0; i < 4; i++)
		assert_true(str_eq_c(lbs[i], want[i]));
}

/* One was deleted and made anew, and a list that lags has both. */
static void of_two_with_one_name_the_newer_counts(void **fixture)
{
	struct fixture *f = *fixture;
	struct observed_group *old = add_group(f, "arn:2", "shop/web", "sl-g");
	struct observed_group *new = add_group(f, "arn:1", "shop/web", "sl-g");
	observed_see(f->observed, 4, &old->seen_in);
	observed_see(f->observed, 5, &new->seen_in);
	assert_ptr_equal(observed_find_group_name(f->observed, STR("sl-g")), new);
	observed_see(f->observed, 6, &old->seen_in);
	observed_see(f->observed, 3, &old->seen_in);
	assert_int_equal(old->seen_in, 6);
	assert_ptr_equal(observed_find_group_name(f->observed, STR("sl-g")), old);
	observed_see_new(f->observed, &new->seen_in);
	assert_int_equal(new->seen_in, 7);
	observed_forget_group(f->observed, new);
	assert_ptr_equal(observed_find_group_name(f->observed, STR("sl-g")), old);
}

static void assert_targets(const struct observed_group *group, const char *want)
{
	char got[256] = "";
	for (size_t i = 0; i < group->targets.count; i++) {
		const struct elb_target *target = &group->targets.items[i];
		size_t len = strlen(got);
		snprintf(got + len, sizeof(got) - len, "%.*s:%d%s ", STR_FMT(target->ip),
			(int)target->port, target->is_elsewhere ? "!" : "");
	}
	assert_string_equal(got, want);
}

static void keeps_targets_in_order(void **fixture)
{
	struct fixture *f = *fixture;
	struct observed_group *group = add_group(f, "arn:g", "shop/web", "sl-g");
	static const struct elb_target targets[] = {{STR("10.0.0.3"), 80, false},
		{STR("10.0.0.1"), 81, false}, {STR("10.0.0.1"), 80, false},
		{STR("10.0.0.2"), 80, false}, {STR("10.0.0.0"), 80, false},
		{STR("10.0.0.3"), 80, true}};
	for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
		observed_add_target(group, &targets[i]);
	assert_targets(group, "10.0.0.0:80 10.0.0.1:80 10.0.0.1:81 10.0.0.2:80 10.0.0.3:80! ");
	observed_remove_target(group, &targets[2]);
	observed_remove_target(group, &targets[2]);
	observed_remove_target(group, &targets[0]);
	assert_targets(group, "10.0.0.0:80 10.0.0.1:81 10.0.0.2:80 ");
	observed_add_target(group, &targets[2]);
	observed_set_targets(group, &group->targets);
	assert_targets(group, "10.0.0.0:80 10.0.0.1:80 10.0.0.1:81 10.0.0.2:80 ");
	observed_set_targets(group, &(struct elb_target_list){0});
	assert_targets(group, "");
	observed_add_target(group, &targets[0]);
	assert_targets(group, "10.0.0.3:80 ");
}

static struct elb_rule *add_rule(struct fixture *f, struct observed_balancer *balancer,
	struct elb_listener *listener, size_t number)
{
	struct elb_rule *rule = content_push_rule(balancer, listener);
	rule->arn = arena_printf(&balancer->content, "arn:rule:%zu", number);
	rule->identity = arena_printf(&balancer->content, "shop/web/rule/%zu", number);
	rule->priority = 5000 - number;
	struct str host = arena_printf(&f->arena, "host-%zu.example", number);
	struct elb_condition condition = {.field = ELB_FIELD_HOST, .values = {&host, 1}};
	struct elb_rule like = {.conditions = {&condition, 1}};
	content_copy_conditions(&balancer->content, rule, &like);
	struct elb_forward forward = {.group = STR("sl-g"), .weight = 1};
	struct elb_action action = {.type = ELB_FORWARD, .groups = {&forward, 1}};
	content_copy_action(&balancer->content, &rule->action, &action);
	return rule;
}

/* A content that is changed for years does not grow. */
static void builds_the_content_anew(void **fixture)
{
	struct fixture *f = *fixture;
	struct observed_balancer *balancer = add_balancer(f, "arn:1", "shop/web", "sl-1");
	struct elb_listener *listener = content_push_listener(balancer);
	listener->arn = content_copy_text(&balancer->content, STR("arn:listener"));
	listener->port = 443;
	content_add_certificate(balancer, listener, STR("arn:b"));
	content_add_certificate(balancer, listener, STR("arn:a"));
	content_add_certificate(balancer, listener, STR("arn:b"));
	for (size_t i = 0; i < 300; i++)
		add_rule(f, balancer, listener, i);
	content_sort_rules(listener);
	size_t rebuilt = 0;
	for (size_t i = 0; i < 1000; i++) {
		size_t hint = 0;
		listener = &balancer->listeners.items[0];
		struct elb_rule *rule = content_find_rule(listener, STR("arn:rule:7"), &hint);
		assert_non_null(rule);
		rule->identity = arena_printf(&balancer->content, "%4000zu", i);
		content_written(balancer);
		rebuilt += balancer->content_writes == 0;
	}
	assert_int_equal(rebuilt, 3);
	listener = &balancer->listeners.items[0];
	assert_int_equal(listener->rules.count, 300);
	assert_int_equal(listener->certificates.count, 2);
	assert_true(str_eq_c(listener->certificates.items[0], "arn:a"));
	const struct elb_rule *last = &listener->rules.items[299];
	assert_int_equal(last->priority, 5000);
	assert_true(str_eq_c(last->identity, "shop/web/rule/0"));
	assert_true(str_eq_c(last->conditions.items[0].values.items[0], "host-0.example"));
	assert_true(str_eq_c(last->action.groups.items[0].group, "sl-g"));
	assert_int_equal(content_groups(balancer, &f->arena).count, 300);
	observed_drop_content(balancer);
	assert_int_equal(balancer->listeners.count, 0);
}

static void a_rule_that_is_read_twice_counts_once(void **fixture)
{
	struct fixture *f = *fixture;
	struct observed_balancer *balancer = add_balancer(f, "arn:1", "shop/web", "sl-1");
	struct elb_listener *listener = content_push_listener(balancer);
	for (size_t i = 0; i < 3; i++)
		add_rule(f, balancer, listener, i);
	content_sort_rules(listener);
	/* It has moved between two pages. */
	add_rule(f, balancer, listener, 1)->priority = 9;
	content_sort_rules(listener);
	assert_int_equal(listener->rules.count, 3);
	assert_int_equal(listener->rules.items[0].priority, 9);
	assert_true(str_eq_c(listener->rules.items[0].arn, "arn:rule:1"));
	listener->port = 80;
	content_push_listener(balancer)->port = 443;
	content_push_listener(balancer)->port = 80;
	content_push_listener(balancer)->port = 8080;
	content_sort_listeners(balancer);
	assert_int_equal(balancer->listeners.count, 3);
	assert_int_equal(balancer->listeners.items[0].port, 80);
	assert_int_equal(balancer->listeners.items[0].rules.count, 0);
	assert_int_equal(balancer->listeners.items[2].port, 8080);
}

static void accepts_no_more_than_its_limits(void **fixture)
{
	struct fixture *f = *fixture;
	struct observed_balancer *balancer = add_balancer(f, "arn:1", "shop/web", "sl-1");
	for (size_t i = 0; i < CONTENT_LISTENERS_MAX; i++)
		assert_non_null(content_push_listener(balancer));
	assert_null(content_push_listener(balancer));
	struct elb_listener *listener = &balancer->listeners.items[0];
	for (size_t i = 0; i < CONTENT_RULES_MAX; i++)
		assert_non_null(content_push_rule(balancer, listener));
	assert_null(content_push_rule(balancer, listener));
	for (size_t i = 0; i < CONTENT_CERTIFICATES_MAX + 1; i++)
		content_add_certificate(
			balancer, listener, arena_printf(&f->arena, "arn:%04zu", i));
	assert_int_equal(listener->certificates.count, CONTENT_CERTIFICATES_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(finds_by_arn_name_and_object),
		TEST(a_hint_is_found_by_its_arn_only),
		TEST(lists_load_balancer_objects_once),
		TEST(of_two_with_one_name_the_newer_counts),
		TEST(keeps_targets_in_order),
		TEST(builds_the_content_anew),
		TEST(a_rule_that_is_read_twice_counts_once),
		TEST(accepts_no_more_than_its_limits),
	};
	return cmocka_run_group_tests_name("elb-observed", tests, NULL, NULL);
}
