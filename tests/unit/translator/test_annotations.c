// SPDX-License-Identifier: Apache-2.0
#include "translator/annotations.h"

#include "tests/unit/translator/help.h"

struct row {
	const char *key;
	const char *value;
	const char *want; /* describe() of the values */
	const char *reasons;
};

#define PROBES "io.rancher.kubernetes.livenessprobes"
#define STICKY "io.rancher.stickiness.policy"
#define BAD    "InvalidAnnotation"

static const struct row rows[] = {
	{"scale", "1", "scale=1", ""},
	{"sluice.io/scale", "1000", "scale=1000", ""},
	{"scale", "0", "", BAD},
	{"scale", "1001", "", BAD},
	{"scale", "-1", "", BAD},
	{"scale", "1.0", "", BAD},
	{"scale", "99999999999999999999", "", BAD},
	{"scale", " 1", "", BAD},
	{"scale", "", "", BAD},
	{"http.port", "65535", "http=65535", ""},
	{"http.port", "65536", "", BAD},
	{"https.port", "8443", "https=8443", ""},
	{"https.port", "x", "", BAD},
	{"allow.http", "T", "allow=2", ""},
	{"allow.http", "False", "allow=1", ""},
	{"allow.http", "no", "", BAD},
	{"allow.http", "tRUE", "", BAD},
	{"config", "global\n\tx\r\n", "config=global\n\tx\r\n", ""},
	{"config", "a\x1b[0m", "", BAD},
	{"config", "a\x7f", "", BAD},
	{"sluice.io/group", "a-1", "group=a-1", ""},
	{"sluice.io/group", "-a", "", BAD},
	{"sluice.io/group", "a-", "", BAD},
	{"sluice.io/group", "A", "", BAD},
	{"sluice.io/group", "a.b", "", BAD},
	{"sluice.io/group", "", "", BAD},
	{"group", "a", "", ""},
	{"sluice.io/shared-with", "blog", "shared=blog,", ""},
	{"sluice.io/shared-with", " blog ,\tdocs-2", "shared=blog,docs-2,", ""},
	{"sluice.io/shared-with", "", "", BAD},
	{"sluice.io/shared-with", "blog,", "", BAD},
	{"sluice.io/shared-with", ",blog", "", BAD},
	{"sluice.io/shared-with", "*", "", BAD},
	{"sluice.io/shared-with", "blog,Docs", "", BAD},
	{"sluice.io/shared-with", "blog docs", "", BAD},
	{"io.rancher.x", "1", "io.rancher.x=1", ""},
	{"sluice.io/io.rancher.x", "1", "io.rancher.x=1", ""},
	{"io.rancher.x", "", "io.rancher.x=", ""},
	{"io.rancher.x", "a\x01", "", BAD},
	{"io.rancher.scheduler.global", "true", "io.rancher.scheduler.global=true", ""},
	{"io.rancher.scheduler.affinity.host_label", "a=b",
		"io.rancher.scheduler.affinity:host_label=a=b", ""},
	{"io.rancher.scheduler.a.b.c", "1", "io.rancher.scheduler.a:b.c=1", ""},
	{"io.rancher.scheduler.", "1", "io.rancher.scheduler.=1", ""},
	{"sluice.io/unknown", "1", "", "UnknownAnnotation"},
	{"nginx.ingress.kubernetes.io/rewrite-target", "/", "", ""},
	{STICKY, "cookie: c", "cookie=c mode=0", ""},
	{STICKY, "mode: Prefix\nindirect: True\n\n", "cookie= mode=2 indirect", ""},
	{STICKY, "\r\n cookie :  c \r\n", "cookie=c mode=0", ""},
	{STICKY, "cookie", "", BAD},
	{STICKY, "cookie: a: b", "", BAD},
	{STICKY, "cookie: a;b", "", BAD},
	{STICKY, "mode: both", "", BAD},
	{STICKY, "indirect: 1", "", BAD},
	{STICKY, "x: y", "", BAD},
	{STICKY, "cookie: a\ncookie: a", "", BAD},
	{STICKY, "\n \n", "", BAD},
	{PROBES, "{\"web\": {\"tcpSocket\": {}}}", "web tcp 0 0 0 0 0", ""},
	{PROBES,
		"{\"web\": {\"httpGet\": {\"path\": \"/x\", \"port\": 81}, \"periodSeconds\": 5,"
		"\"timeoutSeconds\": 2, \"successThreshold\": 3, \"failureThreshold\": 4}}",
		"web /x 81 5000 2000 3 4", ""},
	{PROBES, "{\"b\": {\"httpGet\": {}}, \"a\": {\"tcpSocket\": {\"port\": \"7\"}}}",
		"a tcp 7 0 0 0 0 b / 0 0 0 0 0", ""},
	{PROBES, "web:\n  tcpSocket:\n    port: 1\n", "web tcp 1 0 0 0 0", ""},
	{PROBES, "{}", "", ""},
	{PROBES, "", "", BAD},
	{PROBES, "{", "", BAD},
	{PROBES, "[1]", "", BAD},
	{PROBES, "null", "", BAD},
	{PROBES, "{\"a\": &x {\"tcpSocket\": {}}, \"b\": *x}", "", BAD},
	{PROBES, "{\"a\": !t {\"tcpSocket\": {}}}", "", BAD},
	{PROBES, "%YAML 9.9\n---\n{}", "", BAD},
	{PROBES, "{\"a\": {\"tcpSocket\": []}}", "", BAD},
	{PROBES, "{\"a\": {\"tcpSocket\": {\"port\": 0}}}", "", BAD},
	{PROBES, "{\"a\": {\"tcpSocket\": {\"port\": 65536}}}", "", BAD},
	{PROBES, "{\"a\": {\"tcpSocket\": {\"host\": \"x\"}}}", "", BAD},
	{PROBES, "{\"a\": {\"httpGet\": {\"path\": \"/\\u0000\"}}}", "", BAD},
	{PROBES, "{\"a\": {\"httpGet\": {\"path\": \"/\\nx\"}}}", "", BAD},
	{PROBES, "{\"a\": {\"httpGet\": {\"scheme\": \"HTTPS\"}}}", "", BAD},
	{PROBES, "{\"a\": {\"tcpSocket\": {}, \"periodSeconds\": 3601}}", "", BAD},
	{PROBES, "{\"a\": {\"tcpSocket\": {}, \"failureThreshold\": 101}}", "", BAD},
	{PROBES, "{{{{{{{{{{{{{{{{{{{{", "", BAD},
};

