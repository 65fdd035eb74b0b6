// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/api_json.h"

#include "common/xalloc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static struct json *parse(const char *text)
{
	const char *problem = NULL;
	struct json *document = json_parse(str_from(text), &problem, NULL);
	assert_non_null(document);
	return document;
}

static char *print(const struct json *value)
{
	struct buf out;
	buf_init(&out, 1024 * 1024);
	assert_int_equal(json_print(value, &out), 0);
	char *text = str_dup(buf_str(&out));
	buf_fini(&out);
	return text;
}

static const char ACTIVE[] =
	"{\"id\":\"1s12\",\"type\":\"loadBalancerService\",\"baseType\":\"service\",\"state\":"
	"\"active\","
	"\"name\":\"default-rancherlb-web\",\"stackId\":\"1st7\",\"scale\":2,\"currentScale\":1,"
	"\"externalId\":\"kubernetes-ingress-lbs:\\/\\/"
	"default-rancherlb-web\",\"description\":null,"
	"\"launchConfig\":{\"type\":\"launchConfig\",\"imageUuid\":\"docker:rancher\\/lb:1\","
	"\"ports\":[\"80:80\\/tcp\",\"10.0.0.1:443:8443\",\"53:53/udp\",\"x\",7],"
	"\"labels\":{\"io.rancher.container.create_agent\":\"true\",\"io.rancher.scheduler."
	"global\":\"true\"},"
	"\"healthCheck\":{\"port\":42}},"
	"\"lbConfig\":{\"type\":\"lbConfig\",\"portRules\":[{\"type\":\"portRule\",\"sourcePort\":"
	"80,"
	"\"hostname\":\"foo.bar.com\",\"path\":\"/foo\",\"serviceId\":\"1s9\",\"targetPort\":8080,"
	"\"priority\":null,\"weight\":null}],\"defaultCertificateId\":\"1c3\",\"certificateIds\":["
	"\"1c4\",\"1c3\",null],"
	"\"stickinessPolicy\":{\"cookie\":\"c\",\"mode\":\"prefix\",\"indirect\":true}},"
	"\"publicEndpoints\":[{\"ipAddress\":\"172.17.0.3\",\"port\":80},{\"ipAddress\":"
	"\"nonsense\",\"port\":80},5],"
	"\"metadata\":{\"sluice.certificates\":\"00000000000000ff\",\"mine\":1},\"fqdn\":\"web."
	"example\","
	"\"transitioning\":\"error\",\"transitioningMessage\":\"no room\",\"removed\":null}";

static void reads_a_load_balancer(void **state)
{
	struct arena arena;
	struct rancher_lb lb;
	(void)state;
	arena_init(&arena);
	struct json *document = parse(ACTIVE);
	assert_null(api_read_lb(document, &arena, &lb));
	assert_true(str_eq_c(lb.id, "1s12") && str_eq_c(lb.stack_id, "1st7") && lb.is_whole);
	assert_true(str_eq_c(lb.external_id, "kubernetes-ingress-lbs://default-rancherlb-web"));
	assert_int_equal(lb.state, SERVER_STATE_ACTIVE);
	assert_int_equal(lb.transitioning, TRANSITIONING_ERROR);
	assert_true(str_eq_c(lb.message, "no room") && str_eq_c(lb.fqdn, "web.example"));
	assert_int_equal(lb.spec.scale, 2);
	assert_int_equal(lb.spec.rules.count, 1);
	const struct port_rule *rule = lb.spec.rules.items;
	assert_true(str_eq_c(rule->protocol, "http") && rule->priority == 0 && rule->foreign == 0);
	assert_true(str_eq_c(rule->host, "foo.bar.com") && rule->target_port == 8080);
	assert_int_equal(lb.spec.ports.count, 3);
	assert_true(lb.spec.ports.items[1].public_port == 443 &&
		    lb.spec.ports.items[1].private_port == 8443);
	assert_true(lb.spec.ports.items[2].is_udp);
	assert_int_equal(lb.spec.labels.count, 1);
	assert_true(lb.spec.is_global);
	assert_true(str_eq_c(lb.spec.default_certificate, "1c3"));
	assert_int_equal(lb.spec.certificates.count, 2);
	assert_int_equal(lb.spec.stickiness->mode, STICKINESS_PREFIX);
	assert_int_equal(lb.endpoint_count, 1);
	assert_true(lb.spec.contents == 0xff && lb.has_foreign_metadata);
	json_free(document);
	arena_fini(&arena);
}

