// SPDX-License-Identifier: Apache-2.0
#include "plan_world.h"

/* ---- what must hold after each step ---- */

enum { HOSTS = 4, PATHS = 4, POOLS = 4 };

/* Rules of the listener before and after a change, which are to be there all the time, in an order that both agree on. */
struct kept {
	struct str identities[WORLD_PARTS_MAX];
	size_t count;
	bool is_ordered[WORLD_PARTS_MAX]
		       [WORLD_PARTS_MAX]; /* the first comes before the second, before and after */
};

static struct kept kept[2];

static size_t place_of(const struct elb_listener *listener, struct str identity)
{
	for (size_t i = 0; i < listener->rules.count; i++) {
		if (str_eq(listener->rules.items[i].identity, identity))
			return i;
	}
	return SIZE_MAX;
}

static void keep(struct kept *kept_rules, const struct elb_listener *before,
	const struct elb_listener *after)
{
	kept_rules->count = 0;
	for (size_t i = 0; i < after->rules.count; i++) {
		struct str identity = after->rules.items[i].identity;
		if (place_of(before, identity) != SIZE_MAX)
			kept_rules->identities[kept_rules->count++] = identity;
	}
	for (size_t i = 0; i < kept_rules->count; i++) {
		for (size_t j = i + 1; j < kept_rules->count; j++)
			kept_rules->is_ordered[i][j] = place_of(before, kept_rules->identities[i]) <
						       place_of(before, kept_rules->identities[j]);
	}
}

static void check_action(const struct world *world, const struct elb_action *action)
{
	uint64_t weight = 0;
	for (size_t i = 0; i < action->groups.count; i++) {
		const struct observed_group *group = observed_find_group_name(
			world->input.observed, action->groups.items[i].group);
		assert_non_null(group);
		weight += action->groups.items[i].weight;
	}
	assert_true(action->type != ELB_FORWARD || weight > 0);
}

static bool leads_to(const struct elb_action *action, struct str group)
{
	for (size_t i = 0; action != NULL && i < action->groups.count; i++) {
		if (str_eq(action->groups.items[i].group, group))
			return true;
	}
	return false;
}

/* Whatever begins to lead to a group finds targets there. */
static void check_supplied(const struct world *world)
{
	const struct plan *plan = &world->plan;
	const struct elb_action *before = NULL;
	if (plan->rule != NULL)
		before = &plan->rule->action;
	else if (plan->step == PLAN_MODIFY_LISTENER)
		before = &plan->listener->default_action;
	for (size_t i = 0; plan->action != NULL && i < plan->action->groups.count; i++) {
		struct str name = plan->action->groups.items[i].group;
		const struct observed_group *group =
			observed_find_group_name(world->input.observed, name);
		assert_non_null(group);
		assert_true(group->is_supplied || leads_to(before, name));
	}
}

static void check_world(const struct world *world)
{
	const struct observed_balancer *balancer =
		observed_next_balancer(world->input.observed, NULL);
	for (size_t i = 0; balancer != NULL && i < balancer->listeners.count; i++) {
		const struct elb_listener *listener = &balancer->listeners.items[i];
		check_action(world, &listener->default_action);
		for (size_t j = 0; j < listener->rules.count; j++) {
			check_action(world, &listener->rules.items[j].action);
			assert_true(j == 0 || listener->rules.items[j].priority >
						      listener->rules.items[j - 1].priority);
		}
		for (size_t j = 0; j < kept[i].count; j++) {
			size_t place = place_of(listener, kept[i].identities[j]);
			assert_true(place != SIZE_MAX);
			for (size_t k = j + 1; k < kept[i].count; k++)
				assert_true(!kept[i].is_ordered[j][k] ||
					    place < place_of(listener, kept[i].identities[k]));
		}
	}
}

/* ---- the end, whatever the way was ---- */

