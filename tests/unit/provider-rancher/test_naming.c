// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/mark.h"
#include "provider-rancher/naming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define SIXTY "a123456789b123456789c123456789d123456789e123456789f123456789"

static struct identity ingress(const char *namespace, const char *name)
{
	return (struct identity){IDENTITY_INGRESS, str_from(namespace), str_from(name)};
}

static void primary_names_are_those_of_the_original_where_rancher_takes_them(void **state)
{
	struct lb_name name;
	(void)state;
	struct identity web = ingress("default", "web");
	naming_primary(&web, "rancherlb", &name);
	assert_string_equal(name.text, "default-rancherlb-web");
	assert_true(naming_legacy(&web, &name));
	assert_string_equal(name.text, "default-web");
	web.kind = IDENTITY_GROUP;
	naming_primary(&web, "rancherlb", &name);
	assert_string_equal(name.text, "default-rancherlbgroup-web");
	assert_false(naming_legacy(&web, &name));
}

/* Defect 18: names longer than 63, with dots or double dashes could never be created. */
static void defect_18_every_name_has_a_valid_form(void **state)
{
	static const struct {
		const char *namespace;
		const char *name;
		const char *start;
	} rows[] = {
		{"default", "my.web.example", "default-rancherlb-my-web-example-"},
		{"default", "a--b", "default-rancherlb-a-b-"},
		{"default", SIXTY, "default-rancherlb-a123456789b123456789c123456789d12345-"},
		{"n", "x" SIXTY SIXTY SIXTY SIXTY, "n-rancherlb-xa123456789"},
		{"n", "a.-.b", "n-rancherlb-a-b-"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct identity identity = ingress(rows[i].namespace, rows[i].name);
		struct lb_name name;
		struct lb_name again;
		naming_primary(&identity, "rancherlb", &name);
		naming_primary(&identity, "rancherlb", &again);
		assert_string_equal(name.text, again.text);
		assert_true(naming_is_valid(str_from(name.text)));
		assert_true(str_starts_with(str_from(name.text), str_from(rows[i].start)));
		assert_false(
			naming_legacy(&identity, &again) && !naming_is_valid(str_from(again.text)));
	}
	/* Those that are shortened alike still differ. */
	struct identity dot = ingress("default", "a.b");
	struct identity dash = ingress("default", "a--b");
	struct lb_name one;
	struct lb_name two;
	naming_primary(&dot, "rancherlb", &one);
	naming_primary(&dash, "rancherlb", &two);
	assert_string_not_equal(one.text, two.text);
	naming_hashed(&dot, "rancherlb", &two);
	assert_string_equal(one.text, two.text);
}

static void validity_is_ranchers(void **state)
{
	static const struct {
		const char *name;
		bool want;
	} rows[] = {{"a", true}, {"A-1", true}, {"", false}, {"-a", false}, {"a-", false},
		{"a--b", false}, {"a.b", false}, {"a_b", false}, {SIXTY "abc", true},
		{SIXTY "abcd", false}};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(naming_is_valid(str_from(rows[i].name)), rows[i].want);
}

static void a_name_is_split_in_every_way_it_can_be_meant(void **state)
{
	struct identity got[NAMING_SPLITS_MAX];
	(void)state;
	assert_int_equal(naming_split(STR("default-rancherlb-web"), "rancherlb", got), 1);
	assert_true(str_eq_c(got[0].namespace, "default") && str_eq_c(got[0].name, "web"));
	assert_int_equal(naming_split(STR("a-rancherlb-b-rancherlb-c"), "rancherlb", got), 2);
	assert_true(str_eq_c(got[0].name, "b-rancherlb-c"));
	assert_true(str_eq_c(got[1].namespace, "a-rancherlb-b"));
	assert_int_equal(naming_split(STR("default-web"), "rancherlb", got), 0);
	assert_int_equal(naming_split(STR("-rancherlb-"), "rancherlb", got), 0);
	assert_int_equal(naming_split_legacy(STR("a-b-c"), got), 2);
	assert_true(str_eq_c(got[0].name, "b-c") && str_eq_c(got[1].namespace, "a-b"));
}

/* Defect 9: two namespaces with a Secret of the same name shared one certificate. */
static void defect_9_certificates_are_named_by_namespace_and_secret(void **state)
{
	static const struct {
		const char *namespace;
		const char *secret;
		const char *want; /* NULL: one with a hash */
	} rows[] = {
		{"default", "web-tls", "default-web-tls"},
		{"other", "web-tls", "other-web-tls"},
		{"a", "b-c", "a-b-c"},
		{"a-b", "c", NULL},
		{"default", "web.tls", NULL},
		{"default", SIXTY, NULL},
	};
	struct lb_name names[6];
	(void)state;
	for (size_t i = 0; i < 6; i++) {
		naming_certificate(
			str_from(rows[i].namespace), str_from(rows[i].secret), &names[i]);
		assert_true(naming_is_valid(str_from(names[i].text)));
		if (rows[i].want != NULL)
			assert_string_equal(names[i].text, rows[i].want);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(names[i].text, names[j].text);
	}
	struct lb_name here;
	struct lb_name there;
	naming_certificate_hashed(STR("stack-1"), STR("a"), STR("b"), &here);
	naming_certificate_hashed(STR("stack-2"), STR("a"), STR("b"), &there);
	assert_string_not_equal(here.text, there.text);
}

static void marks_survive_the_way_there_and_back(void **state)
{
	struct arena arena;
	struct lb_mark lb = {.identity = ingress("default", "web"), .has_scale = true};
	struct lb_mark got;
	(void)state;
	arena_init(&arena);
	struct str text = mark_of_lb(&lb, &arena);
	assert_string_equal(text.p, "managed by sluice: ingress=default/web scale");
	assert_true(mark_read_lb(text, &got));
	assert_true(
		str_eq_c(got.identity.namespace, "default") && str_eq_c(got.identity.name, "web"));
	assert_true(got.has_scale && got.identity.kind == IDENTITY_INGRESS);
	lb.identity.kind = IDENTITY_GROUP;
	lb.has_scale = false;
	assert_true(mark_read_lb(mark_of_lb(&lb, &arena), &got));
	assert_true(got.identity.kind == IDENTITY_GROUP && !got.has_scale);
	lb.identity.kind = IDENTITY_SERVICE;
	assert_true(mark_read_lb(mark_of_lb(&lb, &arena), &got));
	assert_true(got.identity.kind == IDENTITY_SERVICE);
	for (int kind = 0; kind < IDENTITY_KIND_COUNT; kind++) {
		struct identity back_again;
		lb.identity.kind = (enum identity_kind)kind;
		assert_true(naming_parse_text(naming_text(&lb.identity, &arena), &back_again));
		assert_true((int)back_again.kind == kind && str_eq_c(back_again.name, "web"));
	}
	assert_false(naming_parse_text(STR("pod default/web"), &got.identity));
	struct certificate_mark certificate = {
		STR("s"), STR("default"), STR("web.tls"), 0x123456789abcdef0};
	struct certificate_mark back;
	text = mark_of_certificate(&certificate, &arena);
	assert_true(mark_read_certificate(text, &back));
	assert_true(back.digest == certificate.digest && str_eq_c(back.stack, "s"));
	assert_true(str_eq_c(back.namespace, "default") && str_eq_c(back.secret, "web.tls"));
	arena_fini(&arena);
}

static void what_people_write_is_no_mark(void **state)
{
	static const char *const rows[] = {"", "web shop",
		"managed by sluice:", "managed by sluice: ", "managed by sluice: ingress=",
		"managed by sluice: ingress=web", "managed by sluice: ingress=/web",
		"managed by sluice: ingress=default/", "x managed by sluice: ingress=default/web",
		"managed by sluice: secret=a/b"};
	struct lb_mark lb;
	struct certificate_mark certificate;
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(mark_read_lb(str_from(rows[i]), &lb));
		assert_false(mark_read_certificate(str_from(rows[i]), &certificate));
	}
	/* A damaged digest is one that differs. */
	assert_true(mark_read_certificate(
		STR("managed by sluice: stack=s secret=a/b digest=zz"), &certificate));
	assert_true(certificate.digest == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(primary_names_are_those_of_the_original_where_rancher_takes_them),
		cmocka_unit_test(defect_18_every_name_has_a_valid_form),
		cmocka_unit_test(validity_is_ranchers),
		cmocka_unit_test(a_name_is_split_in_every_way_it_can_be_meant),
		cmocka_unit_test(defect_9_certificates_are_named_by_namespace_and_secret),
		cmocka_unit_test(marks_survive_the_way_there_and_back),
		cmocka_unit_test(what_people_write_is_no_mark),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
