// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/slots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

static struct slots slots;
static struct slot_class *plain;
static struct check_ip ip;

static int set_up(void **state)
{
	(void)state;
	slots_init(&slots);
	plain = slots_find_class(&slots, "\tmode http\n", "");
	slots_add_group(&slots, plain, 2);
	return check_ip(STR("10.0.0.1"), &ip) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	slots_fini(&slots);
	return 0;
}

static struct name pool(const char *id)
{
	return name_of(NAME_POOL, str_from(id));
}

static void want(struct slot *slot, bool is_active)
{
	slots_begin_servers(slot);
	slots_want_server(&slots, slot, &ip, 80, is_active);
	slots_end_servers(&slots, slot);
}

static void a_pool_keeps_its_slot(void **state)
{
	struct name a = pool("a");
	struct name b = pool("b");
	struct name c = pool("c");
	(void)state;
	struct slot *slot = slots_take(&slots, plain, &a);
	assert_ptr_equal(slots_take(&slots, plain, &a), slot);
	assert_ptr_equal(slots_of_pool(&slots, &a), slot);
	assert_ptr_equal(slots_by_name(&slots, str_from(slot->name)), slot);
	assert_ptr_not_equal(slots_take(&slots, plain, &b), slot);
	assert_null(slots_take(&slots, plain, &c));
	assert_int_equal(slots_grow(&slots, plain, 1, 0), SLOTS_GROWN);
	assert_non_null(slots_take(&slots, plain, &c));
	assert_null(slots_by_name(&slots, STR("s000002")));
	assert_null(slots_by_name(&slots, STR("s00000x")));
	assert_null(slots_by_name(&slots, STR("s999999")));
}

/* A slot is given away only when HAProxy has no server in it. */
static void a_left_slot_is_emptied_first(void **state)
{
	struct name a = pool("a");
	struct name b = pool("b");
	struct name c = pool("c");
	(void)state;
	struct slot *slot = slots_take(&slots, plain, &a);
	want(slot, true);
	assert_true(slot->is_dirty);
	struct server *server = slot_first_server(slot);
	server->has = SERVER_READY;
	server->has_weight = SERVER_WEIGHT;
	slots_settle(&slots, slot);
	assert_false(slot->is_dirty);
	slots_leave(&slots, slot);
	assert_true(slot->is_dirty);
	assert_null(slots_of_pool(&slots, &a));
	assert_ptr_not_equal(slots_take(&slots, plain, &b), slot);
	assert_null(slots_take(&slots, plain, &c));
	server->has = SERVER_ABSENT;
	slots_settle(&slots, slot);
	assert_ptr_equal(slots_take(&slots, plain, &c), slot);
}

static void weights_and_refusals(void **state)
{
	struct name a = pool("a");
	(void)state;
	struct slot *slot = slots_take(&slots, plain, &a);
	want(slot, true);
	struct server *server = slot_first_server(slot);
	server->has = SERVER_READY;
	server->has_weight = SERVER_WEIGHT;
	slots_settle(&slots, slot);
	want(slot, false);
	assert_true(slot->is_dirty);
	assert_int_equal(slot_first_server(slot)->weight, 0);
	server->has = SERVER_ABSENT;
	server->is_refused = true;
	slots_settle(&slots, slot);
	assert_false(slot->is_dirty);
	slots_forget_has(&slots);
	assert_true(slot->is_dirty);
}

static void slots_of_an_earlier_run_are_kept(void **state)
{
	struct name a = pool("a");
	struct name b = pool("b");
	struct name c = pool("c");
	(void)state;
	slots_reserve(&slots, slots_by_name(&slots, STR("s000001")), &a);
	slots_reserve(&slots, slots_by_name(&slots, STR("s000000")), &b);
	assert_null(slots_take(&slots, plain, &c));
	assert_string_equal(slots_take(&slots, plain, &a)->name, "s000001");
	slots_end_reserving(&slots);
	assert_string_equal(slots_take(&slots, plain, &c)->name, "s000000");
	assert_null(slots_of_pool(&slots, &b));
}

/* Servers of another trust are other servers, though they are the same endpoint. */
static void a_server_of_another_trust_is_another(void **state)
{
	struct name a = pool("a");
	struct trust trust = {.whole = name_of(NAME_TRUST, STR("x"))};
	(void)state;
	struct slot *slot = slots_take(&slots, plain, &a);
	want(slot, true);
	struct server *server = slot_first_server(slot);
	server->has = SERVER_READY;
	server->has_weight = SERVER_WEIGHT;
	slots_set_words(slot, " ssl verify none", &trust);
	want(slot, true);
	assert_false(server->is_wanted);
	struct server *other = slot_next_server(server);
	assert_true(other->is_wanted && other->has == SERVER_ABSENT);
	assert_true(str_ends_with(str_from(other->name), name_str(&trust.whole)));
	assert_ptr_equal(slots_found_server(&slots, slot, str_from(other->name), &ip, 80), other);
	assert_null(slots_found_server(&slots, slot, STR("10.0.0.1_80_x"), &ip, 80));
	slots_set_words(slot, NULL, NULL);
	want(slot, true);
	assert_true(server->is_wanted);
}