static void check_end(const struct world *world)
{
	const struct wanted_balancer *wanted = &world->wanted.balancers[0];
	const struct observed_balancer *balancer =
		observed_next_balancer(world->input.observed, NULL);
	struct arena arena;
	struct observed_group **groups;
	arena_init(&arena);
	assert_true(world->plan.is_settled);
	assert_string_equal(balancer->applied, wanted->digest.p);
	assert_int_equal(balancer->listeners.count, wanted->listeners.count);
	for (size_t i = 0; i < wanted->listeners.count; i++) {
		const struct elb_listener *is = &balancer->listeners.items[i];
		const struct elb_listener *should = &wanted->listeners.items[i];
		assert_int_equal(is->rules.count, should->rules.count);
		for (size_t j = 0; j < is->rules.count; j++) {
			const struct elb_rule *rule = &should->rules.items[j];
			assert_true(str_eq(is->rules.items[j].identity, rule->identity));
			assert_true(compare_conditions(&is->rules.items[j], rule) == 0);
			assert_int_equal(
				is->rules.items[j].action.groups.count, rule->action.groups.count);
			if (rule->action.groups.count != 0)
				assert_true(str_eq(is->rules.items[j].action.groups.items[0].group,
					rule->action.groups.items[0].group));
		}
	}
	assert_int_equal(observed_groups_of(world->input.observed, STR(WORLD_LB), &arena, &groups),
		wanted->groups.count);
	arena_fini(&arena);
}

/* ---- what is wanted ---- */

/* Any listeners with any rules in any order; the same rules at all ports. */
static void random_listeners(char *text, size_t size)
{
	static const char *const hosts[HOSTS] = {"a.example", "b.example", "*.example", ""};
	char rules[1024] = "";
	for (int host = 0; host < HOSTS; host++) {
		int order = (int)(random() % PATHS);
		for (int i = 0; i < PATHS; i++) {
			size_t used = strlen(rules);
			int pool = (int)(random() % POOLS);
			if (random() % 3 == 0)
				continue;
			snprintf(rules + used, sizeof(rules) - used, " %s/%c=%s%c%s", hosts[host],
				'a' + (i + order) % PATHS, "", pool == 0 ? ' ' : 'p' + pool,
				random() % 4 == 0 && pool != 0 ? "@2" : "");
		}
	}
	snprintf(text, size, "80 %s:%s; 443%s p:%s", random() % 2 == 0 ? "p" : "q", rules,
		random() % 2 == 0 ? "s" : "", rules);
}

static void change(struct world *world)
{
	struct wanted_balancer before = world->balancers[0];
	char text[4096];
	random_listeners(text, sizeof(text));
	world_want(world, text);
	for (size_t i = 0; i < 2; i++) {
		kept[i].count = 0;
		if (before.listeners.count > i)
			keep(&kept[i], &before.listeners.items[i],
				&world->balancers[0].listeners.items[i]);
	}
}

static void a_hundred_changes(void **state)
{
	struct world world;
	srandom(7);
	world_init(&world);
	world.check_step = check_supplied;
	world.check = check_world;
	for (int i = 0; i < 100; i++) {
		world.steps = 0;
		change(&world);
		world_run(&world, NULL);
		check_end(&world);
	}
	world_fini(&world);
}

/* The next change comes before the last one is done. */
static void changes_before_the_last_one_is_done(void **state)
{
	struct world world;
	srandom(8);
	world_init(&world);
	for (int i = 0; i < 300; i++) {
		world.steps = 0;
		world.check = NULL;
		change(&world);
		for (long steps = random() % 12; steps > 0; steps--)
			world_step(&world);
	}
	world_run(&world, NULL);
	check_end(&world);
	world_fini(&world);
}

static bool is_write(enum plan_step step)
{
	return step != PLAN_NOTHING && step != PLAN_LATER && step != PLAN_READ_LISTENERS &&
	       step != PLAN_READ_SECURITY_GROUP && step != PLAN_READ_GROUP_HEALTH;
}

/* A life that ends after each step leads to the same as one that does not. */
static void a_crash_after_every_step(void **state)
{
	struct world world;
	srandom(9);
	world_init(&world);
	world.check_step = check_supplied;
	world.check = check_world;
	for (int i = 0; i < 40; i++) {
		world.steps = 0;
		change(&world);
		while (world_step(&world)) {
			/* Reads do not count: a life that ends after each would never get on. */
			if (is_write(world.plan.step))
				world_restart(&world);
		}
		check_end(&world);
	}
	world_fini(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hundred_changes),
		cmocka_unit_test(changes_before_the_last_one_is_done),
		cmocka_unit_test(a_crash_after_every_step),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
