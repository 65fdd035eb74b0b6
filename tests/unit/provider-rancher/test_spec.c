// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/labels.h"
#include "provider-rancher/spec.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct port_rule rule(const char *host, const char *path, uint64_t priority)
{
	return (struct port_rule){.source_port = 80,
		.protocol = STR("http"),
		.host = str_from(host),
		.path = str_from(path),
		.service_id = STR("1s1"),
		.target_port = 8080,
		.priority = priority};
}

static unsigned differ(const struct lb_spec *wanted, const struct lb_spec *there)
{
	struct arena arena;
	struct lb_facets a;
	struct lb_facets b;
	arena_init(&arena);
	spec_facets(wanted, &arena, &a);
	spec_facets(there, &arena, &b);
	arena_fini(&arena);
	return facets_differ(&a, &b);
}

static void order_and_repetition_do_not_matter(void **state)
{
	struct port_rule one[] = {rule("a", "/", 1), rule("b", "/", 2)};
	struct port_rule two[] = {rule("b", "/", 2), rule("a", "/", 1)};
	struct published_port ports_one[] = {{80, 80, false}, {443, 443, false}};
	struct published_port ports_two[] = {{443, 443, false}, {80, 80, false}, {80, 80, false}};
	struct label labels_one[] = {{STR("a"), STR("1")}, {STR("b"), STR("2")}};
	struct label labels_two[] = {{STR("b"), STR("2")}, {STR("a"), STR("1")}};
	struct str ids_one[] = {STR("1c2"), STR("1c3")};
	struct str ids_two[] = {STR("1c3"), STR("1c1"), STR("1c2"), STR("1c2")};
	struct lb_spec left = {.rules = {one, 2},
		.ports = {ports_one, 2},
		.labels = {labels_one, 2},
		.certificates = {ids_one, 2},
		.default_certificate = STR("1c1"),
		.config = STR("x\n")};
	struct lb_spec right = {.rules = {two, 2},
		.ports = {ports_two, 3},
		.labels = {labels_two, 2},
		.certificates = {ids_two, 4},
		.default_certificate = STR("1c1"),
		.config = STR("x")};
	(void)state;
	assert_int_equal(differ(&left, &right), 0);
}

static void each_part_is_compared_on_its_own(void **state)
{
	struct port_rule rules[] = {rule("a", "/", 1)};
	struct published_port port = {80, 80, false};
	struct label label = {STR("io.rancher.lb_service.target"), STR("any")};
	struct stickiness stickiness = {.cookie = STR("c")};
	const struct lb_spec base = {.rules = {rules, 1}, .scale = 2, .description = STR("d")};
	struct lb_spec other;
	(void)state;
	other = base;
	other.stickiness = &stickiness;
	assert_int_equal(differ(&base, &other), PART_CONFIG);
	other = base;
	other.config = STR("global");
	assert_int_equal(differ(&base, &other), PART_CONFIG);
	other = base;
	other.default_certificate = STR("1c1");
	assert_int_equal(differ(&base, &other), PART_CONFIG);
	other = base;
	other.ports.items = &port;
	other.ports.count = 1;
	assert_int_equal(differ(&base, &other), PART_PORTS);
	other = base;
	other.labels.items = &label;
	other.labels.count = 1;
	assert_int_equal(differ(&base, &other), PART_LABELS);
	other = base;
	other.description = STR("e");
	assert_int_equal(differ(&base, &other), PART_DESCRIPTION);
	other = base;
	other.contents = 1;
	assert_int_equal(differ(&base, &other), PART_CONTENTS);
	other = base;
	other.scale = 3;
	assert_int_equal(differ(&base, &other), PART_SCALE);
	/* No scale is asked for, or one instance on every host: the scale is not our business. */
	other = base;
	other.scale = 0;
	assert_int_equal(differ(&other, &base), 0);
	other.scale = 5;
	other.is_global = true;
	assert_int_equal(differ(&other, &base), 0);
}

/* Defect 15: a change of case only was never applied. */
static void defect_15_case_matters(void **state)
{
	struct port_rule lower[] = {rule("a", "/foo", 1)};
	struct port_rule upper[] = {rule("a", "/Foo", 1)};
	struct lb_spec left = {.rules = {lower, 1}, .config = STR("Global")};
	struct lb_spec right = {.rules = {upper, 1}, .config = STR("Global")};
	(void)state;
	assert_int_equal(differ(&left, &right), PART_CONFIG);
	right.rules.items = lower;
	right.config = STR("global");
	assert_int_equal(differ(&left, &right), PART_CONFIG);
}

/* Defect 37: whoever may annotate an Ingress could set any label on a container with credentials. */
static void defect_37_only_safe_labels_are_taken(void **state)
{
	static const struct {
		const char *in;
		const char *key;
		bool is_safe;
	} rows[] = {
		{"io.rancher.scheduler.global", "io.rancher.scheduler.global", true},
		{"io.rancher.scheduler.affinity.host_label",
			"io.rancher.scheduler.affinity:host_label", true},
		{"io.rancher.scheduler.affinity:host_label_soft_ne",
			"io.rancher.scheduler.affinity:host_label_soft_ne", true},
		{"io.rancher.scheduler.affinity.container_label",
			"io.rancher.scheduler.affinity:container_label", true},
		{"io.rancher.scheduler.affinity.host.x", "io.rancher.scheduler.affinity:host.x",
			true},
		{"io.rancher.scheduler.affinity:", "io.rancher.scheduler.affinity:", false},
		{"io.rancher.lb_service.target", "io.rancher.lb_service.target", true},
		{"io.rancher.service.external_dns", "io.rancher.service.external_dns", true},
		{"io.rancher.service.external_dns_name_template",
			"io.rancher.service.external_dns_name_template", false},
		{"io.rancher.container.agent.role", "io.rancher.container.agent.role", false},
		{"io.rancher.container.create_agent", "io.rancher.container.create_agent", false},
		{"io.rancher.container.network", "io.rancher.container.network", false},
		{"io.rancher.sidekicks", "io.rancher.sidekicks", false},
		{"io.rancher.stack.name", "io.rancher.stack.name", false},
		{"com.example", "com.example", false},
		{"", "", false},
	};
	struct arena arena;
	(void)state;
	arena_init(&arena);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct str key = label_key(str_from(rows[i].in), &arena);
		assert_true(str_eq_c(key, rows[i].key));
		assert_int_equal(label_is_safe(key), rows[i].is_safe);
	}
	assert_true(label_value_is_good(STR("a=b, c=d")));
	assert_false(label_value_is_good(STR("a\nb")));
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_and_repetition_do_not_matter),
		cmocka_unit_test(each_part_is_compared_on_its_own),
		cmocka_unit_test(defect_15_case_matters),
		cmocka_unit_test(defect_37_only_safe_labels_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
