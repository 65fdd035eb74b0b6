// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/migrate_controller.h"
#include "sluicectl/migrate_ingresses.h"
#include "sluicectl/migrate_print.h"
#include "sluicectl/migrate_risks.h"
#include "sluicectl/migrate_shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PREFIX "nginx.ingress.kubernetes.io"

struct world {
	struct buf lines;
	struct migrate_objects objects;
	struct migrate_report report;
};

static void begin(struct world *w)
{
	buf_init(&w->lines, 1024 * 1024);
}

static void add(struct world *w, const char *object)
{
	assert_int_equal(
		buf_printf(&w->lines, "{\"line\":3,\"file\":\"a.yaml\",\"object\":%s}\n", object),
		0);
}

/* An Ingress n/NAME of a.test with the path /, for Service web:80. */
static void add_ingress(
	struct world *w, const char *name, const char *annotations, const char *path)
{
	char text[4096];
	snprintf(text, sizeof(text),
		"{\"kind\":\"Ingress\",\"metadata\":{\"namespace\":\"n\",\"name\":\"%s\","
		"\"annotations\":{%s}},"
		"\"spec\":{\"ingressClassName\":\"nginx\",\"rules\":[{\"host\":\"a.test\",\"http\":"
		"{\"paths\":[{\"path\":\"%s\","
		"\"pathType\":\"Prefix\",\"backend\":{\"service\":{\"name\":\"web\",\"port\":{"
		"\"number\":80}}}}]}}]}}",
		name, annotations, path);
	add(w, text);
}

static void make(
	struct world *w, const char *provider, const struct line_finding *findings, size_t count)
{
	assert_null(migrate_objects_read(buf_str(&w->lines), &w->objects));
	migrate_report_init(&w->report, provider, STR(PREFIX));
	migrate_ingresses_add(&w->objects, &w->report, findings, count);
	migrate_controller_add(&w->objects, &w->report, findings, count);
	migrate_risks_add(&w->objects, &w->report);
	migrate_shared_add(&w->objects, &w->report);
}

static void end(struct world *w)
{
	migrate_report_free(&w->report);
	migrate_objects_free(&w->objects);
	buf_fini(&w->lines);
}

/* The first row of that name; NULL: there is none. */
static const struct migrate_row *row_of(
	const struct migrate_subjects *list, const char *subject, const char *name)
{
	for (size_t i = 0; i < list->count; i++) {
		for (size_t k = 0; k < list->items[i].row_count; k++) {
			const struct migrate_row *row = &list->items[i].rows[k];
			if (str_eq_c(list->items[i].meta.name, subject) &&
				str_eq_c(row->name, name))
				return row;
		}
	}
	return NULL;
}

static bool says(const struct migrate_row *row, const char *text)
{
	return row != NULL && memmem(row->text.p, row->text.len, text, strlen(text)) != NULL;
}

static struct line_finding finding(const char *name, const char *reason, const char *message)
{
	return (struct line_finding){EVENT_WARNING, STR("Ingress"), STR("n"), str_from(name),
		str_from(reason), str_from(message), {NULL, 0}};
}

static void test_verdicts_are_those_of_the_line(void **ctx)
{
	const struct line_finding findings[] = {
		finding("shop", "NotSupported",
			"metadata.annotations[" PREFIX
			"/auth-url]: requests are answered with 503"),
		finding("shop", "AnnotationDiffers",
			"metadata.annotations[" PREFIX "/affinity]: other"),
		finding("shop", "ServiceNotFound", "spec.rules[0]: there is no Service web"),
		finding("else", "AnnotationDiffers",
			"metadata.annotations[" PREFIX "/canary]: other"),
	};
	struct world w;
	(void)ctx;
	begin(&w);
	add_ingress(&w, "shop",
		"\"" PREFIX "/auth-url\":\"http://x\",\"" PREFIX "/affinity\":\"cookie\",\"" PREFIX
		"/canary\":\"false\",\"other/a\":\"b\"",
		"/");
	make(&w, "nginx", findings, 4);
	const struct migrate_subjects *list = &w.report.ingresses;
	assert_int_equal(list->count, 1);
	assert_int_equal(list->items[0].row_count, 4);
	assert_int_equal(row_of(list, "shop", "auth-url")->verdict, MIGRATE_LATER);
	assert_true(row_of(list, "shop", "auth-url")->is_closed);
	assert_int_equal(row_of(list, "shop", "affinity")->verdict, MIGRATE_NEAR);
	assert_int_equal(row_of(list, "shop", "canary")->verdict, MIGRATE_SAME);
	assert_int_equal(row_of(list, "shop", "")->verdict, MIGRATE_PROBLEM);
	assert_int_equal(w.report.work_count, 1);
	assert_int_equal(w.report.closed_count, 1);
	end(&w);
}

