// SPDX-License-Identifier: Apache-2.0
#include "translator/layer4.h"

#include "tests/unit/translator/help.h"

static const struct source_settings settings = {
	.ingress_class = STR("rancher"), .load_balancer_class = STR("ours")};
static const struct source_settings with_default = {.ingress_class = STR("rancher"),
	.load_balancer_class = STR("ours"),
	.without_load_balancer_class = true};

struct planned {
	struct arena arena;
	struct diag_list diags;
	struct plan plan;
};

static void plan_it(
	struct planned *p, const struct service_record *service, const struct plan_context *context)
{
	arena_init(&p->arena);
	diag_list_init(&p->diags, &p->arena);
	layer4_plan(service, context, &p->arena, &p->plan, &p->diags);
}

static void whose_it_is(void **state)
{
	static const struct {
		struct service_record service;
		const struct source_settings *settings;
		bool no_tcp;
		bool released;
		bool ours;
		bool leaving;
	} rows[] = {
		{{.type = SERVICE_LOAD_BALANCER, .load_balancer_class = STR("ours")}, &settings,
			.ours = true},
		{{.type = SERVICE_LOAD_BALANCER, .load_balancer_class = STR("x")}, &settings},
		{{.type = SERVICE_LOAD_BALANCER}, &settings},
		{{.type = SERVICE_LOAD_BALANCER}, &with_default, .ours = true},
		{{.type = SERVICE_CLUSTER_IP, .load_balancer_class = STR("ours")}, &settings},
		{{.type = SERVICE_LOAD_BALANCER,
			 .load_balancer_class = STR("ours"),
			 .deleting = true},
			&settings},
		{{.type = SERVICE_LOAD_BALANCER,
			 .load_balancer_class = STR("ours"),
			 .deleting = true,
			 .finalizer = true},
			&settings, .ours = true, .leaving = true},
		{{.type = SERVICE_CLUSTER_IP, .finalizer = true}, &settings, .ours = true,
			.leaving = true},
		{{.type = SERVICE_CLUSTER_IP, .finalizer = true}, &settings, .released = true,
			.leaving = true},
		{{.type = SERVICE_CLUSTER_IP, .finalizer = true}, &settings, .no_tcp = true,
			.leaving = true},
		{{.type = SERVICE_LOAD_BALANCER, .load_balancer_class = STR("ours")}, &settings,
			.no_tcp = true},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct planned p;
		struct plan_context context = {.class = {.settings = rows[i].settings},
			.cannot = {.tcp = rows[i].no_tcp, .udp = rows[i].no_tcp},
			.is_released = rows[i].released};
		plan_it(&p, &rows[i].service, &context);
		assert_int_equal(p.plan.is_ours, rows[i].ours);
		assert_int_equal(p.plan.is_leaving, rows[i].leaving);
		assert_true(p.plan.self.is_service);
		arena_fini(&p.arena);
	}
}

static void ports_are_told_one_by_one(void **state)
{
	static struct service_port ports[] = {{.port = 443}, {.port = 53, .protocol = PROTOCOL_UDP},
		{.port = 22, .name = STR("ssh")}};
	static const struct service_record service = {
		.key = {.namespace = STR("ns"), .name = STR("git"), .uid = STR("u")},
		.type = SERVICE_LOAD_BALANCER,
		.ports = {ports, 3}};
	static const struct {
		enum grouping grouping;
		const char *balancer;
		bool no_udp;
		size_t count;
		const char *reasons;
	} rows[] = {
		{GROUPING_PER_INGRESS, "ns/service:git", true, 2, "PortNotServed"},
		{GROUPING_PER_INGRESS, "ns/service:git", false, 3, ""},
		{GROUPING_MERGED, "class/rancher", true, 1, "PortNotServed PortNotServed"},
		{GROUPING_MERGED, "class/rancher", false, 2, "PortNotServed"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct planned p;
		struct plan_context context = {.class = {.settings = &with_default},
			.grouping = rows[i].grouping,
			.cannot = {.udp = rows[i].no_udp},
			.http_port = 80,
			.https_port = 443};
		plan_it(&p, &service, &context);
		assert_text(p.plan.balancer, rows[i].balancer);
		assert_int_equal(p.plan.ports.count, rows[i].count);
		assert_int_equal(p.plan.ports.items[0].port, 22);
		assert_text(p.plan.ports.items[0].pool, "ns/git:tcp:22");
		assert_int_equal(p.plan.pools.count, rows[i].count);
		assert_non_null(plan_find_pool(&p.plan, STR("ns/git:tcp:22")));
		assert_string_equal(reasons_of(&p.diags), rows[i].reasons);
		arena_fini(&p.arena);
	}
}

/* One number of TCP and of UDP is two ports, with a pool each; where there is no TCP, only one of them is served. */
static void a_number_of_both(void **state)
{
	static struct service_port ports[] = {
		{.port = 53, .protocol = PROTOCOL_UDP}, {.port = 53}, {.port = 99, .protocol = 2}};
	static const struct service_record service = {
		.key = {.namespace = STR("ns"), .name = STR("dns"), .uid = STR("u")},
		.type = SERVICE_LOAD_BALANCER,
		.ports = {ports, 3}};
	static const struct {
		bool no_tcp;
		bool no_udp;
		const char *pools[2]; /* in the order of the ports; NULL: no more */
		const char *reasons;
	} rows[] = {
		{false, false, {"ns/dns:tcp:53", "ns/dns:udp:53"}, "PortNotServed"},
		{true, false, {"ns/dns:udp:53"}, "PortNotServed PortNotServed"},
		{false, true, {"ns/dns:tcp:53"}, "PortNotServed PortNotServed"},
	};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct planned p;
		struct plan_context context = {.class = {.settings = &with_default},
			.grouping = GROUPING_MERGED,
			.cannot = {.tcp = rows[i].no_tcp, .udp = rows[i].no_udp}};
		plan_it(&p, &service, &context);
		for (size_t k = 0; k < p.plan.ports.count; k++)
			assert_text(p.plan.ports.items[k].pool, rows[i].pools[k]);
		assert_int_equal(p.plan.ports.count, rows[i].pools[1] != NULL ? 2 : 1);
		assert_string_equal(reasons_of(&p.diags), rows[i].reasons);
		arena_fini(&p.arena);
	}
}

