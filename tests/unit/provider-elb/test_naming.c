// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/naming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static int set_up(void **ret_arena)
{
	struct arena *arena = test_malloc(sizeof(*arena));
	arena_init(arena);
	*ret_arena = arena;
	return 0;
}

static int tear_down(void **arena)
{
	arena_fini(*arena);
	test_free(*arena);
	return 0;
}

static struct load_balancer owner(const char *namespace, const char *name)
{
	return (struct load_balancer){.key = {.id = STR("default/web")},
		.namespace = str_from(namespace),
		.name = str_from(name)};
}

/* AWS: 32 characters, letters, digits and hyphens, none at the ends, no two in a row. */
static void assert_valid(struct str name)
{
	assert_in_range(name.len, 1, NAME_LEN_MAX);
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		bool is_hyphen = c == '-';
		assert_true(is_hyphen || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9'));
		assert_false(is_hyphen && (i == 0 || i + 1 == name.len || name.p[i - 1] == '-'));
	}
}

static void names_say_whose_they_are(void **arena)
{
	static const struct {
		const char *namespace;
		const char *name;
		const char *begins;
	} cases[] = {
		{"default", "web", "sl-default-web-"},
		{"a-long-namespace", "a-long-name", "sl-a-long-n-a-long-n-"},
		{"kube-system", "shop.example.com", "sl-kube-sys-shop-exa-"},
		{"a.-.b", "-x-", "sl-a-b-x-"},
		{"--", "..", "sl-"},
		{"", "", "sl-"},
		{"abcdefg-h", "12345678-", "sl-abcdefg-12345678-"},
		{"UP", "\xc3\xa4z", "sl-UP-z-"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct load_balancer lb = owner(cases[i].namespace, cases[i].name);
		struct str name =
			naming_balancer(*arena, STR("test"), &lb, ELB_APPLICATION, STR("internal"));
		assert_valid(name);
		assert_true(str_starts_with(name, str_from(cases[i].begins)));
		assert_int_equal(name.len, strlen(cases[i].begins) + 10);
	}
}

static void what_forces_a_replacement_is_in_the_name_of_a_balancer(void **arena)
{
	struct load_balancer lb = owner("default", "web");
	struct load_balancer other = lb;
	other.key.id = STR("default/other");
	struct str names[] = {
		naming_balancer(*arena, STR("test"), &lb, ELB_APPLICATION, STR("internal")),
		naming_balancer(*arena, STR("test"), &lb, ELB_NETWORK, STR("internal")),
		naming_balancer(*arena, STR("test"), &lb, ELB_APPLICATION, STR("internet-facing")),
		naming_balancer(*arena, STR("prod"), &lb, ELB_APPLICATION, STR("internal")),
		naming_balancer(*arena, STR("test"), &other, ELB_APPLICATION, STR("internal")),
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(names[i], names[k]));
	}
	assert_true(str_eq(names[0],
		naming_balancer(*arena, STR("test"), &lb, ELB_APPLICATION, STR("internal"))));
	/* What is found by its name after an update must have the name it had. */
	assert_string_equal(names[0].p, "sl-default-web-bdac33c7ac");
}

static void what_forces_a_replacement_is_in_the_name_of_a_group(void **arena)
{
	struct load_balancer lb = owner("default", "web");
	const struct elb_group groups[] = {
		{.protocol = STR("HTTP"), .version = STR("HTTP1"), .port = 80},
		{.protocol = STR("HTTPS"), .version = STR("HTTP1"), .port = 80},
		{.protocol = STR("HTTP"), .version = STR("HTTP2"), .port = 80},
		{.protocol = STR("HTTP"), .version = STR("HTTP1"), .port = 81},
		{.protocol = STR("HTTP"), .version = STR("HTTP1"), .port = 80, .is_ipv6 = true},
	};
	struct str names[sizeof(groups) / sizeof(groups[0])];
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
		names[i] = naming_group(*arena, STR("test"), &lb, ELB_APPLICATION, STR("internal"),
			STR("default/web:80"), &groups[i]);
		assert_valid(names[i]);
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(names[i], names[k]));
	}
	/* A health check is changed in place. */
	struct elb_group other = groups[0];
	other.health_check.interval_s = 7;
	assert_true(str_eq(names[0], naming_group(*arena, STR("test"), &lb, ELB_APPLICATION,
					     STR("internal"), STR("default/web:80"), &other)));
	assert_false(str_eq(names[0], naming_group(*arena, STR("test"), &lb, ELB_APPLICATION,
					      STR("internal"), STR("default/web:81"), &other)));
	assert_false(str_eq(names[0], naming_group(*arena, STR("test"), &lb, ELB_NETWORK,
					      STR("internal"), STR("default/web:80"), &other)));
	assert_string_equal(names[0].p, "sl-default-web-6085dfdf1f");
}

