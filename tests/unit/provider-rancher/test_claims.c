// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/claims.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

enum { WANTED_MAX = 8 };

/* An Ingress that wants a load balancer. */
struct wanted {
	struct identity identity;
	struct lb_row *row;
	uint64_t routes;
};

struct fixture {
	struct observed *observed;
	struct arena arena;
	struct claims claims;
	struct wanted wanted[WANTED_MAX];
	size_t count;
	uint64_t asked;
};

static bool is_wanted(
	void *ctx, const struct identity *identity, struct lb_row **ret_row, uint64_t *ret_routes)
{
	struct fixture *f = ctx;
	for (size_t i = 0; i < f->count; i++) {
		const struct wanted *w = &f->wanted[i];
		if (w->identity.kind == identity->kind &&
			str_eq(w->identity.namespace, identity->namespace) &&
			str_eq(w->identity.name, identity->name)) {
			*ret_row = w->row;
			*ret_routes = w->routes;
			return true;
		}
	}
	return false;
}

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	f->observed = observed_new("kubernetes-ingress-lbs://", NULL, NULL);
	arena_init(&f->arena);
	f->claims = (struct claims){f->observed, "rancherlb", f, is_wanted};
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

static struct lb_row *there(
	struct fixture *f, const char *id, const char *name, const char *mark, const char *path)
{
	struct port_rule rule = {.source_port = 80, .host = STR("h"), .path = str_from(path)};
	struct rancher_lb lb = {.id = str_from(id),
		.name = str_from(name),
		.external_id = arena_printf(&f->arena, "kubernetes-ingress-lbs://%s", name),
		.state = SERVER_STATE_ACTIVE,
		.spec = {.rules = {&rule, 1}, .description = str_from(mark)}};
	unsigned changes;
	return observed_take(f->observed, &lb, ++f->asked, 0, &f->arena, &changes);
}

static uint64_t routes_of(struct fixture *f, const char *path)
{
	struct port_rule rule = {.source_port = 80, .host = STR("h"), .path = str_from(path)};
	struct lb_spec spec = {.rules = {&rule, 1}};
	return spec_routes(&spec, &f->arena);
}

static struct wanted *want(
	struct fixture *f, const char *namespace, const char *name, const char *path)
{
	struct wanted *w = &f->wanted[f->count++];
	w->identity = (struct identity){IDENTITY_INGRESS, str_from(namespace), str_from(name)};
	w->routes = routes_of(f, path);
	return w;
}

/* All look for theirs, as at the start: certain ones first. */
static void claim_all(struct fixture *f)
{
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < f->count; i++) {
			struct wanted *w = &f->wanted[i];
			if (w->row != NULL)
				continue;
			w->row = claims_find(&f->claims, &w->identity, w->routes, pass == 1);
			if (w->row != NULL)
				observed_claim(f->observed, w->row, (struct balancer *)(void *)w);
		}
	}
}

static void both_names_of_the_original_are_taken_over(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_row *with = there(f, "1s1", "default-rancherlb-web", "", "/");
	struct lb_row *legacy = there(f, "1s2", "default-shop", "", "/");
	struct wanted *web = want(f, "default", "web", "/");
	struct wanted *shop = want(f, "default", "shop", "/other");
	struct wanted *none = want(f, "default", "none", "/");
	claim_all(f);
	assert_ptr_equal(web->row, with);
	assert_ptr_equal(shop->row, legacy);
	assert_null(none->row);
}

static void the_separator_may_have_been_changed_since(void **fixture)
{
	struct fixture *f = *fixture;
	f->claims.separator = "lb";
	struct lb_row *old = there(f, "1s1", "default-rancherlb-web", "", "/");
	struct lb_row *marked =
		there(f, "1s2", "default-xyz-shop", "managed by sluice: ingress=default/shop", "/");
	struct wanted *web = want(f, "default", "web", "/");
	struct wanted *shop = want(f, "default", "shop", "/");
	claim_all(f);
	assert_ptr_equal(web->row, old);
	assert_ptr_equal(shop->row, marked);
}