/* Of the ConfigMap of ingress-nginx they end as they did there, of Services when nothing comes any more. */
static void when_sessions_end(void **state)
{
	static struct service_port port = {
		.port = 53, .protocol = PROTOCOL_UDP, .name = STR("a/b"), .target_number = 54};
	static const struct {
		const char *name;
		const char *pool;
		uint64_t idle_s;
		uint64_t responses;
	} rows[] = {{"udp.udp", "a/b:udp:54", 600, 1}, {"dns", "ns/dns:udp:53", 0, 0}};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct planned p;
		struct service_record service = {
			.key = {.namespace = STR("ns"), .name = str_from(rows[i].name)},
			.type = SERVICE_LOAD_BALANCER,
			.ports = {&port, 1}};
		struct plan_context context = {
			.class = {.settings = &with_default}, .grouping = GROUPING_MERGED};
		plan_it(&p, &service, &context);
		assert_int_equal(p.plan.ports.count, 1);
		assert_text(p.plan.ports.items[0].pool, rows[i].pool);
		assert_int_equal(p.plan.ports.items[0].idle_s, rows[i].idle_s);
		assert_int_equal(p.plan.ports.items[0].responses, rows[i].responses);
		arena_fini(&p.arena);
	}
}

static void networks_are_kept_or_nothing_is_served(void **state)
{
	static const struct {
		const char *range;
		bool cannot;
		bool refused;
	} rows[] = {
		{"10.0.0.0/8", false, false},
		{"0.0.0.0/0", false, false},
		{"::/0", false, false},
		{"2001:db8::/32", false, false},
		{"10.0.0.0/8", true, true},
		{"10.0.0.1", false, true},
		{"10.0.0.0/33", false, true},
		{"::/129", false, true},
		{"10.0.0.0/", false, true},
		{"10.0.0.0/-1", false, true},
		{"/8", false, true},
		{"10.0.0/8", false, true},
		{"10.0.0.0/8\n", false, true},
		{"", false, true},
	};
	static struct service_port port = {.port = 22};
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct str range = str_from(rows[i].range);
		struct service_record service = {.type = SERVICE_LOAD_BALANCER,
			.ports = {&port, 1},
			.source_ranges = {&range, 1}};
		struct plan_context context = {.class = {.settings = &with_default},
			.cannot = {.source_ranges = rows[i].cannot}};
		struct planned p;
		plan_it(&p, &service, &context);
		assert_int_equal(p.plan.is_refused, rows[i].refused);
		assert_int_equal(p.plan.ports.count, rows[i].refused ? 0 : 1);
		assert_string_equal(
			reasons_of(&p.diags), rows[i].refused ? "SourceRangesRefused" : "");
		arena_fini(&p.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whose_it_is),
		cmocka_unit_test(ports_are_told_one_by_one),
		cmocka_unit_test(a_number_of_both),
		cmocka_unit_test(when_sessions_end),
		cmocka_unit_test(networks_are_kept_or_nothing_is_served),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