static struct str append(struct arena *arena, struct str text, struct str more)
{
	return arena_printf(
		arena, "%.*s%s%.*s", STR_FMT(text), text.len != 0 ? " " : "", STR_FMT(more));
}

static struct str describe(struct arena *arena, const struct annotation_values *v)
{
	struct str text = STR("");
	if (v->scale != 0)
		text = append(arena, text, arena_printf(arena, "scale=%d", (int)v->scale));
	if (v->http_port != 0)
		text = append(arena, text, arena_printf(arena, "http=%d", (int)v->http_port));
	if (v->https_port != 0)
		text = append(arena, text, arena_printf(arena, "https=%d", (int)v->https_port));
	if (v->allow_http != SWITCH_UNSET)
		text = append(arena, text, arena_printf(arena, "allow=%d", (int)v->allow_http));
	if (v->custom_config.len != 0)
		text = append(
			arena, text, arena_printf(arena, "config=%.*s", STR_FMT(v->custom_config)));
	if (v->shared_with.len != 0)
		text = append(
			arena, text, arena_printf(arena, "shared=%.*s", STR_FMT(v->shared_with)));
	if (v->group.len != 0)
		text = append(arena, text, arena_printf(arena, "group=%.*s", STR_FMT(v->group)));
	if (v->stickiness != NULL)
		text = append(arena, text,
			arena_printf(arena, "cookie=%.*s mode=%d%s", STR_FMT(v->stickiness->cookie),
				(int)v->stickiness->mode,
				v->stickiness->indirect ? " indirect" : ""));
	for (size_t i = 0; i < v->labels.count; i++)
		text = append(arena, text,
			arena_printf(arena, "%.*s=%.*s", STR_FMT(v->labels.items[i].key),
				STR_FMT(v->labels.items[i].value)));
	for (size_t i = 0; i < v->health_checks.count; i++) {
		const struct health_check *c = &v->health_checks.items[i];
		struct str path = c->type == HEALTH_CHECK_HTTP ? c->path : STR("tcp");
		text = append(arena, text,
			arena_printf(arena, "%.*s %.*s %d %d %d %d %d", STR_FMT(c->service),
				STR_FMT(path), (int)c->port, (int)c->interval_ms,
				(int)c->timeout_ms, (int)c->rise, (int)c->fall));
	}
	return text;
}

