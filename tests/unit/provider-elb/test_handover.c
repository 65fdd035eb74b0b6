// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/handover.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

struct fixture {
	struct handover handover;
	struct arena arena;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	handover_init(&f->handover);
	arena_init(&f->arena);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	handover_fini(&f->handover);
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

/* A letter is a target. */
static struct elb_target_list *list_of(struct fixture *f, const char *letters)
{
	struct elb_target_list *list = arena_calloc(&f->arena, 1, sizeof(*list));
	list->items = arena_calloc(&f->arena, strlen(letters) + 1, sizeof(struct elb_target));
	for (; *letters != '\0'; letters++)
		list->items[list->count++] = (struct elb_target){
			.ip = arena_printf(&f->arena, "10.0.0.%c", *letters), .port = 80};
	return list;
}

static void want(struct fixture *f, const char *had, const char *wanted, const char *serving)
{
	handover_want(&f->handover, had != NULL ? list_of(f, had) : NULL, list_of(f, wanted),
		list_of(f, serving), 100);
}

static void assert_release(
	struct fixture *f, double now, const char *old, const char *staying, const char *want)
{
	char got[32] = "";
	struct elb_target_list released = handover_release(
		&f->handover, list_of(f, old), list_of(f, staying), now, &f->arena);
	for (size_t i = 0; i < released.count; i++)
		got[i] = released.items[i].ip.p[released.items[i].ip.len - 1];
	assert_string_equal(got, want);
}

static void old_ones_go_when_others_are_known_to_get_requests(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, NULL, "ab", "");
	want(f, "ab", "bc", "");
	assert_release(f, 100, "a", "bc", "a");
	assert_false(handover_waits(&f->handover));
}

static void all_of_them_stay_until_a_new_one_gets_requests(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "ab", "cd", "ab");
	assert_release(f, 100, "ab", "cd", "");
	assert_true(handover_waits(&f->handover));
	handover_read(&f->handover, list_of(f, "abcd"), list_of(f, "ab"), 100);
	assert_release(f, 105, "ab", "cd", "");
	handover_read(&f->handover, list_of(f, "abcd"), list_of(f, "abd"), 100);
	assert_release(f, 110, "ab", "cd", "ab");
	assert_false(handover_waits(&f->handover));
}

/* b's pod has ended, a's still serves. */
static void those_that_serve_stay_and_others_go(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "ab", "cd", "a");
	assert_release(f, 100, "ab", "cd", "b");
	assert_release(f, 101, "a", "cd", "");
	assert_true(handover_waits(&f->handover));
	/* That one ends, too: nobody knows better, for a short time in all. */
	want(f, "cd", "cd", "");
	assert_release(f, 102, "a", "cd", "");
	assert_release(f, 100 + HANDOVER_UNKNOWN_S, "a", "cd", "a");
}

static void the_wait_has_an_end(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "a", "b", "a");
	assert_release(f, 100, "a", "b", "");
	assert_release(f, 100 + HANDOVER_SERVING_S - 1, "a", "b", "");
	assert_release(f, 100 + HANDOVER_SERVING_S, "a", "b", "a");
	/* The next one begins anew. */
	assert_release(f, 1000, "", "b", "");
	assert_false(handover_waits(&f->handover));
	handover_registered(&f->handover, list_of(f, "c"), 1000);
	assert_release(f, 1001, "b", "c", "");
}

static void with_none_that_stays_nothing_is_kept(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, "ab", "", "ab");
	assert_release(f, 100, "ab", "", "ab");
}

static void what_is_registered_is_unproven_until_it_is_read(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, NULL, "b", "");
	handover_registered(&f->handover, list_of(f, "b"), 100);
	assert_release(f, 100, "a", "b", "");
	handover_read(&f->handover, list_of(f, "ab"), list_of(f, "ab"), 100);
	assert_release(f, 101, "a", "b", "a");
}

static void what_has_been_there_for_long_is_trusted(void **fixture)
{
	struct fixture *f = *fixture;
	want(f, NULL, "b", "");
	handover_registered(&f->handover, list_of(f, "b"), 100);
	assert_release(f, 100 + HANDOVER_TRUST_S, "a", "b", "a");
	/* But not what came later, nor what is waited for. */
	handover_registered(&f->handover, list_of(f, "c"), 200);
	assert_release(f, 201, "b", "c", "");
	assert_release(f, 201 + HANDOVER_UNKNOWN_S - 1, "b", "c", "");
}

static void what_comes_back_is_unproven_again(void **fixture)
{
	struct fixture *f = *fixture;
	handover_read(&f->handover, list_of(f, "ab"), list_of(f, "ab"), 100);
	want(f, "ab", "b", "");
	want(f, "b", "a", "");
	assert_release(f, 100, "b", "a", "");
}

/* It is as it was: proven or not. */
static void what_is_wanted_again_before_it_has_gone_is_nothing_new(void **fixture)
{
	struct fixture *f = *fixture;
	handover_read(&f->handover, list_of(f, "ab"), list_of(f, "a"), 100);
	want(f, "ab", "c", "");
	want(f, "abc", "b", "");
	assert_release(f, 100, "ac", "b", "");
	want(f, "abc", "a", "");
	assert_release(f, 100, "bc", "a", "bc");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(old_ones_go_when_others_are_known_to_get_requests),
		TEST(all_of_them_stay_until_a_new_one_gets_requests),
		TEST(those_that_serve_stay_and_others_go),
		TEST(the_wait_has_an_end),
		TEST(with_none_that_stays_nothing_is_kept),
		TEST(what_is_registered_is_unproven_until_it_is_read),
		TEST(what_has_been_there_for_long_is_trusted),
		TEST(what_comes_back_is_unproven_again),
		TEST(what_is_wanted_again_before_it_has_gone_is_nothing_new),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
