// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/filter.h"

#include "common/json.h"
#include "provider-elb/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../provider-common/stage.h"

enum { LONG_NAME_LEN = 253, FILES_MAX = 8, NOTICES_TEXT_LEN = 4096 };

struct file {
	char *name;
	char *content;
};

struct fixture {
	struct stage stage;
	struct file files[FILES_MAX];
	size_t file_count;
	char notices[NOTICES_TEXT_LEN];
};

static int set_up(void **ret_fixture)
{
	static const struct state_config config = {.want_touched = false};
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	stage_init(&f->stage, &config);
	state_begin_snapshot(f->stage.state);
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	for (size_t i = 0; i < f->file_count; i++) {
		free(f->files[i].name);
		free(f->files[i].content);
	}
	stage_fini(&f->stage);
	free(f);
	return 0;
}

static void on_file(void *ctx, const char *name, struct str content)
{
	struct fixture *f = ctx;
	assert_true(f->file_count < FILES_MAX);
	f->files[f->file_count++] = (struct file){str_dup(str_from(name)), str_dup(content)};
}

static void on_notices(void *ctx, const struct object *load_balancer,
	const struct lb_notice *notices, size_t count)
{
	struct fixture *f = ctx;
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(f->notices);
		snprintf(f->notices + len, sizeof(f->notices) - len, "%.*s: %.*s@%.*s%.*s\n",
			STR_FMT(object_id(load_balancer)), STR_FMT(notices[i].reason),
			STR_FMT(notices[i].ingress), STR_FMT(notices[i].service));
	}
}

static void render(struct fixture *f)
{
	static char cluster[] = "render";
	static char policy[] = "policy";
	static char path[] = "/";
	static char codes[] = "200-499";
	struct config config = {.cluster = cluster,
		.ssl_policy = policy,
		.health_check_path = path,
		.health_check_codes = codes,
		.health_check_interval = 15,
		.health_check_timeout = 5,
		.deregistration_delay = 30};
	struct state_commit commit;
	state_commit(f->stage.state, &commit);
	struct filter_job job = {.state = f->stage.state,
		.commit = &commit,
		.on_file = on_file,
		.on_notices = on_notices,
		.ctx = f};
	assert_null(elb_filter.render(&job, &config));
	state_commit_done(f->stage.state);
}

static void stage(struct fixture *f)
{
	struct path_rule rules[] = {
		{.path = STR("/a"),
			.match = PATH_PREFIX,
			.pool = STR("p"),
			.ingress = STR("default/web")},
		{.path = STR("/b*"),
			.match = PATH_EXACT,
			.pool = STR("gone"),
			.ingress = STR("default/web")},
	};
	struct pool_endpoint endpoints[] = {
		{.ip = STR("10.0.0.2"), .port = 8080, .active = true},
		{.ip = STR("10.0.0.3"), .port = 8080, .active = true},
	};
	struct listener listeners[] = {
		{.port = 80, .protocol = LISTENER_HTTP},
		{.port = 443, .protocol = LISTENER_HTTPS, .default_certificate = STR("c")},
		{.port = 5432, .protocol = LISTENER_TCP, .pool = STR("p")},
	};
	struct object_ref owner = {STR("default"), STR("web"), STR("uid"), false, false};
	struct load_balancer lb = make_load_balancer("default/web", "web");
	struct virtual_host host = make_host("default/web|foo.bar.com", "default/web", rules, 2);
	struct pool pool = make_pool("p", 8080);
	struct certificate certificate = make_certificate("c", "secret key");
	certificate.namespace = STR("default");
	pool.service.namespace = STR("default");
	pool.protocol = POOL_HTTPS;
	pool.algorithm = ALGORITHM_SOURCE;
	pool.endpoints.items = endpoints;
	pool.endpoints.count = 2;
	lb.listeners.items = listeners;
	lb.listeners.count = 3;
	lb.owners.items = &owner;
	lb.owners.count = 1;
	lb.scale = 2;
	stage_upsert(&f->stage, &certificate);
	stage_upsert(&f->stage, &pool);
	stage_upsert(&f->stage, &lb);
	stage_upsert(&f->stage, &host);
}