/* Defect 19: an answer without lbConfig, launchConfig or with labels that are no text made the original crash. */
static void defect_19_survives_what_it_does_not_expect(void **state)
{
	static const struct {
		const char *in;
		bool good;
	} rows[] = {
		{"{\"id\":\"1s1\",\"type\":\"loadBalancerService\",\"name\":\"a\",\"stackId\":"
		 "\"1st1\"}",
			true},
		{"{\"id\":\"1s1\",\"type\":\"loadBalancerService\",\"name\":\"a\",\"stackId\":"
		 "\"1st1\","
		 "\"lbConfig\":7,\"launchConfig\":[],\"publicEndpoints\":{},\"metadata\":\"x\","
		 "\"scale\":\"2\"}",
			true},
		{"{\"id\":\"1s1\",\"type\":\"loadBalancerService\",\"name\":\"a\",\"stackId\":"
		 "\"1st1\","
		 "\"launchConfig\":{\"labels\":{\"io.rancher.scheduler.global\":true,\"io.rancher."
		 "lb_service.target\":[]},"
		 "\"ports\":{\"80\":1}},\"lbConfig\":{\"portRules\":[null,1,\"x\",{}],"
		 "\"certificateIds\":\"1c1\","
		 "\"stickinessPolicy\":[],\"config\":{}}}",
			true},
		{"{\"id\":\"../"
		 "1s1\",\"type\":\"loadBalancerService\",\"name\":\"a\",\"stackId\":\"1st1\"}",
			false},
		{"{\"id\":1,\"type\":\"loadBalancerService\",\"name\":\"a\",\"stackId\":\"1st1\"}",
			false},
		{"{\"id\":\"1s1\",\"type\":\"service\",\"name\":\"a\",\"stackId\":\"1st1\"}",
			false},
		{"{\"id\":\"1s1\",\"type\":\"loadBalancerService\",\"stackId\":\"1st1\"}", false},
		{"{\"id\":\"1s1\",\"type\":\"loadBalancerService\",\"name\":\"a\",\"stackId\":"
		 "null}",
			false},
		{"[]", false},
		{"null", false},
		{"\"x\"", false},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena arena;
		struct rancher_lb lb;
		arena_init(&arena);
		struct json *document = parse(rows[i].in);
		const char *problem = api_read_lb(document, &arena, &lb);
		assert_int_equal(problem == NULL, rows[i].good);
		if (problem == NULL)
			assert_int_equal(lb.state, SERVER_STATE_UNKNOWN);
		json_free(document);
		arena_fini(&arena);
	}
}

static void reads_the_other_resources(void **state)
{
	struct rancher_stack stack;
	struct rancher_certificate certificate;
	struct rancher_service service;
	struct rancher_error error;
	struct str next;
	(void)state;
	struct json *document = parse("{\"id\":\"1st7\",\"type\":\"stack\",\"name\":\"n\","
				      "\"externalId\":\"e\",\"state\":\"removing\"}");
	assert_null(api_read_stack(document, &stack));
	assert_int_equal(stack.state, SERVER_STATE_REMOVED);
	json_free(document);
	document = parse("{\"id\":\"1c1\",\"type\":\"certificate\",\"name\":\"n\",\"cert\":\"PEM\","
			 "\"state\":\"active\"}");
	assert_null(api_read_certificate(document, &certificate));
	assert_true(str_eq_c(certificate.chain, "PEM") && !certificate.is_gone);
	assert_non_null(api_read_stack(document, &stack));
	json_free(document);
	document = parse("{\"id\":\"1s9\",\"type\":\"kubernetesService\",\"externalId\":\"u-1\","
			 "\"removed\":\"2018\"}");
	assert_null(api_read_service(document, &service));
	assert_true(service.is_gone && str_eq_c(service.uid, "u-1"));
	json_free(document);
	document = parse("{\"type\":\"error\",\"code\":\"NotUnique\",\"message\":null,\"detail\":"
			 "\"d\",\"fieldName\":\"name\"}");
	api_read_error(document, &error);
	assert_true(str_eq_c(error.code, "NotUnique") && str_eq_c(error.field, "name") &&
		    str_eq_c(error.message, "d"));
	json_free(document);
	document = parse("{\"data\":[{}],\"pagination\":{\"next\":\"http://r/x?marker=m2\"}}");
	assert_int_equal(json_count(api_read_page(document, &next)), 1);
	assert_true(str_eq_c(next, "http://r/x?marker=m2"));
	assert_null(api_read_page(json_get(document, "pagination"), &next));
	json_free(document);
	document = parse("{\"value\":\"\",\"activeValue\":null}");
	assert_int_equal(api_read_setting(document).len, 0);
	json_free(document);
}