static void the_mark_decides_before_the_name(void **fixture)
{
	struct fixture *f = *fixture;
	there(f, "1s1", "default-rancherlb-web", "managed by sluice: ingress=other/web", "/");
	struct lb_row *hashed = there(f, "1s2", "default-rancherlb-web-12345678",
		"managed by sluice: ingress=default/web", "/");
	struct wanted *web = want(f, "default", "web", "/");
	claim_all(f);
	assert_ptr_equal(web->row, hashed);
}

/* a-b-c may be c in a-b or b-c in a. */
static void an_ambiguous_name_goes_to_whom_it_serves_or_to_nobody(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_row *row = there(f, "1s1", "a-b-c", "", "/one");
	struct wanted *one = want(f, "a", "b-c", "/one");
	struct wanted *two = want(f, "a-b", "c", "/two");
	claim_all(f);
	assert_ptr_equal(one->row, row);
	assert_null(two->row);
	observed_release(f->observed, row);
	one->row = NULL;
	two->routes = one->routes;
	claim_all(f);
	assert_null(one->row);
	assert_null(two->row);
	assert_int_equal(claims_judge(&f->claims, row), CLAIMS_UNCERTAIN);
}

static void who_has_got_one_is_no_rival(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_row *legacy = there(f, "1s1", "a-b-c", "", "/x");
	struct lb_row *own = there(f, "1s2", "a-rancherlb-b-c", "", "/y");
	/* In the order in which the rival would be met first. */
	struct wanted *two = want(f, "a-b", "c", "/two");
	struct wanted *one = want(f, "a", "b-c", "/one");
	claim_all(f);
	assert_ptr_equal(one->row, own);
	assert_ptr_equal(two->row, legacy);
}

static void what_is_not_ours_is_never_claimed(void **fixture)
{
	struct fixture *f = *fixture;
	struct rancher_lb lb = {.id = STR("1s1"),
		.name = STR("default-rancherlb-web"),
		.external_id = STR("somebody-elses"),
		.state = SERVER_STATE_ACTIVE};
	unsigned changes;
	struct lb_row *foreign = observed_take(f->observed, &lb, 1, 0, &f->arena, &changes);
	struct wanted *web = want(f, "default", "web", "/");
	claim_all(f);
	assert_null(web->row);
	assert_int_equal(claims_judge(&f->claims, foreign), CLAIMS_LEAVE);
	/* Its name is taken, though. */
	struct lb_name name;
	assert_int_equal(claims_name(&f->claims, &web->identity, false, &name), CLAIMS_NAME_FREE);
	assert_true(str_starts_with(str_from(name.text), STR("default-rancherlb-web-")));
}

static void names_on_their_way_out_are_waited_for(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_name name;
	struct identity web = {IDENTITY_INGRESS, STR("default"), STR("web")};
	assert_int_equal(claims_name(&f->claims, &web, false, &name), CLAIMS_NAME_FREE);
	assert_string_equal(name.text, "default-rancherlb-web");
	struct lb_row *row = there(f, "1s1", "default-rancherlb-web", "", "/");
	row->state = SERVER_STATE_REMOVING;
	assert_int_equal(claims_name(&f->claims, &web, false, &name), CLAIMS_NAME_GOING);
	assert_int_equal(claims_judge(&f->claims, row), CLAIMS_LEAVE);
	observed_forget(f->observed, row);
	assert_int_equal(claims_name(&f->claims, &web, true, &name), CLAIMS_NAME_FREE);
	assert_true(str_starts_with(str_from(name.text), STR("default-rancherlb-web-")));
}

