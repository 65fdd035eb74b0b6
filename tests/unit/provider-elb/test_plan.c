// SPDX-License-Identifier: Apache-2.0
#include "plan_world.h"

static struct observed_balancer *balancer_of(const struct world *world)
{
	return observed_next_balancer(world->input.observed, NULL);
}

static struct observed_group *group_of(const struct world *world, const char *name)
{
	struct observed_group *group =
		observed_find_group_name(world->input.observed, str_from(name));
	assert_non_null(group);
	return group;
}

static struct elb_listener *listener_of(const struct world *world, size_t which)
{
	assert_true(balancer_of(world)->listeners.count > which);
	return &balancer_of(world)->listeners.items[which];
}

/* A world in which these listeners are served. */
static void world_settled(struct world *world, const char *listeners)
{
	world_init(world);
	world_want(world, listeners);
	world_run(world, NULL);
	assert_int_equal(world->plan.step, PLAN_NOTHING);
	assert_true(world->plan.is_settled);
	assert_string_equal(balancer_of(world)->applied, world->balancers[0].digest.p);
}

/* ---- from nothing, and back ---- */

static void from_nothing_to_settled(void **state)
{
	struct world world;
	world_init(&world);
	world_want(&world, "80 d: a.example/x=p a.example/y=q; 443s : a.example/x=p");
	/* The one at 80 waits for the targets of its default, and holds nobody up. */
	world_run(&world,
		"create-group g-d; tag-group g-d; create-group g-p; tag-group g-p; "
		"create-group g-q; tag-group g-q; create-security-group; authorize 80; "
		"authorize 443; create-balancer alb; create-listener 443 404; "
		"create-listener 80 g-d:1; create-rule rule a.example/x g-p:1; "
		"create-rule rule a.example/y g-q:1; create-rule rule a.example/x g-p:1; tag; ");
	assert_true(world.plan.is_settled);
	assert_null(world.plan.waits_for);
	assert_string_equal(balancer_of(&world)->applied, world.balancers[0].digest.p);
	world_fini(&world);
}