static void people_can_read_it(void **fixture)
{
	struct fixture *f = *fixture;
	stage(f);
	render(f);
	assert_int_equal(f->file_count, 2);
	assert_string_equal(f->files[1].name, "ingresses/default.web.txt");
	assert_string_equal(f->files[1].content,
		"default/web (default/web)\n"
		"application load balancer sl-default-web-d8a5850a6e, internet-facing, ipv4\n"
		"  port 80 HTTP\n"
		"    15449 host foo.bar.com, path /a or /a/* -> p (sl-default-web-f233c02951)\n"
		"    15549 host foo.bar.com, path matches ^/b\\*$ -> answer 503 \"Backend service "
		"does not exist\"\n"
		"    otherwise -> answer 404 \"Not found\"\n"
		"  port 443 HTTPS, policy, default "
		"certificate:default/web-tls\n"
		"    15449 host foo.bar.com, path /a or /a/* -> p (sl-default-web-f233c02951)\n"
		"    15549 host foo.bar.com, path matches ^/b\\*$ -> answer 503 \"Backend service "
		"does not exist\"\n"
		"    otherwise -> answer 404 \"Not found\"\n"
		"  targets of p (sl-default-web-f233c02951), HTTPS HTTP1\n"
		"    health check HTTPS / 200-499 at traffic-port, every 15 s\n"
		"    deregistration_delay.timeout_seconds = 30\n"
		"    load_balancing.algorithm.type = round_robin\n"
		"    stickiness.enabled = false\n"
		"    10.0.0.2 port 8080\n"
		"    10.0.0.3 port 8080\n"
		"network load balancer sl-default-web-9b33afc4cb, internet-facing, ipv4\n"
		"  port 5432 TCP\n"
		"    otherwise -> p (sl-default-web-05d695bb83)\n"
		"  targets of p (sl-default-web-05d695bb83), TCP\n"
		"    health check TCP at traffic-port, every 15 s\n"
		"    deregistration_delay.timeout_seconds = 30\n"
		"    load_balancing.cross_zone.enabled = true\n"
		"    stickiness.enabled = true\n"
		"    stickiness.type = source_ip\n"
		"    10.0.0.2 port 8080\n"
		"    10.0.0.3 port 8080\n"
		"notice: AlgorithmNotSupported: AWS balances neither by source address over HTTP "
		"nor by connections over TCP; these Services get the usual way: default/web\n"
		"notice: ScaleNotSupported: AWS decides itself how many instances there are\n");
	assert_string_equal(f->notices, "default/web: AlgorithmNotSupported@default/web\n"
					"default/web: ScaleNotSupported@default/web\n");
}

static const struct json *item(const struct json *value, const char *name, size_t index)
{
	const struct json *child = json_first(json_get(value, name));
	for (size_t i = 0; i < index && child != NULL; i++)
		child = json_next(child);
	assert_non_null(child);
	return child;
}

static void assert_text(const struct json *value, const char *name, const char *want)
{
	struct str text = STR_NONE;
	assert_true(json_get_str(value, name, &text));
	assert_true(str_eq_c(text, want));
}

static void assert_number(const struct json *value, const char *name, int64_t want)
{
	int64_t number = -1;
	assert_true(json_get_int(value, name, 0, JSON_INT_MAX, -1, &number));
	assert_int_equal(number, want);
}

static void programs_can_read_it(void **fixture)
{
	struct fixture *f = *fixture;
	stage(f);
	render(f);
	assert_string_equal(f->files[0].name, "ingresses/default.web.json");
	/* No key leaves the certificate. */
	assert_null(strstr(f->files[0].content, "secret"));
	struct json *document = json_parse(str_from(f->files[0].content), NULL, NULL);
	assert_non_null(document);
	assert_int_equal(json_count(json_get(document, "LoadBalancers")), 2);
	const struct json *alb = item(document, "LoadBalancers", 0);
	assert_text(alb, "Type", "application");
	assert_text(alb, "Scheme", "internet-facing");
	assert_text(alb, "IpAddressType", "ipv4");
	const struct json *tags = json_get(alb, "Tags");
	assert_text(tags, "sluice.io/cluster", "render");
	assert_text(tags, "sluice.io/lb", "default/web");
	assert_text(tags, "sluice.io/resource", "default/web/alb");
	assert_text(tags, "sluice.io/owner", "default/web");
	assert_non_null(json_get(tags, "sluice.io/applied"));
	const struct json *https = item(alb, "Listeners", 1);
	assert_number(https, "Port", 443);
	assert_text(https, "Protocol", "HTTPS");
	assert_text(https, "DefaultCertificate", "certificate:default/web-tls");
	assert_number(
		json_path(https, "DefaultAction", "FixedResponseConfig", NULL), "StatusCode", 404);
	const struct json *rule = item(https, "Rules", 0);
	assert_number(rule, "Priority", 15449);
	assert_text(item(rule, "Conditions", 0), "Field", "host-header");
	const struct json *path = item(rule, "Conditions", 1);
	assert_text(path, "Field", "path-pattern");
	assert_int_equal(json_count(json_get(path, "Values")), 2);
	assert_non_null(json_get(item(item(https, "Rules", 1), "Conditions", 1), "RegexValues"));
	const struct json *group = item(alb, "TargetGroups", 0);
	struct str name;
	assert_true(json_get_str(group, "Name", &name));
	assert_text(item(json_get(rule, "Action"), "TargetGroups", 0), "TargetGroup", name.p);
	assert_text(group, "Protocol", "HTTPS");
	assert_text(group, "ProtocolVersion", "HTTP1");
	assert_text(group, "TargetType", "ip");
	assert_text(json_get(group, "HealthCheck"), "HttpCode", "200-499");
	assert_text(json_get(group, "Attributes"), "stickiness.enabled", "false");
	assert_text(item(group, "Targets", 1), "Id", "10.0.0.3");
	assert_number(item(group, "Targets", 1), "Port", 8080);
	const struct json *nlb = item(document, "LoadBalancers", 1);
	assert_text(nlb, "Type", "network");
	assert_text(item(nlb, "TargetGroups", 0), "Protocol", "TCP");
	assert_null(json_get(item(nlb, "TargetGroups", 0), "ProtocolVersion"));
	json_free(document);
}

