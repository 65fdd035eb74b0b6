// SPDX-License-Identifier: Apache-2.0
#include "translator/plan.h"

#include "tests/unit/translator/help.h"

static const struct source_settings settings = {
	.ingress_class = STR("rancher"), .without_class = true};

struct planned {
	struct arena arena;
	struct diag_list diags;
	struct plan plan;
};

static void plan_it(struct planned *p, const struct ingress_record *ingress, enum grouping grouping)
{
	struct plan_context context = {.class = {.settings = &settings}, .grouping = grouping};
	arena_init(&p->arena);
	diag_list_init(&p->diags, &p->arena);
	plan_make(ingress, &context, &p->arena, &p->plan, &p->diags);
}

static struct ingress_record ingress_of(void)
{
	return (struct ingress_record){
		.key = {RECORD_INGRESS, STR("ns"), STR("web"), STR("u")}, .created = 5};
}

static void balancers_are_named_by_grouping_and_group(void **state)
{
	struct annotation group = {STR("sluice.io/group"), STR("g")};
	const struct {
		enum grouping grouping;
		bool has_group;
		const char *id;
		enum balancer_scope scope;
	} rows[] = {
		{GROUPING_PER_INGRESS, false, "ns/web", BALANCER_OF_INGRESS},
		{GROUPING_PER_INGRESS, true, "ns/group:g", BALANCER_OF_GROUP},
		{GROUPING_MERGED, false, "class/rancher", BALANCER_OF_CLASS},
		{GROUPING_MERGED, true, "class/rancher", BALANCER_OF_CLASS},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ingress_record ingress = ingress_of();
		struct planned p;
		ingress.annotations.items = &group;
		ingress.annotations.count = rows[i].has_group;
		plan_it(&p, &ingress, rows[i].grouping);
		assert_text(p.plan.balancer, rows[i].id);
		assert_int_equal(p.plan.scope, rows[i].scope);
		arena_fini(&p.arena);
	}
}

