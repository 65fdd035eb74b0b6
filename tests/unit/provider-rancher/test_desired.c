// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/desired.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static const struct pool *find_pool(void *ctx, struct str id)
{
	static struct pool pool;
	(void)ctx;
	pool = (struct pool){
		.service = {STR("default"), id, id}, .target_port = 8080, .has_selector = true};
	return &pool;
}

static struct str find_service(void *ctx, struct str uid)
{
	(void)ctx;
	return str_eq_c(uid, "unknown") ? STR_NONE : STR("1s9");
}

static enum certificate_answer find_certificate(
	void *ctx, struct str id, struct str *ret_id, uint64_t *ret_digest)
{
	(void)ctx;
	if (str_eq_c(id, "pending"))
		return CERTIFICATE_PENDING;
	if (str_eq_c(id, "failed"))
		return CERTIFICATE_FAILED;
	if (str_eq_c(id, "absent"))
		return CERTIFICATE_ABSENT;
	*ret_id = id;
	*ret_digest = id.len;
	return CERTIFICATE_READY;
}

static const struct desired_lookup lookup = {{NULL, find_pool, find_service}, find_certificate};

struct fixture {
	struct arena arena;
	struct load_balancer lb;
	struct listener listeners[4];
	struct str certificates[4];
	struct path_rule rule;
	struct virtual_host host;
	struct label labels[4];
	struct health_check checks[3];
	struct desired_options options;
	struct desired desired;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	arena_init(&f->arena);
	f->options.separator = "rancherlb";
	f->lb.namespace = STR("default");
	f->lb.name = STR("web");
	f->lb.listeners.items = f->listeners;
	f->lb.labels.items = f->labels;
	f->lb.health_checks.items = f->checks;
	f->rule = (struct path_rule){
		.path = STR("/foo"), .pool = STR("nginx"), .ingress = STR("default/web")};
	f->host = (struct virtual_host){
		.host = STR("foo.bar.com"), .match = HOST_EXACT, .rules = {&f->rule, 1}};
	f->listeners[0] = (struct listener){.port = 80, .protocol = LISTENER_HTTP};
	f->lb.listeners.count = 1;
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

static void build(struct fixture *f)
{
	desired_build(&f->lb, &f->host, 1, &lookup, &f->options, &f->arena, &f->desired);
}

static bool has_notice(struct fixture *f, const char *reason, const char *text)
{
	for (size_t i = 0; i < f->desired.notice_count; i++) {
		const struct lb_notice *notice = &f->desired.notices[i];
		if (str_eq_c(notice->reason, reason) &&
			memmem(notice->message.p, notice->message.len, text, strlen(text)) != NULL)
			return true;
	}
	return false;
}

static void add_https(struct fixture *f, const char *first, const char *second)
{
	f->certificates[0] = str_from(first);
	f->certificates[1] = str_from(second);
	f->listeners[1] = (struct listener){.port = 443,
		.protocol = LISTENER_HTTPS,
		.default_certificate = str_from(first),
		.certificates = {f->certificates, second != NULL ? 2 : 1}};
	f->lb.listeners.count = 2;
}

static void the_simplest_ingress(void **fixture)
{
	struct fixture *f = *fixture;
	build(f);
	const struct lb_spec *spec = &f->desired.spec;
	assert_int_equal(spec->rules.count, 1);
	const struct port_rule *rule = spec->rules.items;
	assert_true(rule->source_port == 80 && rule->target_port == 8080 && rule->priority == 1);
	assert_true(str_eq_c(rule->protocol, "http") && str_eq_c(rule->host, "foo.bar.com"));
	assert_true(str_eq_c(rule->path, "/foo") && str_eq_c(rule->service_id, "1s9"));
	assert_int_equal(spec->ports.count, 1);
	assert_int_equal(spec->scale, 0);
	assert_true(str_eq_c(spec->description, "managed by sluice: ingress=default/web"));
	assert_int_equal(f->desired.notice_count, 0);
	f->lb.scale = 3;
	build(f);
	assert_int_equal(f->desired.spec.scale, 3);
	assert_true(str_eq_c(
		f->desired.spec.description, "managed by sluice: ingress=default/web scale"));
}

/* Defect 8: one certificate for each Ingress, hosts ignored. */
static void defect_8_several_certificates_are_chosen_by_sni(void **fixture)
{
	struct fixture *f = *fixture;
	add_https(f, "1c1", "1c22");
	build(f);
	const struct lb_spec *spec = &f->desired.spec;
	assert_true(str_eq_c(spec->default_certificate, "1c1"));
	assert_int_equal(spec->certificates.count, 1);
	assert_true(str_eq_c(spec->certificates.items[0], "1c22"));
	assert_int_equal(spec->rules.count, 2);
	assert_true(str_eq_c(spec->rules.items[1].protocol, "https"));
	assert_true(spec->contents != 0);
	/* Without a default one, only those for SNI. */
	f->listeners[1].default_certificate = STR_NONE;
	build(f);
	assert_int_equal(f->desired.spec.default_certificate.len, 0);
	assert_int_equal(f->desired.spec.certificates.count, 2);
}

/* Defect 10: what a renewed certificate holds is part of what is wanted, so its load balancers are touched. */
static void defect_10_new_contents_of_a_certificate_are_a_difference(void **fixture)
{
	struct fixture *f = *fixture;
	struct lb_facets before;
	struct lb_facets after;
	add_https(f, "1c1", NULL);
	build(f);
	spec_facets(&f->desired.spec, &f->arena, &before);
	add_https(f, "1c99", NULL);
	build(f);
	spec_facets(&f->desired.spec, &f->arena, &after);
	assert_true((facets_differ(&after, &before) & PART_CONTENTS) != 0);
}

static void a_certificate_that_cannot_be_had_harms_only_itself(void **fixture)
{
	struct fixture *f = *fixture;
	add_https(f, "failed", "1c22");
	build(f);
	assert_int_equal(f->desired.spec.certificates.count, 1);
	assert_int_equal(f->desired.spec.rules.count, 2);
	assert_true(has_notice(f, "CertificateNotInRancher", "failed"));
	add_https(f, "absent", "failed");
	build(f);
	assert_int_equal(f->desired.spec.rules.count, 1);
	assert_int_equal(f->desired.spec.ports.count, 1);
	assert_true(has_notice(f, "NoCertificate", "port 443"));
	add_https(f, "pending", NULL);
	build(f);
	assert_true(f->desired.waits_for_certificates);
	assert_false(has_notice(f, "NoCertificate", "443"));
}

static void listeners_that_rancher_does_not_have_are_told(void **fixture)
{
	struct fixture *f = *fixture;
	f->listeners[1] = (struct listener){.port = 42, .protocol = LISTENER_HTTP};
	f->listeners[2] = (struct listener){.port = 80, .protocol = LISTENER_HTTPS};
	struct str range = STR("192.0.2.0/24");
	f->listeners[3] = (struct listener){.port = 5432,
		.protocol = LISTENER_TCP,
		.pool = STR("db"),
		.source_ranges = {&range, 1}};
	f->lb.listeners.count = 4;
	build(f);
	assert_int_equal(f->desired.spec.ports.count, 1);
	assert_true(has_notice(f, "ListenerNotSupported", "port 42, port 80"));
	/* Open to everybody is worse than not at all. */
	assert_true(has_notice(f, "SourceRangesNotSupported", "port 5432"));
}

static void a_service_of_type_load_balancer(void **fixture)
{
	struct fixture *f = *fixture;
	struct object_ref owner = {STR("default"), STR("db"), STR("u"), true};
	f->lb.name = STR("db");
	f->lb.owners.items = &owner;
	f->lb.owners.count = 1;
	f->listeners[0] =
		(struct listener){.port = 5432, .protocol = LISTENER_TCP, .pool = STR("db")};
	f->listeners[1] =
		(struct listener){.port = 5433, .protocol = LISTENER_TCP, .pool = STR("unknown")};
	f->lb.listeners.count = 2;
	f->checks[0] = (struct health_check){.service = STR("db")};
	f->lb.health_checks.count = 1;
	desired_build(&f->lb, NULL, 0, &lookup, &f->options, &f->arena, &f->desired);
	const struct lb_spec *spec = &f->desired.spec;
	assert_int_equal(spec->ports.count, 2);
	assert_int_equal(spec->rules.count, 1);
	assert_true(spec->rules.items[0].source_port == 5432);
	assert_true(spec->rules.items[0].target_port == 8080);
	assert_true(str_eq_c(spec->rules.items[0].protocol, "tcp"));
	assert_int_equal(spec->rules.items[0].host.len, 0);
	assert_int_equal(f->desired.unknown_count, 1);
	assert_true(str_eq_c(spec->description, "managed by sluice: service=default/db"));
	assert_true(str_eq_c(
		spec->config, "backend 5432_\n    option tcp-check\n    server $IP check\n"));
}

static void tls_is_passed_through_by_server_name(void **fixture)
{
	struct fixture *f = *fixture;
	struct path_rule rule = {
		.path = STR("/"), .pool = STR("nginx"), .ingress = STR("default/web")};
	struct virtual_host hosts[] = {f->host,
		{.host = STR("tls.example.com"),
			.match = HOST_EXACT,
			.passthrough = true,
			.rules = {&rule, 1}},
		{.host = STR("*.example.com"),
			.match = HOST_WILDCARD,
			.passthrough = true,
			.rules = {&rule, 1}}};
	f->listeners[1] = (struct listener){.port = 443, .protocol = LISTENER_TLS_PASSTHROUGH};
	f->lb.listeners.count = 2;
	desired_build(&f->lb, hosts, 3, &lookup, &f->options, &f->arena, &f->desired);
	const struct lb_spec *spec = &f->desired.spec;
	assert_int_equal(spec->rules.count, 2);
	assert_true(str_eq_c(spec->rules.items[0].protocol, "http"));
	assert_true(str_eq_c(spec->rules.items[0].host, "foo.bar.com"));
	assert_true(str_eq_c(spec->rules.items[1].protocol, "sni"));
	assert_true(str_eq_c(spec->rules.items[1].host, "tls.example.com"));
	assert_int_equal(spec->rules.items[1].path.len, 0);
	assert_true(has_notice(f, "PassthroughWildcardNotSupported", "*.example.com"));
	/* A port that ends TLS cannot pass it through as well; one without a certificate can. */
	add_https(f, "1c1", NULL);
	desired_build(&f->lb, hosts, 2, &lookup, &f->options, &f->arena, &f->desired);
	assert_true(str_eq_c(f->desired.spec.rules.items[1].protocol, "https"));
	assert_true(has_notice(f, "PassthroughNotSupported", "tls.example.com"));
	add_https(f, "absent", NULL);
	desired_build(&f->lb, hosts, 2, &lookup, &f->options, &f->arena, &f->desired);
	assert_true(str_eq_c(f->desired.spec.rules.items[1].protocol, "sni"));
}

static void labels_are_taken_from_a_safe_list(void **fixture)
{
	struct fixture *f = *fixture;
	f->labels[0] = (struct label){STR("io.rancher.scheduler.affinity.host_label"), STR("a=b")};
	f->labels[1] = (struct label){STR("io.rancher.container.agent.role"), STR("admin")};
	f->labels[2] = (struct label){STR("io.rancher.scheduler.global"), STR("true")};
	f->lb.labels.count = 3;
	build(f);
	assert_int_equal(f->desired.spec.labels.count, 2);
	assert_true(str_eq_c(
		f->desired.spec.labels.items[0].key, "io.rancher.scheduler.affinity:host_label"));
	assert_true(f->desired.spec.is_global);
	assert_true(has_notice(f, "LabelRefused", "io.rancher.container.agent.role"));
}

static void custom_config_needs_permission(void **fixture)
{
	struct fixture *f = *fixture;
	f->lb.custom_config = STR("global\n  maxconn 10");
	build(f);
	assert_int_equal(f->desired.spec.config.len, 0);
	assert_true(has_notice(f, "CustomConfigRefused", "--allow-custom-config"));
	f->options.allow_custom_config = true;
	build(f);
	assert_true(str_eq(f->desired.spec.config, f->lb.custom_config));
	assert_int_equal(f->desired.notice_count, 0);
}

/* Defect 6: one bad probe failed all Ingresses, and only the last backend of a Service got it. */
static void defect_6_health_checks_are_rendered_one_by_one(void **fixture)
{
	struct fixture *f = *fixture;
	f->checks[0] = (struct health_check){.service = STR("nginx"),
		.type = HEALTH_CHECK_HTTP,
		.path = STR("/healthz?x=1"),
		.port = 8081,
		.interval_ms = 10000,
		.timeout_ms = 2000,
		.rise = 1,
		.fall = 3};
	f->checks[1] = (struct health_check){.service = STR("not-used"), .type = HEALTH_CHECK_TCP};
	f->lb.health_checks.count = 2;
	add_https(f, "1c1", NULL);
	build(f);
	static const char want[] = "backend 80_foo_bar_com_foo\n"
				   "    timeout check 2000\n"
				   "    option httpchk GET \"/healthz?x=1\" \"HTTP/1.0\"\n"
				   "    server $IP check port 8081 inter 10000 rise 1 fall 3\n"
				   "backend 443_foo_bar_com_foo\n"
				   "    timeout check 2000\n"
				   "    option httpchk GET \"/healthz?x=1\" \"HTTP/1.0\"\n"
				   "    server $IP check port 8081 inter 10000 rise 1 fall 3\n";
	assert_true(str_eq_c(f->desired.spec.config, want));
	/* Behind custom configuration, and without the numbers that nobody gave. */
	f->options.allow_custom_config = true;
	f->lb.custom_config = STR("global");
	f->checks[0] = (struct health_check){.service = STR("nginx"), .type = HEALTH_CHECK_TCP};
	f->lb.listeners.count = 1;
	build(f);
	assert_true(str_eq_c(f->desired.spec.config, "global\nbackend 80_foo_bar_com_foo\n    "
						     "option tcp-check\n    server $IP check\n"));
}

static void nothing_that_a_tenant_writes_becomes_a_directive(void **fixture)
{
	static const char *const bad[] = {
		"", "healthz", "/a b", "/a\nuse_backend x", "/a\"b", "/a\\b", "/$IP", "/'", "/#"};
	struct fixture *f = *fixture;
	f->lb.health_checks.count = 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		f->checks[0] = (struct health_check){.service = STR("nginx"),
			.type = HEALTH_CHECK_HTTP,
			.path = str_from(bad[i])};
		build(f);
		assert_int_equal(f->desired.spec.config.len, 0);
		assert_true(has_notice(f, "HealthCheckRefused", "nginx"));
	}
}

