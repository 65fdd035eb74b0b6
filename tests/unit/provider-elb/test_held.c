// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/held.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static void assert_subjects(struct held *held, const char *want)
{
	char got[256] = "";
	struct str_list list = held_subjects(held);
	for (size_t i = 0; i < list.count; i++) {
		size_t len = strlen(got);
		snprintf(got + len, sizeof(got) - len, "%.*s ", STR_FMT(list.items[i]));
	}
	assert_string_equal(got, want);
}

static void subjects_are_sorted_and_there_once(void **state)
{
	struct held *held = held_new();
	assert_subjects(held, "");
	assert_null(held_reason(held));
	assert_true(held_add(held, STR("b"), STR("first"), 10, false));
	assert_true(held_add(held, STR("c"), STR("no"), 20, false));
	assert_true(held_add(held, STR("a"), STR("no"), 30, false));
	assert_true(held_add(held, STR("b"), STR("again"), 40, false));
	assert_subjects(held, "a b c ");
	held_remove(held, STR("a"));
	held_remove(held, STR("nobody"));
	assert_subjects(held, "b c ");
	assert_string_equal(held_reason(held), "again");
	held_free(held);
}

static void each_is_let_go_of_when_its_time_is_over(void **state)
{
	struct held *held = held_new();
	held_add(held, STR("a"), STR("no"), 30, false);
	held_add(held, STR("b"), STR("no"), 10, false);
	held_add(held, STR("c"), STR("no"), 20, false);
	held_expire(held, 9);
	assert_subjects(held, "a b c ");
	held_expire(held, 10);
	assert_subjects(held, "a c ");
	held_expire(held, 100);
	assert_subjects(held, "");
	held_free(held);
}

static void there_are_not_more_than_it_takes(void **state)
{
	struct held *held = held_new();
	char name[16];
	for (int i = 0; i < HELD_MAX; i++) {
		snprintf(name, sizeof(name), "%03d", i);
		assert_true(held_add(held, str_from(name), STR("no"), 10, false));
	}
	assert_false(held_add(held, STR("one more"), STR("no"), 10, false));
	assert_true(held_add(held, STR("007"), STR("known"), 20, false));
	assert_int_equal(held_subjects(held).count, HELD_MAX);
	held_clear(held);
	assert_subjects(held, "");
	assert_true(held_add(held, STR("one more"), STR("no"), 10, false));
	held_free(held);
}

static void denials_are_forgotten_by_themselves(void **state)
{
	struct held *held = held_new();
	held_add(held, STR("b"), STR("denied"), 10, true);
	held_add(held, STR("a"), STR("quota"), 10, false);
	held_add(held, STR("c"), STR("denied"), 10, true);
	held_add(held, STR("c"), STR("quota"), 10, false);
	held_forget_denied(held);
	assert_int_equal(held_subjects(held).count, 2);
	assert_string_equal(held_reason(held), "quota");
	assert_true(str_eq_c(held_subjects(held).items[1], "c"));
	held_free(held);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(subjects_are_sorted_and_there_once),
		cmocka_unit_test(each_is_let_go_of_when_its_time_is_over),
		cmocka_unit_test(there_are_not_more_than_it_takes),
		cmocka_unit_test(denials_are_forgotten_by_themselves),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
