// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/observed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static char uses[256];

static void on_certificate(void *ctx, struct str id, int change)
{
	size_t len = strlen(uses);
	(void)ctx;
	snprintf(uses + len, sizeof(uses) - len, "%c%.*s ", change > 0 ? '+' : '-', STR_FMT(id));
}

struct fixture {
	struct observed *observed;
	struct arena arena;
	struct rancher_lb lb;
	unsigned changes;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	f->observed = observed_new("kubernetes-ingress-lbs://", on_certificate, NULL);
	arena_init(&f->arena);
	f->lb = (struct rancher_lb){.id = STR("1s1"),
		.name = STR("default-rancherlb-web"),
		.stack_id = STR("1st1"),
		.external_id = STR("kubernetes-ingress-lbs://default-rancherlb-web"),
		.state = SERVER_STATE_ACTIVE,
		.is_whole = true};
	uses[0] = '\0';
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	observed_free(f->observed);
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

static struct lb_row *take(struct fixture *f, uint64_t asked)
{
	return observed_take(f->observed, &f->lb, asked, 5, &f->arena, &f->changes);
}

static void says_what_has_changed(void **fixture)
{
	struct fixture *f = *fixture;
	struct endpoint endpoint;
	struct lb_row *row = take(f, 1);
	assert_int_equal(f->changes, ROW_NEW | ROW_FACETS | ROW_STATE | ROW_ADDRESSES);
	assert_true(row->has_our_external_id && row->identity == NULL);
	take(f, 2);
	assert_int_equal(f->changes, 0);
	f->lb.spec.scale = 2;
	take(f, 3);
	assert_int_equal(f->changes, ROW_FACETS);
	f->lb.state = SERVER_STATE_UPDATING_ACTIVE;
	f->lb.transitioning = TRANSITIONING_ERROR;
	f->lb.message = STR("no room");
	take(f, 4);
	assert_int_equal(f->changes, ROW_STATE);
	assert_string_equal(row->message, "no room");
	/* The next attempt of the server makes another container, which is no news. */
	f->lb.message = STR("Bad instance [container:1i12] in state [error]: no ports [80:80]");
	take(f, 4);
	assert_string_equal(row->message, "Bad instance in state [error]: no ports [80:80]");
	f->lb.message = STR("Bad instance [container:1i13] in state [error]: no ports [80:80]");
	take(f, 4);
	assert_int_equal(f->changes, 0);
	f->lb.message = STR("no room [a:");
	take(f, 4);
	assert_string_equal(row->message, "no room [a:");
	assert_true(endpoint_parse(STR("10.0.0.1"), 80, &endpoint));
	f->lb.endpoints = &endpoint;
	f->lb.endpoint_count = 1;
	take(f, 5);
	assert_int_equal(f->changes, ROW_ADDRESSES);
	assert_int_equal(endpoint_set_count(row->endpoints), 1);
	f->lb.spec.description = STR("managed by sluice: ingress=default/web scale");
	take(f, 6);
	assert_int_equal(f->changes, ROW_FACETS);
	assert_string_equal(row->identity, "ingress default/web");
	assert_true(row->has_scale_mark);
}

static void an_old_answer_overwrites_nothing(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_row *row = take(f, 10);
	f->lb.spec.scale = 7;
	assert_ptr_equal(take(f, 9), row);
	assert_int_equal(f->changes, 0);
	assert_int_equal(row->facets.scale, 0);
	take(f, 11);
	assert_int_equal(row->facets.scale, 7);
}

static void what_is_removed_makes_no_row(void **fixture)
{
	struct fixture *f = *fixture;
	f->lb.state = SERVER_STATE_REMOVED;
	assert_null(take(f, 1));
	f->lb.state = SERVER_STATE_ACTIVE;
	struct lb_row *row = take(f, 2);
	f->lb.state = SERVER_STATE_REMOVED;
	assert_ptr_equal(take(f, 3), row);
	assert_int_equal(row->state, SERVER_STATE_REMOVED);
	observed_forget(f->observed, row);
	assert_null(observed_first(f->observed));
}

static void finds_by_name_without_case_and_by_mark(void **fixture)
{
	struct fixture *f = *fixture;
	char mine;
	struct lb_row *row = take(f, 1);
	assert_ptr_equal(observed_find_name(f->observed, "DEFAULT-rancherlb-web"), row);
	assert_null(observed_find_identity(f->observed, "ingress default/web"));
	f->lb.spec.description = STR("managed by sluice: ingress=default/web");
	take(f, 2);
	assert_ptr_equal(observed_find_identity(f->observed, "ingress default/web"), row);
	f->lb.id = STR("1s2");
	f->lb.name = STR("other");
	struct lb_row *other = take(f, 3);
	assert_ptr_equal(observed_find_identity(f->observed, "ingress default/web"), row);
	assert_ptr_equal(observed_next_identity(f->observed, row), other);
	assert_null(observed_next_identity(f->observed, other));
	/* Who is claimed is not found by its mark any more. */
	observed_claim(f->observed, row, (struct balancer *)(void *)&mine);
	assert_ptr_equal(observed_find_identity(f->observed, "ingress default/web"), other);
	assert_ptr_equal(observed_first_unclaimed(f->observed), other);
	assert_null(observed_next_unclaimed(f->observed, other));
	f->lb.spec.description = STR_NONE;
	take(f, 4);
	assert_null(observed_find_identity(f->observed, "ingress default/web"));
	observed_release(f->observed, row);
	assert_ptr_equal(observed_find_identity(f->observed, "ingress default/web"), row);
	/* A new name is found at once. */
	f->lb.name = STR("third");
	take(f, 5);
	assert_null(observed_find_name(f->observed, "other"));
	assert_ptr_equal(observed_find_name(f->observed, "third"), other);
}

static void only_our_external_id_is_ours(void **fixture)
{
	static const struct {
		const char *external_id;
		const char *description;
		bool want;
	} rows[] = {
		{"kubernetes-ingress-lbs://default-rancherlb-web", "", true},
		{"kubernetes-ingress-lbs://other", "", false},
		{"kubernetes-ingress-lbs://", "", false},
		{"default-rancherlb-web", "", false},
		{"", "managed by sluice: ingress=default/web", false},
		/* Renamed in Rancher, but marked. */
		{"kubernetes-ingress-lbs://other", "managed by sluice: ingress=default/web", true},
	};
	struct fixture *f = *fixture;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		f->lb.external_id = str_from(rows[i].external_id);
		f->lb.spec.description = str_from(rows[i].description);
		assert_int_equal(take(f, i + 1)->has_our_external_id, rows[i].want);
	}
}

static void certificates_in_use_are_counted(void **fixture)
{
	struct fixture *f = *fixture;
	struct str ids[] = {STR("1c2"), STR("1c1")};
	f->lb.spec.default_certificate = STR("1c1");
	f->lb.spec.certificates.items = ids;
	f->lb.spec.certificates.count = 2;
	struct lb_row *row = take(f, 1);
	take(f, 2);
	assert_string_equal(uses, "+1c1 +1c2 ");
	uses[0] = '\0';
	f->lb.spec.certificates.count = 0;
	take(f, 3);
	assert_string_equal(uses, "-1c1 -1c2 +1c1 ");
	uses[0] = '\0';
	observed_forget(f->observed, row);
	assert_string_equal(uses, "-1c1 ");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(says_what_has_changed),
		TEST(an_old_answer_overwrites_nothing),
		TEST(what_is_removed_makes_no_row),
		TEST(finds_by_name_without_case_and_by_mark),
		TEST(only_our_external_id_is_ours),
		TEST(certificates_in_use_are_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