/* Only what was read just before is sent back: the labels that give the container its role, and the health check. */
static void changes_a_launch_config_and_keeps_the_rest(void **state)
{
	static const char want[] =
		"{\"launchConfig\":{\"imageUuid\":\"i\",\"healthCheck\":{\"port\":42},"
		"\"ports\":[\"10.0.0.1:80:80\",\"443:443/tcp\"],"
		"\"labels\":{\"io.rancher.container.agent.role\":\"environmentAdmin\",\"io.rancher."
		"lb_service.target\":\"any\"}}}";
	struct published_port ports[] = {{80, 80, false}, {443, 443, false}};
	struct label label = {STR("io.rancher.lb_service.target"), STR("any")};
	struct lb_spec spec = {.ports = {ports, 2}, .labels = {&label, 1}};
	(void)state;
	struct json *there = parse(
		"{\"imageUuid\":\"i\",\"ports\":[\"10.0.0.1:80:80\",\"81:81/tcp\"],\"labels\":{"
		"\"io.rancher.container.agent.role\":\"environmentAdmin\",\"io.rancher.scheduler."
		"affinity:host_label\":\"a=b\"},"
		"\"healthCheck\":{\"port\":42}}");
	struct json *body = json_new_object();
	api_change_launch_config(body, there, &spec);
	char *text = print(body);
	assert_string_equal(text, want);
	free(text);
	json_free(body);
	json_free(there);
}

static void keeps_foreign_metadata(void **state)
{
	struct lb_spec spec = {.contents = 0xff};
	(void)state;
	struct json *there = parse("{\"mine\":{\"a\":[1]},\"sluice.certificates\":\"x\"}");
	struct json *body = json_new_object();
	api_write_metadata(body, there, &spec);
	char *text = print(body);
	assert_string_equal(text, "{\"metadata\":{\"mine\":{\"a\":[1]},\"sluice.certificates\":"
				  "\"00000000000000ff\"}}");
	free(text);
	json_free(body);
	json_free(there);
	body = json_new_object();
	spec.contents = 0;
	api_write_metadata(body, NULL, &spec);
	text = print(body);
	assert_string_equal(text, "{\"metadata\":{}}");
	free(text);
	json_free(body);
}

/* What is written reads back as the same. */
static void what_is_written_reads_back_alike(void **state)
{
	struct port_rule rules[] = {
		{.source_port = 80,
			.protocol = STR("http"),
			.host = STR("a.b"),
			.path = STR("/\"x"),
			.service_id = STR("1s1"),
			.target_port = 1,
			.priority = 1},
		{.source_port = 443,
			.protocol = STR("https"),
			.service_id = STR("1s2"),
			.target_port = 2,
			.priority = 2,
			.backend = STR("443_x")},
	};
	struct str ids[] = {STR("1c2")};
	struct stickiness stickiness = {
		.cookie = STR("c"), .mode = STICKINESS_REWRITE, .postonly = true};
	struct published_port ports[] = {{80, 80, false}, {443, 443, false}};
	struct label label = {STR("io.rancher.scheduler.affinity:host_label"), STR("a=b")};
	struct lb_spec spec = {.rules = {rules, 2},
		.ports = {ports, 2},
		.labels = {&label, 1},
		.default_certificate = STR("1c1"),
		.certificates = {ids, 1},
		.stickiness = &stickiness,
		.config = STR("global\n  maxconn 1"),
		.contents = 5};
	struct arena arena;
	struct rancher_lb lb;
	struct lb_facets wanted;
	struct lb_facets there;
	(void)state;
	arena_init(&arena);
	struct json *body = json_new_object();
	json_add_str(body, "type", STR("loadBalancerService"));
	json_add_str(body, "id", STR("1s1"));
	json_add_str(body, "name", STR("n"));
	json_add_str(body, "stackId", STR("1st1"));
	api_write_lb_config(body, &spec);
	api_write_launch_config(body, &spec, STR("docker:i"));
	api_write_metadata(body, NULL, &spec);
	char *text = print(body);
	struct json *document = parse(text);
	assert_null(api_read_lb(document, &arena, &lb));
	spec_facets(&spec, &arena, &wanted);
	spec_facets(&lb.spec, &arena, &there);
	assert_true(facets_eq(&wanted, &there));
	assert_true(str_eq_c(lb.image, "docker:i"));
	free(text);
	json_free(document);
	json_free(body);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_a_load_balancer),
		cmocka_unit_test(defect_19_survives_what_it_does_not_expect),
		cmocka_unit_test(reads_the_other_resources),
		cmocka_unit_test(changes_a_launch_config_and_keeps_the_rest),
		cmocka_unit_test(keeps_foreign_metadata),
		cmocka_unit_test(what_is_written_reads_back_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
