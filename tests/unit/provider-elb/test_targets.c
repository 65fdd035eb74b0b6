// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/targets.h"

#include "common/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

/* A letter is a target; in order. */
static struct elb_target_list list_of(const char *letters, struct arena *arena)
{
	struct elb_target_list list = {
		arena_calloc(arena, strlen(letters) + 1, sizeof(struct elb_target)), 0};
	for (; *letters != '\0'; letters++)
		list.items[list.count++] = (struct elb_target){
			.ip = arena_printf(arena, "10.0.0.%c", *letters), .port = 80};
	return list;
}

static void assert_list(const struct elb_target_list *list, const char *want)
{
	char got[64] = "";
	for (size_t i = 0; i < list->count; i++)
		got[i] = list->items[i].ip.p[list->items[i].ip.len - 1];
	assert_string_equal(got, want);
}

static void sets_are_compared_in_one_pass(void **state)
{
	static const struct {
		const char *name, *a, *b;
		size_t max;
		const char *minus, *both;
		bool a_has_b;
		const char *shared;
	} cases[] = {
		{"nothing", "", "", 9, "", "", true, ""},
		{"all are new", "abc", "", 9, "abc", "abc", true, ""},
		{"all are gone", "", "abc", 9, "", "abc", false, ""},
		{"the same", "abc", "abc", 9, "", "abc", true, "abc"},
		{"some of each", "abd", "bcd", 9, "a", "abcd", false, "bd"},
		{"more than fit", "abcd", "b", 2, "ac", "abcd", true, "b"},
		{"room for none", "ab", "c", 0, "", "abc", false, ""},
		{"the last one only", "z", "abc", 9, "z", "abcz", false, ""},
	};
	struct arena arena;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct elb_target_list a = list_of(cases[i].a, &arena);
		struct elb_target_list b = list_of(cases[i].b, &arena);
		struct elb_target_list minus = targets_minus(&a, &b, cases[i].max, &arena);
		struct elb_target_list both = targets_union(&a, &b, &arena);
		print_message("%s\n", cases[i].name);
		assert_list(&minus, cases[i].minus);
		assert_list(&both, cases[i].both);
		assert_int_equal(targets_have_all(&a, &b), cases[i].a_has_b);
		assert_int_equal(targets_share_one(&a, &b), cases[i].shared[0] != '\0');
		assert_int_equal(targets_equal(&a, &b), strcmp(cases[i].a, cases[i].b) == 0);
	}
	arena_fini(&arena);
}

static void the_port_counts(void **state)
{
	struct elb_target a = {.ip = STR("10.0.0.1"), .port = 80};
	struct elb_target b = {.ip = STR("10.0.0.1"), .port = 81};
	assert_true(target_cmp(&a, &b) < 0);
	assert_true(target_cmp(&b, &a) > 0);
	assert_int_equal(target_cmp(&a, &a), 0);
}

static void a_copy_has_its_own_texts(void **state)
{
	struct arena arena;
	struct elb_target_list copy;
	arena_init(&arena);
	struct elb_target_list from = list_of("ab", &arena);
	targets_copy(&copy, &from);
	arena_fini(&arena);
	assert_list(&copy, "ab");
	targets_fini(&copy);
	assert_int_equal(copy.count, 0);
}

static void a_list_of_its_own_is_changed(void **state)
{
	struct arena arena;
	struct elb_target_list list;
	arena_init(&arena);
	struct elb_target_list ab = list_of("ab", &arena), bc = list_of("bc", &arena);
	struct elb_target_list c = list_of("c", &arena);
	targets_copy(&list, &ab);
	targets_add(&list, &bc);
	assert_list(&list, "abc");
	targets_keep(&list, &bc);
	assert_list(&list, "bc");
	targets_drop(&list, &c);
	assert_list(&list, "b");
	targets_replace(&list, &ab);
	arena_fini(&arena);
	assert_list(&list, "ab");
	targets_fini(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sets_are_compared_in_one_pass),
		cmocka_unit_test(the_port_counts),
		cmocka_unit_test(a_copy_has_its_own_texts),
		cmocka_unit_test(a_list_of_its_own_is_changed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