static void a_service_that_rancher_does_not_know_leaves_the_rest(void **fixture)
{
	struct fixture *f = *fixture;
	struct path_rule rules[] = {f->rule,
		{.path = STR("/late"), .pool = STR("unknown"), .ingress = STR("default/web")}};
	f->host.rules.items = rules;
	f->host.rules.count = 2;
	build(f);
	assert_int_equal(f->desired.spec.rules.count, 1);
	assert_int_equal(f->desired.unknown_count, 1);
	assert_true(has_notice(f, "ServiceNotInRancher", "default/unknown"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_simplest_ingress),
		TEST(defect_8_several_certificates_are_chosen_by_sni),
		TEST(defect_10_new_contents_of_a_certificate_are_a_difference),
		TEST(a_certificate_that_cannot_be_had_harms_only_itself),
		TEST(listeners_that_rancher_does_not_have_are_told),
		TEST(a_service_of_type_load_balancer),
		TEST(tls_is_passed_through_by_server_name),
		TEST(labels_are_taken_from_a_safe_list),
		TEST(custom_config_needs_permission),
		TEST(defect_6_health_checks_are_rendered_one_by_one),
		TEST(nothing_that_a_tenant_writes_becomes_a_directive),
		TEST(a_service_that_rancher_does_not_know_leaves_the_rest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
