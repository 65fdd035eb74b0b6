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

/* Each wants a cookie of its own for every pool, without end. */
static size_t grow_without_end(const char *namespace)
{
	char lines[64];
	size_t count = 0;
	for (;; count++) {
		snprintf(lines, sizeof(lines), "\tdynamic-cookie-key %s%zu\n", namespace, count);
		if (slots_grow(&slots, slots_find_class(&slots, lines, ""), 1,
			    slots_space(str_from(namespace))) != SLOTS_GROWN)
			return count;
	}
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_pool_keeps_its_slot, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_left_slot_is_emptied_first, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nobody_has_all_rare_slots, set_up, tear_down),
		cmocka_unit_test_setup_teardown(weights_and_refusals, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			slots_of_an_earlier_run_are_kept, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_server_of_another_trust_is_another, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