static void pools_are_named_by_service_and_port(void **state)
{
	static const struct {
		struct ingress_backend backend;
		const char *id;
		const char *reasons;
	} rows[] = {
		{{.service = STR("web"), .port_number = 80}, "ns/web:80", ""},
		{{.service = STR("web"), .port_name = STR("http")}, "ns/web:http", ""},
		{{.service = STR("web"), .port_name = STR("80")}, "ns/web:name:80", ""},
		{{.resource = STR("a/B c")}, "ns/:none", "InvalidBackend"},
		{{.service = STR("web")}, "ns/:none", "InvalidBackend"},
		{{.port_number = 80}, "ns/:none", "InvalidBackend"},
		{{.service = STR("a:b"), .port_number = 80}, "ns/:none", "InvalidBackend"},
		{{.service = STR("web"), .port_name = STR("a|b")}, "ns/:none", "InvalidBackend"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ingress_record ingress = ingress_of();
		struct ingress_backend backend = rows[i].backend;
		struct planned p;
		ingress.default_backend = &backend;
		plan_it(&p, &ingress, GROUPING_PER_INGRESS);
		assert_text(p.plan.default_pool, rows[i].id);
		assert_int_equal(p.plan.pools.count, 1);
		assert_string_equal(reasons_of(&p.diags), rows[i].reasons);
		arena_fini(&p.arena);
	}
}

static struct ingress_record two_hosts(struct ingress_backend *fallback)
{
	static struct ingress_path path = {.path = STR("/a"),
		.type = PATH_PREFIX,
		.backend = {.service = STR("web"), .port_number = 80}};
	static struct ingress_rule rules[] = {
		{.host = STR("B.example"), .paths = {&path, 1}}, {.host = STR("a.example")}};
	struct ingress_record ingress = ingress_of();
	ingress.rules.items = rules;
	ingress.rules.count = 2;
	ingress.default_backend = fallback;
	return ingress;
}

static void hosts_are_sorted_and_fall_back_to_their_own_default(void **state)
{
	struct ingress_backend fallback = {.service = STR("rest"), .port_number = 81};
	struct ingress_record ingress = two_hosts(&fallback);
	struct planned alone;
	struct planned merged;
	(void)state;
	plan_it(&alone, &ingress, GROUPING_PER_INGRESS);
	plan_it(&merged, &ingress, GROUPING_MERGED);
	assert_int_equal(alone.plan.hosts.count, 2);
	assert_text(alone.plan.hosts.items[0].host, "a.example");
	assert_text(alone.plan.hosts.items[1].host, "b.example");
	/* "a.example" has no paths: it goes to the default backend in any case. */
	assert_int_equal(alone.plan.hosts.items[0].claims.count, 1);
	assert_text(alone.plan.hosts.items[0].claims.items[0].pool, "ns/rest:81");
	/* The rest of "b.example" does only where the load balancer is shared. */
	assert_int_equal(alone.plan.hosts.items[1].claims.count, 1);
	assert_int_equal(merged.plan.hosts.items[1].claims.count, 2);
	assert_true(merged.plan.hosts.items[1].claims.items[1].is_implied);
	arena_fini(&alone.arena);
	arena_fini(&merged.arena);
}

static void hosts_without_anything_are_still_known(void **state)
{
	struct ingress_record ingress = two_hosts(NULL);
	struct planned p;
	(void)state;
	plan_it(&p, &ingress, GROUPING_PER_INGRESS);
	assert_int_equal(p.plan.hosts.items[0].claims.count, 0);
	assert_string_equal(reasons_of(&p.diags), "NoBackend");
	assert_non_null(plan_find_host(&p.plan, STR("a.example")));
	assert_non_null(plan_find_host(&p.plan, STR("b.example")));
	assert_null(plan_find_host(&p.plan, STR("c.example")));
	assert_null(plan_find_host(&p.plan, STR("")));
	arena_fini(&p.arena);
}

static void a_shared_balancer_takes_no_orders_from_one(void **state)
{
	struct annotation annotations[] = {{STR("http.port"), STR("81")}, {STR("scale"), STR("2")}};
	struct ingress_record ingress = ingress_of();
	struct planned p;
	(void)state;
	ingress.annotations.items = annotations;
	ingress.annotations.count = 2;
	plan_it(&p, &ingress, GROUPING_MERGED);
	assert_int_equal(p.plan.values.scale, 0);
	assert_int_equal(p.plan.values.http_port, 0);
	assert_int_equal(p.plan.ports.count, 1);
	assert_int_equal(p.plan.ports.items[0].port, 81);
	assert_string_equal(reasons_of(&p.diags), "SharedLoadBalancer");
	assert_false(plan_shapes_balancer(&p.plan));
	arena_fini(&p.arena);
}

static void comparisons_find_what_differs(void **state)
{
	struct ingress_backend fallback = {.service = STR("rest"), .port_number = 81};
	struct annotation scale = {STR("scale"), STR("2")};
	struct ingress_tls tls = {.secret = STR("t")};
	struct ingress_record base = two_hosts(NULL);
	struct ingress_record changed[] = {base, base, base, base, base};
	const bool same_balancer[] = {true, false, false, false, false};
	const bool same_host[] = {true, false, true, true, false};
	struct planned p;
	(void)state;
	changed[1].key.uid = STR("other");
	changed[2].annotations.items = &scale;
	changed[2].annotations.count = 1;
	changed[3].tls.items = &tls;
	changed[3].tls.count = 1;
	changed[4].default_backend = &fallback; /* "a.example" has no paths */
	plan_it(&p, &base, GROUPING_PER_INGRESS);
	for (size_t i = 0; i < COUNT_OF(changed); i++) {
		struct planned q;
		plan_it(&q, &changed[i], GROUPING_PER_INGRESS);
		assert_int_equal(plan_same_balancer(&p.plan, &q.plan), same_balancer[i]);
		assert_int_equal(plan_same_host(&p.plan, &p.plan.hosts.items[0], &q.plan,
					 &q.plan.hosts.items[0]),
			same_host[i]);
		arena_fini(&q.arena);
	}
	arena_fini(&p.arena);
}

static void age_decides_then_the_name(void **state)
{
	struct plan a = {.created = 1, .self = {STR("b"), STR("b"), STR("")}};
	struct plan b = {.created = 2, .self = {STR("a"), STR("a"), STR("")}};
	struct plan c = {.created = 2, .self = {STR("a"), STR("b"), STR("")}};
	(void)state;
	assert_true(plan_compare_ages(&a, &b) < 0);
	assert_true(plan_compare_ages(&b, &c) < 0);
	assert_true(plan_compare_ages(&c, &a) > 0);
	assert_int_equal(plan_compare_ages(&c, &c), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(balancers_are_named_by_grouping_and_group),
		cmocka_unit_test(pools_are_named_by_service_and_port),
		cmocka_unit_test(hosts_are_sorted_and_fall_back_to_their_own_default),
		cmocka_unit_test(hosts_without_anything_are_still_known),
		cmocka_unit_test(a_shared_balancer_takes_no_orders_from_one),
		cmocka_unit_test(comparisons_find_what_differs),
		cmocka_unit_test(age_decides_then_the_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