/* Defect 30: whatever could not be read back from its name was removed. */
static void defect_30_only_what_is_surely_an_orphan_is_one(void **fixture)
{
	static const struct {
		const char *name;
		const char *mark;
		enum claims_verdict want;
	} rows[] = {
		/* Ours, by mark or by a name that can be read in one way. */
		{"default-rancherlb-old", "", CLAIMS_ORPHAN},
		{"anything", "managed by sluice: ingress=default/old", CLAIMS_ORPHAN},
		{"default-rancherlb-web-2", "managed by sluice: group=default/web", CLAIMS_ORPHAN},
		/* Legacy names, and names with another separator: whose? */
		{"default-old", "", CLAIMS_UNCERTAIN},
		{"my-name-space-web-shop", "", CLAIMS_UNCERTAIN},
		{"default-otherlb-web", "", CLAIMS_UNCERTAIN},
		{"single", "", CLAIMS_UNCERTAIN},
		/* One of the ways to read it is wanted; or there are two of one Ingress. */
		{"default-rancherlb-x-rancherlb-y", "", CLAIMS_UNCERTAIN},
		{"default-rancherlb-web-3", "managed by sluice: ingress=default/web",
			CLAIMS_UNCERTAIN},
	};
	struct fixture *f = *fixture;
	want(f, "default", "web", "/");
	want(f, "default", "x-rancherlb-y", "/");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char id[8];
		snprintf(id, sizeof(id), "1s%zu", i);
		struct lb_row *row = there(f, id, rows[i].name, rows[i].mark, "/");
		if (claims_judge(&f->claims, row) != rows[i].want)
			fail_msg("%s", rows[i].name);
	}
}

static void of_two_the_oldest_active_is_ours(void **fixture)
{
	static const char mark[] = "managed by sluice: ingress=default/web";
	struct fixture *f = *fixture;
	struct lb_row *inactive = there(f, "1s2", "default-rancherlb-web", mark, "/");
	struct lb_row *young = there(f, "1s30", "default-rancherlb-web", mark, "/");
	struct lb_row *old = there(f, "1s9", "default-rancherlb-web", mark, "/");
	there(f, "1s1", "default-rancherlb-web-12345678", mark, "/");
	inactive->state = SERVER_STATE_INACTIVE;
	struct wanted *web = want(f, "default", "web", "/");
	assert_true(claims_has_marked(&f->claims, &web->identity));
	claim_all(f);
	assert_ptr_equal(web->row, old);
	assert_non_null(claims_find_duplicate(&f->claims, old));
	assert_int_equal(claims_judge(&f->claims, young), CLAIMS_UNCERTAIN);
	/* The original left no mark. */
	there(f, "1s50", "default-rancherlb-shop", "", "/");
	struct lb_row *first = there(f, "1s7", "default-rancherlb-shop", "", "/");
	struct wanted *shop = want(f, "default", "shop", "/");
	claim_all(f);
	assert_ptr_equal(shop->row, first);
	assert_non_null(claims_find_duplicate(&f->claims, first));
}

static void alone_is_nobodys_duplicate(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_row *row = there(
		f, "1s1", "default-rancherlb-web", "managed by sluice: ingress=default/web", "/");
	struct lb_row *leaving = there(f, "1s2", "default-rancherlb-web", "", "/");
	leaving->state = SERVER_STATE_REMOVING;
	struct wanted *web = want(f, "default", "web", "/");
	claim_all(f);
	assert_ptr_equal(web->row, row);
	assert_null(claims_find_duplicate(&f->claims, row));
	assert_false(claims_has_marked(&f->claims, &web->identity));
}

static void a_service_has_a_name_of_its_own(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_row *row = there(f, "1s1", "default-rancherlb-web", "", "/");
	struct lb_row *marked = there(f, "1s2", "default-rancherlbservice-web",
		"managed by sluice: service=default/web", "/");
	struct wanted *service = want(f, "default", "web", "/");
	service->identity.kind = IDENTITY_SERVICE;
	struct wanted *ingress = want(f, "default", "web", "/");
	struct lb_name name;
	claim_all(f);
	assert_ptr_equal(service->row, marked);
	assert_ptr_equal(ingress->row, row);
	naming_primary(&service->identity, "rancherlb", &name);
	assert_string_equal(name.text, "default-rancherlbservice-web");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_names_of_the_original_are_taken_over),
		TEST(the_separator_may_have_been_changed_since),
		TEST(the_mark_decides_before_the_name),
		TEST(an_ambiguous_name_goes_to_whom_it_serves_or_to_nobody),
		TEST(who_has_got_one_is_no_rival),
		TEST(what_is_not_ours_is_never_claimed),
		TEST(names_on_their_way_out_are_waited_for),
		TEST(of_two_the_oldest_active_is_ours),
		TEST(alone_is_nobodys_duplicate),
		TEST(a_service_has_a_name_of_its_own),
		TEST(defect_30_only_what_is_surely_an_orphan_is_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
