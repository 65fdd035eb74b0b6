// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct fixture {
	struct lb_facets wanted;
	struct plan_input in;
	struct lb_row row;
};

/* A load balancer that is active and as wanted. */
static struct fixture settled(void)
{
	struct fixture f = {
		.wanted = {.config = 1, .ports = 2, .labels = 3, .description = 4, .contents = 5}};
	f.row.facets = f.wanted;
	f.row.facets.scale = 1;
	f.row.state = SERVER_STATE_ACTIVE;
	f.in = (struct plan_input){.now = 1000};
	return f;
}

static struct plan next(struct fixture *f)
{
	f->in.wanted = &f->wanted;
	f->in.row = &f->row;
	return plan_next(&f->in);
}

static void what_is_as_wanted_costs_nothing(void **state)
{
	struct fixture f = settled();
	(void)state;
	struct plan plan = next(&f);
	assert_int_equal(plan.step, PLAN_NOTHING);
	assert_true(plan.is_settled);
	/* A scale that somebody chose in Rancher is left alone. */
	f.row.facets.scale = 3;
	assert_int_equal(next(&f).step, PLAN_NOTHING);
}

/* Defects 1, 16 and 17: scale, ports and labels are changed in place. */
static void defects_1_16_17_parts_are_changed_in_place(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.wanted.scale = 2;
	struct plan plan = next(&f);
	assert_int_equal(plan.step, PLAN_UPDATE);
	assert_int_equal(plan.parts, PART_SCALE);
	f.wanted.config = 11;
	assert_int_equal(next(&f).parts, PART_SCALE | PART_CONFIG);
	/* A launch configuration is written only when it was read just before. */
	f.wanted.ports = 12;
	assert_int_equal(next(&f).step, PLAN_READ);
	f.in.is_fresh = true;
	plan = next(&f);
	assert_int_equal(plan.step, PLAN_UPDATE);
	assert_int_equal(plan.parts, PART_SCALE | PART_CONFIG | PART_PORTS);
	f = settled();
	f.wanted.labels = 13;
	assert_int_equal(next(&f).step, PLAN_READ);
	/* Metadata only when it holds something of others. */
	f = settled();
	f.wanted.contents = 14;
	assert_int_equal(next(&f).step, PLAN_UPDATE);
	f.row.has_foreign_metadata = true;
	assert_int_equal(next(&f).step, PLAN_READ);
}

static void a_withdrawn_scale_goes_back_to_one(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.row.facets.scale = 3;
	f.row.has_scale_mark = true;
	struct plan plan = next(&f);
	assert_int_equal(plan.step, PLAN_UPDATE);
	assert_int_equal(plan.parts, PART_SCALE);
}

/* Defect 21: created and activated before Services and certificates were found. */
static void defect_21_nothing_is_created_before_all_is_known(void **state)
{
	struct lb_facets wanted = {.config = 1};
	struct plan_input in = {.wanted = &wanted,
		.now = 100,
		.waiting_since = 100,
		.missing = PLAN_NEED_STACK | PLAN_NEED_IMAGE | PLAN_NEED_CERTIFICATES |
			   PLAN_NEED_SERVICES};
	(void)state;
	struct plan plan = plan_next(&in);
	assert_int_equal(plan.step, PLAN_NOTHING);
	assert_int_equal(plan.needs, PLAN_NEED_STACK | PLAN_NEED_SERVICES);
	in.missing &= ~(unsigned)PLAN_NEED_STACK;
	assert_int_equal(plan_next(&in).needs, PLAN_NEED_IMAGE | PLAN_NEED_SERVICES);
	in.missing &= ~(unsigned)PLAN_NEED_IMAGE;
	assert_int_equal(plan_next(&in).step, PLAN_NOTHING);
	in.missing = PLAN_NEED_SERVICES;
	plan = plan_next(&in);
	assert_int_equal(plan.step, PLAN_LATER);
	assert_true(plan.delay_s > 0 && plan.delay_s <= PLAN_SERVICES_WAIT_S);
	/* But a Service that never comes does not hold up the others for ever. */
	in.now += PLAN_SERVICES_WAIT_S;
	assert_int_equal(plan_next(&in).step, PLAN_CREATE);
	in.missing = 0;
	in.now = 100;
	assert_int_equal(plan_next(&in).step, PLAN_CREATE);
}