/* What was not told one by one is not called the same. */
static void test_nothing_is_same_that_was_not_told(void **ctx)
{
	const struct line_finding findings[] = {finding("shop", "MoreProblems", "3 more problems")};
	struct world w;
	(void)ctx;
	begin(&w);
	add_ingress(&w, "shop", "\"" PREFIX "/canary\":\"false\"", "/");
	make(&w, "nginx", findings, 1);
	assert_int_equal(row_of(&w.report.ingresses, "shop", "canary")->verdict, MIGRATE_UNTOLD);
	end(&w);
}

static void test_classes(void **ctx)
{
	struct world w;
	(void)ctx;
	begin(&w);
	add(&w, "{\"kind\":\"IngressClass\",\"metadata\":{\"name\":\"edge\"},\"spec\":{"
		"\"controller\":\"k8s.io/ingress-nginx\"}}");
	add(&w, "{\"kind\":\"IngressClass\",\"metadata\":{\"name\":\"nginx\"},\"spec\":{"
		"\"controller\":\"other\"}}");
	add_ingress(&w, "a", "", "/");
	add(&w, "{\"kind\":\"Ingress\",\"metadata\":{\"namespace\":\"n\",\"name\":\"b\"},\"spec\":{"
		"\"ingressClassName\":\"edge\"}}");
	add(&w, "{\"kind\":\"Ingress\",\"metadata\":{\"namespace\":\"n\",\"name\":\"c\","
		"\"annotations\":{\"kubernetes.io/ingress.class\":\"nginx\"}}}");
	add(&w, "{\"kind\":\"Ingress\",\"metadata\":{\"namespace\":\"n\",\"name\":\"b\"},\"spec\":{"
		"\"ingressClassName\":\"edge\"}}");
	make(&w, "nginx", NULL, 0);
	assert_int_equal(w.report.ingresses.count, 2);
	assert_int_equal(w.report.foreign.count, 1);
	end(&w);
}

static const char controller[] =
	"{\"kind\":\"Deployment\",\"metadata\":{\"namespace\":\"in\",\"name\":\"c\"},\"spec\":{"
	"\"template\":{\"spec\":{\"containers\":["
	"{\"name\":\"side\",\"image\":\"x\",\"args\":[\"--no\"]},{\"image\":\"r/ingress-nginx/"
	"controller:v1\",\"args\":"
	"[\"/nginx-ingress-controller\",\"--configmap=$(POD_NAMESPACE)/"
	"opts\",\"--http-port=80\",\"--watch-namespace=a\",\"--bogus\"]}]}}}}";

static void test_options_and_arguments(void **ctx)
{
	struct world w;
	(void)ctx;
	begin(&w);
	add(&w, controller);
	add(&w, "{\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"in\",\"name\":\"opts\"},"
		"\"data\":"
		"{\"hsts\":\"true\",\"use-gzip\":\"true\",\"main-snippet\":\"load_module "
		"x;\",\"nonsense\":\"1\"}}");
	add(&w, "{\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"x\",\"name\":\"opts\"},"
		"\"data\":{\"a\":\"b\"}}");
	make(&w, "haproxy", NULL, 0);
	const struct migrate_subjects *list = &w.report.controller;
	assert_int_equal(list->count, 2);
	assert_int_equal(row_of(list, "c", "http-port")->verdict, MIGRATE_SAME);
	assert_true(says(row_of(list, "c", "watch-namespace"), "--namespace"));
	assert_int_equal(row_of(list, "c", "bogus")->verdict, MIGRATE_UNKNOWN);
	assert_null(row_of(list, "c", "no"));
	assert_int_equal(row_of(list, "opts", "hsts")->verdict, MIGRATE_SAME);
	assert_true(migrate_verdict_is_work(row_of(list, "opts", "use-gzip")->verdict));
	assert_int_equal(row_of(list, "opts", "main-snippet")->verdict, MIGRATE_REFUSED);
	assert_int_equal(row_of(list, "opts", "nonsense")->verdict, MIGRATE_UNKNOWN);
	end(&w);
}

static void test_ports(void **ctx)
{
	struct world w;
	(void)ctx;
	begin(&w);
	add(&w, "{\"kind\":\"DaemonSet\",\"metadata\":{\"namespace\":\"in\",\"name\":\"c\"},"
		"\"spec\":{\"template\":{\"spec\":{\"containers\":["
		"{\"command\":[\"/"
		"nginx-ingress-controller\"],\"args\":[\"--udp-services-configmap=in/"
		"udp\",\"--tcp-services-configmap=in/none\"]}]}}}}");
	add(&w, "{\"kind\":\"ConfigMap\",\"metadata\":{\"namespace\":\"in\",\"name\":\"udp\"},"
		"\"data\":{\"53\":\"dns/coredns:53\"}}");
	make(&w, "nginx", NULL, 0);
	assert_int_equal(w.report.controller.count, 2);
	assert_int_equal(row_of(&w.report.controller, "udp", "53")->verdict, MIGRATE_NEAR);
	assert_true(str_eq_c(row_of(&w.report.controller, "udp", "53")->value, "dns/coredns:53"));
	end(&w);
}