static void check(const struct row *row)
{
	struct annotation annotation = {str_from(row->key), str_from(row->value)};
	struct ingress_record ingress = {.annotations = {&annotation, 1}};
	struct annotation_values values;
	struct arena arena;
	struct diag_list diags;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	annotations_read(&ingress, &arena, &values, &diags);
	struct str got = describe(&arena, &values);
	const char *reasons = reasons_of(&diags);
	if (!str_eq_c(got, row->want) || strcmp(reasons, row->reasons) != 0)
		fail_msg("%s: %s: \"%.*s\" %s", row->key, row->value, STR_FMT(got), reasons);
	arena_fini(&arena);
}

static void every_annotation(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check(&rows[i]);
}

static void the_canonical_name_wins(void **state)
{
	struct annotation annotations[] = {{STR("scale"), STR("2")},
		{STR("io.rancher.a"), STR("1")}, {STR("sluice.io/io.rancher.a"), STR("2")},
		{STR("sluice.io/scale"), STR("3")}, {STR("http.port"), STR("81")},
		{STR("sluice.io/http.port"), STR("81")}};
	struct ingress_record ingress = {.annotations = {annotations, COUNT_OF(annotations)}};
	struct annotation_values values;
	struct arena arena;
	struct diag_list diags;
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	annotations_read(&ingress, &arena, &values, &diags);
	assert_text(describe(&arena, &values), "scale=3 http=81 io.rancher.a=2");
	assert_string_equal(reasons_of(&diags), "AnnotationOverridden AnnotationOverridden");
	assert_string_equal(annotation_field(&ingress, &arena, ANNOTATION_ROW_scale),
		"metadata.annotations[sluice.io/scale]");
	assert_string_equal(annotation_field(&ingress, &arena, ANNOTATION_ROW_custom_config),
		"metadata.annotations[config]");
	arena_fini(&arena);
}

static void the_number_of_labels_is_limited(void **state)
{
	enum { MANY = ANNOTATION_LABELS_MAX + 5 };
	struct annotation annotations[MANY];
	struct annotation_values values;
	struct arena arena;
	struct diag_list diags;
	(void)state;
	arena_init(&arena);
	diag_list_init(&diags, &arena);
	for (int i = 0; i < MANY; i++)
		annotations[i] =
			(struct annotation){arena_printf(&arena, "io.rancher.%03d", i), STR("x")};
	struct ingress_record ingress = {.annotations = {annotations, MANY}};
	annotations_read(&ingress, &arena, &values, &diags);
	assert_int_equal(values.labels.count, ANNOTATION_LABELS_MAX);
	assert_int_equal(diags.count, 5);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_annotation),
		cmocka_unit_test(the_canonical_name_wins),
		cmocka_unit_test(the_number_of_labels_is_limited),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