/* Defect 22: the action `deactivate` was taken for "active". */
static void defect_22_only_the_state_counts(void **state)
{
	static const struct {
		enum server_state state;
		enum plan_step with_change;
		enum plan_step without;
	} rows[] = {
		{SERVER_STATE_REQUESTED, PLAN_NOTHING, PLAN_NOTHING},
		{SERVER_STATE_REGISTERING, PLAN_NOTHING, PLAN_NOTHING},
		{SERVER_STATE_INACTIVE, PLAN_UPDATE, PLAN_ACTIVATE},
		{SERVER_STATE_ACTIVATING, PLAN_UPDATE, PLAN_NOTHING},
		{SERVER_STATE_ACTIVE, PLAN_UPDATE, PLAN_NOTHING},
		{SERVER_STATE_UPDATING_ACTIVE, PLAN_UPDATE, PLAN_NOTHING},
		{SERVER_STATE_UPDATING_INACTIVE, PLAN_UPDATE, PLAN_NOTHING},
		{SERVER_STATE_DEACTIVATING, PLAN_NOTHING, PLAN_NOTHING},
		{SERVER_STATE_RESTARTING, PLAN_NOTHING, PLAN_NOTHING},
		{SERVER_STATE_UPGRADING, PLAN_NOTHING, PLAN_NOTHING},
		{SERVER_STATE_UPGRADED, PLAN_UPDATE, PLAN_NOTHING},
		{SERVER_STATE_REMOVING, PLAN_NOTHING, PLAN_NOTHING},
		{SERVER_STATE_UNKNOWN, PLAN_NOTHING, PLAN_NOTHING},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fixture f = settled();
		f.row.state = (uint8_t)rows[i].state;
		assert_int_equal(next(&f).step, rows[i].without);
		f.wanted.config = 99;
		assert_int_equal(next(&f).step, rows[i].with_change);
	}
}

static void changes_are_held_while_an_update_runs(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.wanted.config = 99;
	f.row.state = SERVER_STATE_UPDATING_ACTIVE;
	f.row.transitioning = TRANSITIONING_YES;
	f.row.since = f.in.now - 1;
	struct plan plan = next(&f);
	assert_int_equal(plan.step, PLAN_LATER);
	assert_true(plan.delay_s > 0);
	f.in.now += PLAN_HOLD_S;
	assert_int_equal(next(&f).step, PLAN_UPDATE);
	/* One that is stuck waits for nothing but a change. */
	f.row.since = f.in.now;
	f.row.transitioning = TRANSITIONING_ERROR;
	assert_int_equal(next(&f).step, PLAN_UPDATE);
}

static void an_update_that_may_have_been_lost_is_repeated_once_it_can_run(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.in.is_repeat = true;
	f.row.state = SERVER_STATE_UPDATING_ACTIVE;
	assert_int_equal(next(&f).step, PLAN_NOTHING);
	f.row.state = SERVER_STATE_ACTIVE;
	struct plan plan = next(&f);
	assert_int_equal(plan.step, PLAN_UPDATE);
	assert_int_equal(plan.parts, PART_CONFIG);
	/* What is to be written anyway has both carried out, but for the description, which schedules nothing. */
	f.wanted.scale = 2;
	assert_int_equal(next(&f).parts, PART_SCALE);
	f.wanted.scale = 0;
	f.wanted.description = 14;
	assert_int_equal(next(&f).parts, PART_CONFIG | PART_DESCRIPTION);
	f.wanted.description = 4;
}

static void what_others_change_is_looked_at_again_before_it_is_changed_back(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.row.facets.config = 77;
	f.in.is_drift = true;
	f.in.drift_since = f.in.now;
	assert_int_equal(next(&f).step, PLAN_LATER);
	f.in.now += PLAN_DRIFT_WAIT_S;
	assert_int_equal(next(&f).step, PLAN_READ);
	f.in.drift_is_read = true;
	assert_int_equal(next(&f).step, PLAN_UPDATE);
}

static void only_global_scheduling_needs_a_new_one(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.wanted.is_global = true;
	struct plan plan = next(&f);
	assert_int_equal(plan.step, PLAN_REMOVE);
	assert_true(plan.is_recreate);
	/* Not before the new one can be made. */
	f.in.missing = PLAN_NEED_IMAGE;
	plan = next(&f);
	assert_int_equal(plan.step, PLAN_NOTHING);
	assert_int_equal(plan.needs, PLAN_NEED_IMAGE);
	f.in.missing = 0;
	f.row.state = SERVER_STATE_REMOVING;
	assert_int_equal(next(&f).step, PLAN_NOTHING);
}