static void test_guards_that_are_not_in_force(void **ctx)
{
	struct world w;
	(void)ctx;
	begin(&w);
	add_ingress(&w, "secret", "\"" PREFIX "/auth-secret\":\"s\"", "/1");
	add_ingress(&w, "off",
		"\"" PREFIX "/auth-type\":\"basic\",\"" PREFIX "/auth-realm\":\"off\"", "/2");
	add_ingress(&w, "verify", "\"" PREFIX "/proxy-ssl-verify\":\"true\"", "/3");
	add_ingress(&w, "cors",
		"\"" PREFIX "/enable-cors\":\"true\",\"" PREFIX
		"/cors-allow-origin\":\"https://a.test\"",
		"/4");
	add_ingress(&w, "any",
		"\"" PREFIX "/enable-cors\":\"true\",\"" PREFIX "/cors-allow-origin\":\"*\"", "/5");
	add_ingress(&w, "raw", "\"" PREFIX "/server-snippet\":\"x\"", "/6");
	make(&w, "nginx", NULL, 0);
	const struct migrate_subjects *risks = &w.report.risks;
	assert_true(says(row_of(risks, "secret", "auth-secret"), "nobody"));
	assert_true(says(row_of(risks, "off", "auth-realm"), "switches"));
	assert_true(says(row_of(risks, "verify", "proxy-ssl-verify"), "verifies nothing"));
	assert_true(says(row_of(risks, "cors", "cors-allow-origin"), "ends like"));
	assert_null(row_of(risks, "any", "cors-allow-origin"));
	assert_true(says(row_of(risks, "raw", "server-snippet"), "Secret"));
	end(&w);
}

static void test_what_one_does_to_others(void **ctx)
{
	struct world w;
	(void)ctx;
	begin(&w);
	add_ingress(&w, "sticky", "\"" PREFIX "/affinity\":\"cookie\"", "/a");
	add_ingress(&w, "plain", "", "/b");
	add_ingress(&w, "regex", "\"" PREFIX "/use-regex\":\"true\"", "/c");
	add_ingress(&w, "twin", "", "/b");
	add_ingress(&w, "lonely", "\"" PREFIX "/canary\":\"true\"", "/z");
	make(&w, "nginx", NULL, 0);
	const struct migrate_subjects *risks = &w.report.risks;
	assert_true(says(row_of(risks, "sticky", "affinity"), "n/plain"));
	assert_true(says(row_of(risks, "regex", "use-regex"), "n/sticky"));
	assert_true(says(row_of(risks, "twin", ""), "n/plain"));
	assert_true(row_of(risks, "lonely", "canary") != NULL);
	assert_null(row_of(risks, "plain", "affinity"));
	end(&w);
}

/* Names and values of others stay text. */
static void test_hostile_texts_in_json(void **ctx)
{
	struct world w;
	struct buf out;
	const char *problem = NULL;
	(void)ctx;
	begin(&w);
	add_ingress(
		&w, "x\\\"],\\u001b[2J", "\"" PREFIX "/a]: b\":\"\\u0000\\u202e\\\"\"", "/\\\"");
	make(&w, "nginx", NULL, 0);
	buf_init(&out, 1024 * 1024);
	assert_int_equal(migrate_print_json(&w.report, &out), 0);
	struct json *json = json_parse(buf_str(&out), &problem, NULL);
	assert_non_null(json);
	assert_int_equal(json_count(json_get(json, "ingresses")), 1);
	json_free(json);
	buf_fini(&out);
	end(&w);
}

static void test_objects_of_any_form(void **ctx)
{
	static const char *const lines[] = {"{}\n", "{\"object\":[]}\n",
		"{\"object\":{\"kind\":7}}\n",
		"{\"object\":{\"kind\":\"Ingress\",\"metadata\":[],\"spec\":{\"rules\":[1,{"
		"\"http\":{\"paths\":[null,{}]}}]}}}\n",
		"{\"object\":{\"kind\":\"Deployment\",\"spec\":{\"template\":{\"spec\":{"
		"\"containers\":[{\"image\":1,\"args\":{}}]}}}}}\n",
		"{\"object\":{\"kind\":\"ConfigMap\",\"data\":[1]}}\n"};
	(void)ctx;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct world w;
		begin(&w);
		assert_int_equal(buf_append(&w.lines, lines[i], strlen(lines[i])), 0);
		make(&w, "nginx", NULL, 0);
		end(&w);
	}
	struct migrate_objects objects;
	char *problem = migrate_objects_read(STR("{\n"), &objects);
	assert_non_null(problem);
	free(problem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_verdicts_are_those_of_the_line),
		cmocka_unit_test(test_nothing_is_same_that_was_not_told),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_options_and_arguments),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_guards_that_are_not_in_force),
		cmocka_unit_test(test_what_one_does_to_others),
		cmocka_unit_test(test_hostile_texts_in_json),
		cmocka_unit_test(test_objects_of_any_form),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