static struct slot_class *rare_class(const char *namespace, size_t number)
{
	char lines[64];
	snprintf(lines, sizeof(lines), "\tdynamic-cookie-key %s%zu\n", namespace, number);
	return slots_find_class(&slots, lines, "");
}

/* A pool with a cookie of its own. */
static struct slot *take_rare(const char *namespace, size_t number, enum slots_growth *ret_growth)
{
	char id[64];
	struct slot_class *sort = rare_class(namespace, number);
	snprintf(id, sizeof(id), "%s%zu", namespace, number);
	struct name name = pool(id);
	*ret_growth = slots_grow(&slots, sort, 1, slots_space(str_from(namespace)));
	return slots_take(&slots, sort, &name);
}

/* Each wants a cookie of its own for every pool, without end. */
static size_t grow_without_end(const char *namespace)
{
	enum slots_growth growth;
	size_t count = 0;
	while (take_rare(namespace, count, &growth) != NULL)
		count++;
	return count;
}

static void nobody_has_all_rare_slots(void **state)
{
	(void)state;
	assert_int_equal(grow_without_end("one"), SLOTS_RARE_GROUPS_MAX / 2);
	assert_int_equal(grow_without_end("two"), SLOTS_RARE_GROUPS_MAX / 4);
	assert_int_equal(grow_without_end("three"), SLOTS_RARE_GROUPS_MAX / 8);
	struct slot_class *rare = slots_find_class(&slots, "\tdynamic-cookie-key x\n", "");
	assert_int_equal(slots_grow(&slots, rare, 1, slots_space(STR("one"))), SLOTS_SHARE);
	assert_int_equal(slots_grow(&slots, rare, 1, slots_space(STR("four"))), SLOTS_GROWN);
	/* What everybody needs is not shared out. */
	assert_int_equal(slots_grow(&slots, plain, 1000, slots_space(STR("one"))), SLOTS_GROWN);
}

/* At the limit, what nobody uses any more makes room at once, for whoever comes. */
static void idle_rare_slots_make_room(void **state)
{
	enum slots_growth growth;
	(void)state;
	(void)grow_without_end("one");
	(void)grow_without_end("two");
	struct name left = pool("one7");
	struct slot *slot = slots_of_pool(&slots, &left);
	struct group *group = slot->group;
	uint32_t number = group->number;
	assert_null(take_rare("one", 5000, &growth));
	assert_int_equal(growth, SLOTS_SHARE);
	slots_leave(&slots, slot);
	size_t count = slots.group_count;
	struct slot *taken = take_rare("one", 5001, &growth);
	assert_non_null(taken);
	assert_null(slots.groups[number]->sort);
	/* HAProxy has the one that was given back until it reloads. */
	assert_int_equal(slots.group_count, count + 1);
	assert_true(taken->group->is_unverified && slots.groups[number]->is_unverified);
	assert_null(take_rare("one", 5002, &growth));
	assert_int_equal(growth, SLOTS_SHARE);
}

static void look(unsigned times)
{
	while (times-- != 0)
		slots_look(&slots);
}

static void load_all(void)
{
	for (size_t i = 0; i < slots.group_count; i++)
		slots.groups[i]->is_written = true;
	slots_note_verified(&slots);
}

static void what_is_idle_is_given_back(void **state)
{
	enum slots_growth growth;
	(void)state;
	struct slot *slot = take_rare("one", 0, &growth);
	uint32_t number = slot->group->number;
	load_all();
	uint64_t layout = slots_layout(&slots);
	look(2 * SLOTS_IDLE_LOOKS);
	assert_int_equal(slots_count_idle(&slots), 0);
	slots_leave(&slots, slot);
	look(SLOTS_IDLE_LOOKS - 1);
	assert_int_equal(slots_release_idle(&slots), 0);
	look(1);
	assert_int_equal(slots_count_idle(&slots), 1);
	assert_int_equal(slots_release_idle(&slots), 1);
	assert_int_equal(slots_count_idle(&slots), 0);
	assert_true(slots_layout(&slots) != layout);
	assert_null(slots_by_name(&slots, STR("s000064")));
	/* Its class goes with the next look; the number is had by others when HAProxy has loaded that it is free. */
	look(1);
	assert_int_equal(take_rare("two", 0, &growth)->group->number, number + 1);
	load_all();
	struct group *again = take_rare("two", 1, &growth)->group;
	assert_int_equal(again->number, number);
	assert_true(again->is_unverified && again->is_changed && !again->is_written);
	assert_int_equal(slots.rare_count, 2);
}