static void what_is_not_wanted_goes(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.in.wanted = NULL;
	f.in.row = &f.row;
	assert_int_equal(plan_next(&f.in).step, PLAN_REMOVE);
	f.row.state = SERVER_STATE_REMOVING;
	assert_int_equal(plan_next(&f.in).step, PLAN_NOTHING);
	f.in.row = NULL;
	assert_int_equal(plan_next(&f.in).step, PLAN_FORGET);
}

/* The server accepts its removal then, and goes on with its creation. */
static void what_is_being_created_goes_when_that_is_done(void **state)
{
	static const uint8_t states[] = {SERVER_STATE_REQUESTED, SERVER_STATE_REGISTERING};
	struct fixture f = settled();
	(void)state;
	f.in.row = &f.row;
	for (size_t i = 0; i < sizeof(states); i++) {
		f.row.state = states[i];
		f.row.since = f.in.now - 1;
		struct plan plan = plan_next(&f.in);
		assert_int_equal(plan.step, PLAN_LATER);
		assert_true(plan.delay_s > 0 && plan.delay_s < PLAN_HOLD_S);
		/* It may be stuck there. */
		f.row.since = f.in.now - PLAN_HOLD_S;
		assert_int_equal(plan_next(&f.in).step, PLAN_REMOVE);
	}
}

static void what_must_not_exist_is_settled_when_it_is_gone(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.in.is_absent = true;
	f.in.row = &f.row;
	assert_int_equal(plan_next(&f.in).step, PLAN_REMOVE);
	f.row.state = SERVER_STATE_REMOVING;
	assert_false(plan_next(&f.in).is_settled);
	f.in.row = NULL;
	f.in.is_leaving = true;
	assert_false(plan_next(&f.in).is_settled);
	/* The answer to its creation was lost. */
	f.in.must_read = true;
	assert_int_equal(plan_next(&f.in).step, PLAN_READ);
	f.in.must_read = f.in.is_leaving = false;
	assert_int_equal(plan_next(&f.in).step, PLAN_NOTHING);
	assert_true(plan_next(&f.in).is_settled);
}

static void what_is_kept_is_not_touched(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.in.is_kept = true;
	f.in.must_read = true;
	for (int i = 0; i < SERVER_STATE_COUNT; i++) {
		f.row.state = (uint8_t)i;
		f.in.row = &f.row;
		assert_int_equal(plan_next(&f.in).step, PLAN_NOTHING);
		f.in.row = NULL;
		assert_int_equal(plan_next(&f.in).step, PLAN_NOTHING);
		assert_true(plan_next(&f.in).is_settled);
	}
}

static void what_would_serve_nothing_is_not_made(void **state)
{
	struct fixture f = settled();
	(void)state;
	f.in.is_empty = true;
	f.in.wanted = &f.wanted;
	assert_int_equal(plan_next(&f.in).step, PLAN_NOTHING);
	f.wanted.ports = 9;
	f.in.is_fresh = true;
	assert_int_equal(next(&f).step, PLAN_UPDATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_as_wanted_costs_nothing),
		cmocka_unit_test(defects_1_16_17_parts_are_changed_in_place),
		cmocka_unit_test(a_withdrawn_scale_goes_back_to_one),
		cmocka_unit_test(defect_21_nothing_is_created_before_all_is_known),
		cmocka_unit_test(defect_22_only_the_state_counts),
		cmocka_unit_test(changes_are_held_while_an_update_runs),
		cmocka_unit_test(an_update_that_may_have_been_lost_is_repeated_once_it_can_run),
		cmocka_unit_test(what_others_change_is_looked_at_again_before_it_is_changed_back),
		cmocka_unit_test(only_global_scheduling_needs_a_new_one),
		cmocka_unit_test(what_is_not_wanted_goes),
		cmocka_unit_test(what_is_being_created_goes_when_that_is_done),
		cmocka_unit_test(what_must_not_exist_is_settled_when_it_is_gone),
		cmocka_unit_test(what_is_kept_is_not_touched),
		cmocka_unit_test(what_would_serve_nothing_is_not_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