static void identities_name_the_resource(void **arena)
{
	struct str lb = STR("default/web");
	assert_string_equal(
		naming_balancer_identity(*arena, lb, ELB_APPLICATION).p, "default/web/alb");
	assert_string_equal(naming_balancer_identity(*arena, lb, ELB_NETWORK).p, "default/web/nlb");
	assert_string_equal(
		naming_listener_identity(*arena, lb, 8443).p, "default/web/listener/8443");
	assert_string_equal(naming_group_identity(*arena, lb, STR("default/web:80")).p,
		"default/web/pool/default/web:80");
	assert_string_equal(naming_security_group_identity(*arena, lb, ELB_NETWORK).p,
		"default/web/security-group/nlb");
	assert_string_equal(naming_certificate_identity(*arena, STR("default/tls")).p,
		"certificate/default/tls");
}

static void a_rule_is_its_host_match_and_path(void **arena)
{
	struct virtual_host host = {.host = STR("a.example.com"), .match = HOST_EXACT};
	struct path_rule rule = {.path = STR("/a"), .match = PATH_PREFIX, .pool = STR("p")};
	struct str lb = STR("default/web");
	struct str first = naming_rule_identity(*arena, lb, &host, &rule);
	assert_true(str_starts_with(first, STR("default/web/rule/")));
	assert_int_equal(first.len, strlen("default/web/rule/") + 16);
	rule.pool = STR("other");
	assert_true(str_eq(first, naming_rule_identity(*arena, lb, &host, &rule)));
	rule.match = PATH_EXACT;
	struct str exact = naming_rule_identity(*arena, lb, &host, &rule);
	assert_false(str_eq(first, exact));
	rule.path = STR("/a/");
	assert_false(str_eq(exact, naming_rule_identity(*arena, lb, &host, &rule)));
	host.host = STR("b.example.com");
	struct str other = naming_rule_identity(*arena, lb, &host, &rule);
	assert_false(str_eq(naming_rule_identity(*arena, lb, &host, NULL), other));
	/* Where one text ends and the next begins counts. */
	struct virtual_host any = {.match = HOST_ANY};
	struct path_rule long_path = {.path = STR("b.example.com/a/"), .match = PATH_EXACT};
	assert_false(str_eq(naming_rule_identity(*arena, lb, &any, &long_path), other));
}

static void tags_hold_any_text(void **arena)
{
	char longest[TAG_VALUE_LEN_MAX + 2];
	memset(longest, 'a', sizeof(longest));
	struct str fits = {longest, TAG_VALUE_LEN_MAX};
	const struct {
		struct str text;
		bool is_kept;
	} cases[] = {
		{STR("default/web"), true},
		{STR(""), true},
		{STR("a b_.:/=+-@9"), true},
		{fits, true},
		{{longest, TAG_VALUE_LEN_MAX + 1}, false},
		{STR(" a"), false},
		{STR("a "), false},
		{STR("a|b"), false},
		{STR("*.example.com"), false},
		{STR("\xc3\xa4"), false},
		{{"a\0b", 3}, false},
		/* It would look like the hash of another. */
		{STR("sha256:00"), false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str value = naming_tag_value(*arena, cases[i].text);
		assert_int_equal(str_eq(value, cases[i].text), cases[i].is_kept);
		if (cases[i].is_kept)
			continue;
		assert_true(str_starts_with(value, STR("sha256:")));
		assert_int_equal(value.len, 7 + 64);
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(value, naming_tag_value(*arena, cases[k].text)));
	}
	/* The length in eight bytes comes before the text. */
	assert_string_equal(naming_tag_value(*arena, STR("|")).p,
		"sha256:253f82d366d27b7c51baa9e4395bd157f4ad79f56b07e74317b8ec4131468463");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(names_say_whose_they_are, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_forces_a_replacement_is_in_the_name_of_a_balancer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			what_forces_a_replacement_is_in_the_name_of_a_group, set_up, tear_down),
		cmocka_unit_test_setup_teardown(identities_name_the_resource, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_rule_is_its_host_match_and_path, set_up, tear_down),
		cmocka_unit_test_setup_teardown(tags_hold_any_text, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