/* One that comes and goes keeps its slot: nobody makes reloads in this way. */
static void what_comes_back_is_kept(void **state)
{
	enum slots_growth growth;
	(void)state;
	struct slot *slot = take_rare("one", 0, &growth);
	size_t count = slots.group_count;
	for (size_t i = 0; i < 5; i++) {
		slots_leave(&slots, slot);
		look(SLOTS_IDLE_LOOKS - 1);
		assert_int_equal(slots_release_idle(&slots), 0);
		slot = take_rare("one", 0, &growth);
		assert_int_equal(slot->group->number, 1);
		look(1);
	}
	assert_int_equal(slots.group_count, count);
}

/* Common ones go down to what would be made if they were needed now, never below what the administrator wants. */
static void common_slots_shrink(void **state)
{
	char id[16];
	(void)state;
	assert_int_equal(slots_grow(&slots, plain, 1000, 0), SLOTS_GROWN);
	for (size_t i = 0; i < 600; i++) {
		snprintf(id, sizeof(id), "p%zu", i);
		struct name name = pool(id);
		(void)slots_take(&slots, plain, &name);
	}
	for (size_t i = 100; i < 600; i++) {
		snprintf(id, sizeof(id), "p%zu", i);
		struct name name = pool(id);
		slots_leave(&slots, slots_of_pool(&slots, &name));
	}
	look(SLOTS_IDLE_LOOKS);
	assert_true(slots_release_idle(&slots) > 8);
	assert_in_range(
		plain->slot_count, 100 + 12 + SLOTS_PER_GROUP, 100 + 12 + 2 * SLOTS_PER_GROUP);
	plain->least = 10000;
	assert_int_equal(slots_release_idle(&slots), 0);
}

/* Another endpoint may wait to be written; another pool, or none, may not. */
static void what_is_due(void **state)
{
	struct name first = pool("first");
	(void)state;
	struct slot *slot = slots_take(&slots, plain, &first);
	assert_true(slot->group->is_due);
	slots_group_written(slot->group);
	assert_ptr_equal(slots_take(&slots, plain, &first), slot);
	slots_begin_servers(slot);
	slots_want_server(&slots, slot, &ip, 80, true);
	slots_end_servers(&slots, slot);
	assert_true(slot->group->is_changed && !slot->group->is_due);
	assert_true(slots_all_are_due(&slots));
	assert_true(slot->group->is_due);
	slots_group_written(slot->group);
	assert_false(slots_all_are_due(&slots));
	slots_leave(&slots, slot);
	assert_true(slot->group->is_due && slot->is_left);
	slots_group_written(slot->group);
	assert_false(slot->is_left);
}

static void a_keyword_in_a_value_says_nothing(void **state)
{
	static const struct {
		const char *lines;
		bool is_sticky;
	} cases[] = {
		{"\tmode http\n\tcookie \"a\" insert\n\tdynamic-cookie-key \"k\"\n", true},
		{"\tmode http\n\thttp-check send meth GET uri \"/dynamic-cookie-key\"\n", false},
		{"\tmode http\n\thttp-check send meth GET uri \"/\tdynamic-cookie-key x\"\n",
			false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(slots_find_class(&slots, cases[i].lines, "")->is_sticky,
			cases[i].is_sticky);
}

static void many_have_a_smaller_share_to_spare(void **state)
{
	static const size_t cases[][2] = {
		{0, 64}, {80, 74}, {2000, 314}, {10000, 632}, {50000, 1882}};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		plain->used_count = cases[i][0];
		assert_int_equal(slots_spare(plain), cases[i][1]);
	}
	plain->used_count = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pool_keeps_its_slot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_left_slot_is_emptied_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_has_all_rare_slots, set_up, tear_down),
		cmocka_unit_test_setup_teardown(idle_rare_slots_make_room, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_idle_is_given_back, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_comes_back_is_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(common_slots_shrink, set_up, tear_down),
		cmocka_unit_test_setup_teardown(weights_and_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_due, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_keyword_in_a_value_says_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			many_have_a_smaller_share_to_spare, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			slots_of_an_earlier_run_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_server_of_another_trust_is_another, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