static void what_is_as_wanted_costs_nothing(void **state)
{
	struct world world;
	world_settled(&world, "80 d: a.example/x=p");
	world_restart(&world);
	world_run(&world, "");
	assert_true(world.plan.is_settled);
	/* A sweep reads, and finds nothing. */
	world.input.is_sweep = true;
	world_run(&world, "read-security-group; read-listeners; ");
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

static void nothing_leads_to_a_group_without_targets(void **state)
{
	struct world world;
	world_init(&world);
	world.is_starved = true;
	world_want(&world, "80 : a.example/x=p");
	for (int i = 0; i < 12; i++)
		world_step(&world);
	assert_string_equal(world.journal,
		"create-group g-p; tag-group g-p; create-security-group; authorize 80; "
		"create-balancer alb; create-listener 80 404; ");
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_string_equal(world.plan.waits_for, "the endpoints to be registered");
	assert_false(world.plan.is_settled);
	world.is_starved = false;
	world_run(&world, "create-rule rule a.example/x g-p:1; tag; ");
	world_fini(&world);
}

static void removal_in_order(void **state)
{
	struct world world;
	world_settled(&world, "80 d: a.example/x=p");
	world.input.object = NULL;
	world.input.wanted = NULL;
	world.input.may_delete = false;
	world_run(&world, "");
	assert_false(world.plan.is_settled);
	world.input.may_delete = true;
	world.is_stubborn = true;
	for (int i = 0; i < 3; i++)
		world_step(&world);
	assert_string_equal(world.journal, "delete-balancer alb; ");
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_string_equal(world.plan.waits_for, "the load balancer to disappear");
	assert_false(world.plan.needs_help);
	world.is_stubborn = false;
	world_run(&world, "delete-group g-d; delete-group g-p; delete-security-group; forget; ");
	world_fini(&world);
}

static void absent_is_not_forgotten(void **state)
{
	struct world world;
	world_settled(&world, "80 d:");
	world.input.wanted = NULL;
	world_run(&world, "delete-balancer alb; delete-group g-d; delete-security-group; ");
	assert_int_equal(world.plan.step, PLAN_NOTHING);
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

static void what_is_protected_stays(void **state)
{
	struct world world;
	world_settled(&world, "80 d:");
	world.input.wanted = NULL;
	balancer_of(&world)->is_protected = true;
	world_plan(&world);
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_true(world.plan.delay_s == PLAN_PROTECTED_WAIT_S);
	assert_false(world.plan.is_settled);
	world_fini(&world);
}

static void kept_or_without_listeners_nothing_changes(void **state)
{
	struct world world;
	world_settled(&world, "80 d: a.example/x=p");
	world.wanted.count = 0;
	world_run(&world, "");
	assert_true(world.plan.is_settled);
	world_want(&world, "");
	world_run(&world, "");
	assert_true(world.plan.is_settled);
	world_want(&world, "80 d: a.example/y=p");
	world.input.is_kept = true;
	world_run(&world, "");
	assert_true(world.plan.is_settled);
	world_fini(&world);
	/* What could serve nothing is not made. */
	world_init(&world);
	world_want(&world, "");
	world_run(&world, "");
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

/* ---- changes ---- */

static const struct {
	const char *name;
	const char *before;
	const char *after;
	const char *journal; /* between the tags */
} changes[] = {
	{"a path is added", "80 : a.example/x=p", "80 : a.example/w=p a.example/x=p",
		"create-rule rule a.example/w g-p:1; "},
	{"a path goes", "80 : a.example/w=p a.example/x=p", "80 : a.example/x=p",
		"delete-rule rule a.example/w; "},
	{"a path leads to another pool", "80 p: a.example/x=q a.example/y=q",
		"80 p: a.example/x=p a.example/y=q", "modify-rule rule a.example/x g-p:1; "},
	{"another path", "80 : a.example/x=p", "80 : a.example/z=p",
		"create-rule rule a.example/z g-p:1; delete-rule rule a.example/x; "},
	{"two swap", "80 : a.example/x=p a.example/y=p", "80 : a.example/y=p a.example/x=p",
		"set-priorities 80 1; "},
	{"an unknown pool becomes known", "80 p: a.example/x=", "80 p: a.example/x=p",
		"modify-rule rule a.example/x g-p:1; "},
	{"a listener more", "80 p: a.example/x=p", "80 p: a.example/x=p; 81 p: a.example/x=p",
		"authorize 81; changing; create-listener 81 g-p:1; "
		"create-rule rule a.example/x g-p:1; "},
	{"a listener less", "80 p:; 81 p:", "80 p:", "delete-listener 81; revoke 81; "},
	{"another port", "80 p: a.example/x=p", "81 p: a.example/x=p",
		"authorize 81; changing; create-listener 81 g-p:1; "
		"create-rule rule a.example/x g-p:1; delete-listener 80; revoke 80; "},
	{"another default", "80 p: a.example/x=q", "80 q: a.example/x=q",
		"modify-listener 80 g-q:1; delete-group g-p; "},
	{"HTTPS in place", "80 p: a.example/x=p", "80s p: a.example/x=p",
		"modify-listener 80 g-p:1; "},
	{"HTTP in place", "80s p: a.example/x=p", "80 p: a.example/x=p",
		"modify-listener 80 g-p:1; "},
	{"a group goes", "80 p: a.example/x=q",
		"80 p:", "delete-rule rule a.example/x; delete-group g-q; "},
	{"a group comes", "80 p:", "80 p: a.example/x=q",
		"create-group g-q; tag-group g-q; changing; create-rule rule a.example/x g-q:1; "},
};

static void table_of_changes(void **state)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		struct world world;
		char want[1024];
		const char *journal = changes[i].journal, *early = strstr(journal, "changing; ");
		world_settled(&world, changes[i].before);
		world_want(&world, changes[i].after);
		world_run(&world, NULL);
		size_t len = early != NULL ? (size_t)(early - journal) : 0;
		snprintf(want, sizeof(want), "%.*stag changing; %stag; ", (int)len, journal,
			early != NULL ? early + strlen("changing; ") : journal);
		if (strcmp(world.journal, want) != 0)
			fail_msg("%s: %s", changes[i].name, world.journal);
		world_fini(&world);
	}
}

static void changes_that_follow_each_other_share_their_tags(void **state)
{
	struct world world;
	world_settled(&world, "80 p: a.example/x=p");
	world.journal[0] = '\0';
	world_want(&world, "80 p: a.example/x=p a.example/y=p");
	for (int i = 0; i < 3; i++)
		world_step(&world);
	assert_int_equal(world.plan.step, PLAN_LATER);
	assert_true(world.plan.delay_s == world.input.tag_delay_s);
	assert_true(world.plan.is_settled);
	world.input.now -= 5;
	world_want(&world, "80 p: a.example/x=p a.example/z=p");
	while (world_step(&world))
		continue;
	assert_string_equal(world.journal,
		"tag changing; create-rule rule a.example/y g-p:1; "
		"create-rule rule a.example/z g-p:1; delete-rule rule a.example/y; tag; ");
	world_fini(&world);
}

static void certificates(void **state)
{
	static struct str two[] = {STR("cert-2"), STR("cert-3")};
	static struct str one[] = {STR("cert-1"), STR("cert-3")};
	struct world world;
	world_settled(&world, "443s p:");
	struct elb_listener *listener = &world_want(&world, "443s p:  ")->listeners.items[0];
	listener->certificates = (struct str_list){two, 2};
	world_run(&world,
		"tag changing; add-certificate 443 cert-2; add-certificate 443 cert-3; tag; ");
	/* What was the default stays among the others: it is added before it loses its place. */
	listener = &world_want(&world, "443s p:   ")->listeners.items[0];
	listener->default_certificate = STR("cert-2");
	listener->certificates = (struct str_list){one, 2};
	world_run(&world, "tag changing; add-certificate 443 cert-1; modify-listener 443 g-p:1; "
			  "remove-certificate 443 cert-2; tag; ");
	/* While one is being imported, nothing goes. */
	struct wanted_balancer *wanted = world_want(&world, "80 p:");
	wanted->waits_for_certificates = true;
	world_run(&world, "authorize 80; tag changing; create-listener 80 g-p:1; ");
	assert_false(world.plan.is_settled);
	assert_string_equal(world.plan.waits_for, "the certificates to be imported");
	wanted->waits_for_certificates = false;
	world_run(&world, "delete-listener 443; revoke 443; tag; ");
	world_fini(&world);
}

/* ---- groups ---- */

static void settings_of_a_group(void **state)
{
	static struct elb_attribute attributes[] = {{STR("key"), STR("value")}};
	struct world world;
	world_settled(&world, "80 p:");
	struct elb_group *group = &world.balancers[0].groups.items[0];
	group->health_check.interval_s = 20;
	group->attributes.items = attributes;
	group->attributes.count = 1;
	world_run(&world,
		"tag-group g-p changing; modify-group g-p; modify-attributes g-p; tag-group g-p; ");
	world_restart(&world);
	world_run(&world, "");
	/* Between any two of them another life begins: it knows no attributes. */
	group->health_check.interval_s = 30;
	world.journal[0] = '\0';
	for (int i = 0; i < 3; i++)
		world_step(&world);
	world_restart(&world);
	world_run(&world, "modify-attributes g-p; tag-group g-p; ");
	world_fini(&world);
}

static void a_group_is_replaced_by_weights(void **state)
{
	struct world world;
	world_settled(&world, "80 : a.example/x=p a.example/y=p");
	world_want(&world, "80 : a.example/x=p@2 a.example/y=p@2");
	world_run(&world,
		"create-group g-p@2; tag-group g-p@2; tag changing; "
		"modify-rule rule a.example/x g-p:1 g-p@2:0; "
		"modify-rule rule a.example/y g-p:1 g-p@2:0; read-health g-p@2; "
		"modify-rule rule a.example/x g-p@2:1; modify-rule rule a.example/y g-p@2:1; "
		"delete-group g-p; tag; ");
	world_fini(&world);
}

static void a_new_group_that_stays_sick_is_trusted_in_the_end(void **state)
{
	struct world world;
	world_settled(&world, "80 : a.example/x=p");
	world.is_sick = true;
	world_want(&world, "80 : a.example/x=p@2");
	double since = world.input.now;
	world_run(&world, NULL);
	assert_true(world.plan.is_settled);
	assert_true(world.input.now - since >= PLAN_PROOF_MAX_S);
	assert_true(world.input.now - since <= PLAN_PROOF_MAX_S + world.input.tag_delay_s + 10);
	unsigned reads = 0;
	for (const char *at = world.journal; (at = strstr(at, "read-health")) != NULL; at++)
		reads++;
	assert_in_range(reads, 20, 31);
	world_fini(&world);
}

static void nothing_is_proven_where_nothing_serves(void **state)
{
	struct world world;
	world_settled(&world, "80 : a.example/x=p");
	struct elb_target target = group_of(&world, "g-p")->targets.items[0];
	target.ip = STR("10.0.0.1");
	observed_remove_target(group_of(&world, "g-p"), &target);
	world_want(&world, "80 : a.example/x=p@2");
	world_run(&world, "create-group g-p@2; tag-group g-p@2; tag changing; "
			  "modify-rule rule a.example/x g-p@2:1; delete-group g-p; tag; ");
	world_fini(&world);
}

/* ---- drift and others ---- */

static void drift_is_repaired_by_a_sweep(void **state)
{
	struct world world;
	world_settled(&world, "80 : a.example/x=p a.example/y=p");
	struct elb_rule *rule = &listener_of(&world, 0)->rules.items[0];
	rule->action = (struct elb_action){.type = ELB_ACTION_OTHER};
	rule[1].priority = 500;
	content_sort_rules(listener_of(&world, 0));
	world_restart(&world);
	world_run(&world, "");
	world.input.is_sweep = true;
	world_run(&world, "read-security-group; read-listeners; tag changing; set-priorities 80 1; "
			  "modify-rule rule a.example/x g-p:1; tag; ");
	world_fini(&world);
}

static void rules_of_others_are_left_alone(void **state)
{
	struct world world;
	world_settled(&world, "80 : a.example/x=p a.example/z=p");
	struct elb_listener *listener = listener_of(&world, 0);
	uint64_t between =
		(listener->rules.items[0].priority + listener->rules.items[1].priority) / 2;
	*content_push_rule(balancer_of(&world), listener) =
		(struct elb_rule){.arn = STR("arn:foreign"), .priority = between};
	content_sort_rules(listener);
	world_want(&world, "80 : a.example/x=p a.example/y=p a.example/z=p");
	world_run(&world, "tag changing; create-rule rule a.example/y g-p:1; tag; ");
	listener = listener_of(&world, 0);
	assert_int_equal(listener->rules.count, 4);
	world_want(&world, "80 :");
	world_run(&world, NULL);
	assert_int_equal(listener_of(&world, 0)->rules.count, 1);
	assert_string_equal(listener_of(&world, 0)->rules.items[0].arn.p, "arn:foreign");
	world_fini(&world);
}

static void listeners_of_others_are_left_alone(void **state)
{
	struct world world;
	world_settled(&world, "80 p:; 90 p:");
	*content_push_listener(balancer_of(&world)) =
		(struct elb_listener){.arn = STR("arn:foreign"), .port = 70, .protocol = ELB_HTTP};
	content_sort_listeners(balancer_of(&world));
	world_want(&world, "80 p:");
	world_run(&world, "tag changing; delete-listener 90; revoke 90; tag; ");
	/* But a port that is wanted is taken. */
	world_want(&world, "70 p:");
	world_run(&world,
		"authorize 70; tag changing; modify-listener 70 g-p:1; delete-listener 80; "
		"revoke 80; tag; ");
	world_fini(&world);
}

/* An older version may have named it otherwise. */
static void a_rule_is_known_by_its_conditions(void **state)
{
	struct world world;
	world_settled(&world, "80 : a.example/x=p");
	listener_of(&world, 0)->rules.items[0].identity = STR("old");
	world_run(&world, "");
	assert_true(world.plan.is_settled);
	world_fini(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_nothing_to_settled),
		cmocka_unit_test(what_is_as_wanted_costs_nothing),
		cmocka_unit_test(nothing_leads_to_a_group_without_targets),
		cmocka_unit_test(removal_in_order),
		cmocka_unit_test(absent_is_not_forgotten),
		cmocka_unit_test(what_is_protected_stays),
		cmocka_unit_test(kept_or_without_listeners_nothing_changes),
		cmocka_unit_test(table_of_changes),
		cmocka_unit_test(changes_that_follow_each_other_share_their_tags),
		cmocka_unit_test(certificates),
		cmocka_unit_test(settings_of_a_group),
		cmocka_unit_test(a_group_is_replaced_by_weights),
		cmocka_unit_test(a_new_group_that_stays_sick_is_trusted_in_the_end),
		cmocka_unit_test(nothing_is_proven_where_nothing_serves),
		cmocka_unit_test(drift_is_repaired_by_a_sweep),
		cmocka_unit_test(rules_of_others_are_left_alone),
		cmocka_unit_test(listeners_of_others_are_left_alone),
		cmocka_unit_test(a_rule_is_known_by_its_conditions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
