// SPDX-License-Identifier: Apache-2.0
#include "plan_world.h"

static struct observed_balancer *find(const struct world *world, const char *name)
{
	return observed_find_balancer_name(world->input.observed, str_from(name));
}

static void world_settled(struct world *world, const char *listeners)
{
	world_init(world);
	world_want(world, listeners);
	world_run(world, NULL);
	assert_true(world->plan.is_settled);
}

/* ---- balancers ---- */

/* Another scheme: another balancer with other groups, which serves before the old one goes. */
static void a_balancer_is_replaced(void **state)
{
	struct world world;
	world_settled(&world, "80 : a.example/x=p");
	world_want_balancer(&world, 0, "alb-internal", "80 : a.example/x=p@i");
	world.journal[0] = '\0';
	double since = 0;
	while (world_step(&world)) {
		if (since <= 0 && world.plan.is_settled)
			since = world.input.now - world.plan.delay_s;
		if (world.plan.step == PLAN_DELETE_BALANCER)
			assert_true(world.input.now - since >= world.input.replace_delay_s);
	}
	assert_string_equal(world.journal,
		"create-group g-p@i; tag-group g-p@i; create-balancer alb-internal; "
		"create-listener 80 404; create-rule rule a.example/x g-p@i:1; tag; "
		"delete-balancer alb; delete-group g-p; ");
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

static void nothing_goes_before_the_new_one_is_active(void **state)
{
	struct world world;
	world_settled(&world, "80 :");
	world_want_balancer(&world, 0, "alb-internal", "80 :");
	world.journal[0] = '\0';
	for (int i = 0; i < 3; i++)
		world_step(&world);
	find(&world, "alb-internal")->state = ELB_PROVISIONING;
	world_plan(&world);
	assert_int_equal(world.plan.step, PLAN_NOTHING);
	assert_string_equal(world.plan.waits_for, "the load balancer to become active");
	assert_false(world.plan.is_settled);
	world_fini(&world);
}

static void a_type_that_is_not_wanted_goes(void **state)
{
	struct world world;
	world_init(&world);
	world_want_balancer(&world, 0, "alb", "80 :");
	world_want_balancer(&world, 1, "nlb", "5432t p:");
	world_run(&world,
		"create-security-group; authorize 80; create-balancer alb; create-listener 80 404; "
		"create-group g-p; tag-group g-p; create-security-group; authorize 5432; "
		"create-balancer nlb; create-listener 5432 g-p:1; tag; tag; ");
	world.wanted.count = 1;
	world_run(&world, "delete-balancer nlb; delete-group g-p; delete-security-group; ");
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

static void a_failed_balancer_is_made_anew(void **state)
{
	struct world world;
	world_settled(&world, "80 :");
	find(&world, "alb")->state = ELB_FAILED;
	world_plan(&world);
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_true(world.plan.delay_s == PLAN_FAILED_WAIT_S);
	world.input.failed_since = world.input.now - PLAN_FAILED_WAIT_S;
	world_run(
		&world, "delete-balancer alb; create-balancer alb; create-listener 80 404; tag; ");
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

static void nothing_is_made_without_subnets(void **state)
{
	struct world world;
	world_init(&world);
	world.network.subnets.count = 0;
	world_want(&world, "80 :");
	world_run(&world, "create-security-group; authorize 80; ");
	assert_string_equal(world.plan.waits_for, "subnets for the load balancer");
	world_fini(&world);
}

/* ---- security groups ---- */

static void given_security_groups_take_the_place_of_our_own(void **state)
{
	static struct str given[] = {STR("sg-x"), STR("sg-a"), STR("sg-x")};
	struct world world;
	world_settled(&world, "80 :");
	world.network.security_groups = (struct str_list){given, 3};
	world.network.backend_security_group = STR("sg-b");
	world_run(&world, "set-security-groups; delete-security-group; ");
	struct str_list *ids = &find(&world, "alb")->security_groups;
	assert_int_equal(ids->count, 3);
	assert_true(str_eq_c(ids->items[0], "sg-a"));
	assert_true(str_eq_c(ids->items[1], "sg-b"));
	world.network.security_groups.count = 0;
	/* TAG_APPLIED says nothing of them. */
	world_run(&world, "create-security-group; authorize 80; set-security-groups; ");
	world_fini(&world);
}

static void a_network_balancer_without_security_groups_gets_none(void **state)
{
	struct world world;
	world_init(&world);
	world_want_balancer(&world, 0, "nlb", "5432t p:");
	world_run(&world, NULL);
	find(&world, "nlb")->security_groups.count = 0;
	world.network.backend_security_group = STR("sg-b");
	world_run(&world, "");
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

/* ---- what AWS refuses ---- */

static void what_is_held_stops_nothing_else(void **state)
{
	static struct str held[] = {STR("rule a.example/x")};
	struct world world;
	world_settled(&world, "80 p:");
	world_want(&world, "80 p: a.example/w=p a.example/x=p a.example/y=p");
	world.journal[0] = '\0';
	world_step(&world);
	world_step(&world);
	world_plan(&world);
	assert_true(str_eq(plan_subject(&world.plan), held[0]));
	world.input.held = (struct str_list){held, 1};
	world_step(&world);
	world_plan(&world);
	assert_string_equal(world.journal, "tag changing; create-rule rule a.example/w g-p:1; "
					   "create-rule rule a.example/y g-p:1; ");
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_true(world.plan.is_settled);
	/* The tag says that there is something left to do. */
	world.input.now += 100;
	world_plan(&world);
	assert_int_equal(world.plan.step, PLAN_LATER);
	world.input.held.count = 0;
	world_run(&world, "create-rule rule a.example/x g-p:1; tag; ");
	world_fini(&world);
}

/* What it would replace is all that serves, however long ago it has had a successor. */
static void nothing_goes_while_the_new_one_is_refused(void **state)
{
	static struct str held[] = {STR("alb-internal")};
	struct world world;
	world_settled(&world, "80 :");
	world_want_balancer(&world, 0, "alb-internal", "80 :");
	find(&world, "alb")->replaced_at = 1;
	world.input.held = (struct str_list){held, 1};
	world_plan(&world);
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_false(world.plan.is_settled);
	assert_string_equal(world.plan.waits_for, "AWS to accept the load balancer");
	world_fini(&world);
}

static void nothing_goes_while_something_is_refused_to_the_new_one(void **state)
{
	static struct str held[] = {STR("rule a.example/x")};
	struct world world;
	world_settled(&world, "80 : a.example/x=p");
	world_want_balancer(&world, 0, "alb-internal", "80 : a.example/x=p");
	find(&world, "alb")->replaced_at = 1;
	world.input.held = (struct str_list){held, 1};
	world.journal[0] = '\0';
	for (int i = 0; i < 20; i++)
		world_step(&world);
	assert_string_equal(
		world.journal, "create-balancer alb-internal; create-listener 80 404; ");
	world.input.held.count = 0;
	for (int i = 0; i < 20; i++)
		world_step(&world);
	assert_non_null(strstr(world.journal, "create-rule"));
	assert_non_null(strstr(world.journal, "delete-balancer alb;"));
	world_fini(&world);
}

static void the_last_rules_are_given_up(void **state)
{
	struct world world;
	world_settled(
		&world, "80 p: a.example/x=p a.example/y=p; 81 p: a.example/x=p a.example/y=p");
	world.input.rules_given_up = 2;
	world_want(&world, "80 p: a.example/w=p a.example/x=p a.example/y=p;"
			   "81 p: a.example/w=p a.example/x=p a.example/y=p");
	world_run(&world,
		"tag changing; delete-rule rule a.example/y; create-rule rule a.example/w g-p:1; "
		"delete-rule rule a.example/y; create-rule rule a.example/w g-p:1; ");
	assert_true(world.plan.is_settled);
	assert_string_equal(find(&world, "alb")->applied, TAG_CHANGING);
	world_fini(&world);
}

static void without_room_old_rules_go_first(void **state)
{
	struct world world;
	world_settled(&world, "80 p: a.example/x=p a.example/y=p");
	world.settings.rules_max = 2;
	world_want(&world, "80 p: b.example/x=p b.example/y=p");
	world_run(&world,
		"tag changing; delete-rule rule a.example/y; create-rule rule b.example/x g-p:1; "
		"delete-rule rule a.example/x; create-rule rule b.example/y g-p:1; tag; ");
	world_fini(&world);
}

/* Those that go are in the way only when there is no other room. */
static void old_rules_are_pushed_to_the_end(void **state)
{
	struct world world;
	world_settled(&world, "80 p: /x=p /y=p");
	struct observed_balancer *balancer = find(&world, "alb");
	struct elb_listener *listener = &balancer->listeners.items[0];
	listener->rules.items[0].priority = 45000;
	listener->rules.items[1].priority = 45001;
	for (uint64_t i = 45003; i < 50000; i++) {
		struct elb_rule *rule = content_push_rule(balancer, listener);
		*rule = (struct elb_rule){
			.arn = arena_printf(&world.arena, "arn:foreign%zu", (size_t)i),
			.priority = i};
	}
	world.settings.rules_max = 10000;
	world_want(&world, "80 p: /a=p /b=p /y=p");
	world_run(&world, "tag changing; set-priorities 80 2; create-rule rule /a g-p:1; "
			  "create-rule rule /b g-p:1; delete-rule rule /x; tag; ");
	listener = &balancer->listeners.items[0];
	assert_int_equal(listener->rules.items[0].priority, 45000);
	assert_int_equal(listener->rules.items[2].priority, 45002);
	world_want(&world, "80 p: /a=p /b=p /y=p /z=p");
	world_plan(&world);
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_string_equal(world.plan.waits_for, "free priorities among the rules of others");
	assert_true(world.plan.needs_help);
	world_fini(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_balancer_is_replaced),
		cmocka_unit_test(nothing_goes_before_the_new_one_is_active),
		cmocka_unit_test(a_type_that_is_not_wanted_goes),
		cmocka_unit_test(a_failed_balancer_is_made_anew),
		cmocka_unit_test(nothing_is_made_without_subnets),
		cmocka_unit_test(given_security_groups_take_the_place_of_our_own),
		cmocka_unit_test(a_network_balancer_without_security_groups_gets_none),
		cmocka_unit_test(what_is_held_stops_nothing_else),
		cmocka_unit_test(nothing_goes_while_the_new_one_is_refused),
		cmocka_unit_test(nothing_goes_while_something_is_refused_to_the_new_one),
		cmocka_unit_test(the_last_rules_are_given_up),
		cmocka_unit_test(without_room_old_rules_go_first),
		cmocka_unit_test(old_rules_are_pushed_to_the_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