static void files_are_named_after_what_they_are_for(void **fixture)
{
	static char long_name[LONG_NAME_LEN + 1];
	memset(long_name, 'a', LONG_NAME_LEN);
	static const struct {
		const char *namespace;
		const char *name;
		bool is_group;
		bool is_service;
		const char *want;
	} cases[] = {
		{"default", "web", false, false, "ingresses/default.web.json"},
		{"default", "web.x", false, false, "ingresses/default.web.x.json"},
		{"default", "web", true, false, "groups/default.web.json"},
		{"default", "web", false, true, "services/default.web.json"},
		{"default", "../x", false, false,
			"ingresses/"
			"3bd511861f35febc12da22668f6b2491eb1262ac26091bfc9dc6fb30e47f3e8b.json"},
		{"", "x", false, false,
			"ingresses/"
			"3bd511861f35febc12da22668f6b2491eb1262ac26091bfc9dc6fb30e47f3e8b.json"},
		{"default", long_name, false, false,
			"ingresses/"
			"3bd511861f35febc12da22668f6b2491eb1262ac26091bfc9dc6fb30e47f3e8b.json"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		void *state;
		set_up(&state);
		struct fixture *f = state;
		struct listener listener = {.port = 80, .protocol = LISTENER_HTTP};
		struct object_ref owner = {
			STR("default"), STR("web"), STR("uid"), cases[i].is_service, false};
		struct load_balancer lb = make_load_balancer("lb", cases[i].name);
		lb.namespace = str_from(cases[i].namespace);
		lb.is_group = cases[i].is_group;
		lb.owners.items = &owner;
		lb.owners.count = 1;
		lb.listeners.items = &listener;
		lb.listeners.count = 1;
		stage_upsert(&f->stage, &lb);
		render(f);
		assert_int_equal(f->file_count, 2);
		assert_string_equal(f->files[0].name, cases[i].want);
		tear_down(&state);
	}
}

static void nothing_is_shown_of_what_is_not_made(void **fixture)
{
	struct fixture *f = *fixture;
	struct load_balancer empty = make_load_balancer("a", "a");
	struct load_balancer kept = make_load_balancer("b", "b");
	struct load_balancer absent = make_load_balancer("c", "c");
	kept.keep = true;
	absent.absent = true;
	stage_upsert(&f->stage, &empty);
	stage_upsert(&f->stage, &kept);
	stage_upsert(&f->stage, &absent);
	render(f);
	assert_int_equal(f->file_count, 0);
}

static void it_says_what_it_can_do(void **state)
{
	const struct capabilities *capabilities = elb_filter.capabilities();
	assert_string_equal(elb_filter.name, "elb");
	assert_int_equal(capabilities->grouping, GROUPING_PER_INGRESS);
	assert_int_equal(capabilities->protocols.count, 4);
	assert_int_equal(capabilities->policies.count, 2);
	/* Not source-ranges: a Service that wants them is refused by the translator. */
	assert_int_equal(capabilities->features.count, 1);
	assert_string_equal(capabilities->features.items[0].p, "lead");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(people_can_read_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(programs_can_read_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			files_are_named_after_what_they_are_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			nothing_is_shown_of_what_is_not_made, set_up, tear_down),
		cmocka_unit_test(it_says_what_it_can_do),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
