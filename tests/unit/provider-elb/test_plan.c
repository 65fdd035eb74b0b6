// SPDX-License-Identifier: Apache-2.0
#include "plan_world.h"

static struct observed_balancer *balancer_of(struct world *world)
{
	return observed_next_balancer(world->input.observed, NULL);
}

/* ---- from nothing, and back ---- */

static void from_nothing_to_settled(void **state)
{
	struct world world;
	world_init(&world);
	world_want(&world, "80 d: a.example/x=p a.example/y=q; 443s : a.example/x=p");
	world_run(&world,
		"create-group g-d; tag-group g-d; create-group g-p; tag-group g-p; "
		"create-group g-q; tag-group g-q; create-security-group; authorize 80; "
		"authorize 443; create-balancer alb; create-listener 443 404; "
		"create-rule rule a.example/x g-p:1; create-listener 80 g-d:1; "
		"create-rule rule a.example/x g-p:1; create-rule rule a.example/y g-q:1; tag; ");
	assert_true(world.plan.is_settled);
	assert_null(world.plan.waits_for);
	assert_string_equal(balancer_of(&world)->applied, world.balancers[0].digest.p);
	world_fini(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(from_nothing_to_settled),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
