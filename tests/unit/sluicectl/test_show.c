// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/show.h"

#include "proto/inspection.h"
#include "proto/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct inspection_explanation sample(struct inspection_route *route, struct str *address)
{
	*address = STR("192.0.2.1");
	*route = (struct inspection_route){.host = STR("a.test"),
		.path = STR("/\"x\"\n"),
		.match = PATH_EXACT,
		.is_served = true};
	return (struct inspection_explanation){
		.namespace = STR("default"),
		.name = STR("yes"),
		.is_ours = true,
		.addresses = {address, 1},
		.routes = {route, 1},
	};
}

static void test_json_and_yaml(void **ctx)
{
	struct inspection_route route;
	struct str address;
	struct inspection_explanation value = sample(&route, &address);
	struct buf json;
	char *text = NULL;
	size_t len = 0;
	(void)ctx;
	buf_init(&json, 4096);
	assert_int_equal(show_json(&inspection_explanation_schema, &value, &json), 0);
	char *printed = str_dup(buf_str(&json));
	assert_string_equal(printed, "{\"namespace\":\"default\",\"name\":\"yes\",\"ours\":true,"
				     "\"addresses\":[\"192.0.2.1\"],"
				     "\"routes\":[{\"host\":\"a.test\",\"path\":\"/"
				     "\\\"x\\\"\\n\",\"match\":\"exact\",\"served\":true}]}");
	FILE *file = open_memstream(&text, &len);
	show_print(file, buf_str(&json), true);
	fclose(file);
	/* A name that would be read as something else is quoted. */
	assert_string_equal(text,
		"namespace: default\nname: \"yes\"\nours: true\naddresses:\n- "
		"\"192.0.2.1\"\nroutes:\n"
		"- host: a.test\n  path: \"/\\\"x\\\"\\n\"\n  match: exact\n  served: true\n");
	free(text);
	free(printed);
	buf_fini(&json);
}

static void assert_yaml(const struct schema *schema, const void *value, const char *want)
{
	struct buf json;
	char *text = NULL;
	size_t len = 0;
	buf_init(&json, 4096);
	assert_int_equal(buf_append_str(&json, STR("[")), 0);
	assert_int_equal(show_json(schema, value, &json), 0);
	assert_int_equal(buf_append_str(&json, STR("]")), 0);
	FILE *file = open_memstream(&text, &len);
	show_print(file, buf_str(&json), true);
	fclose(file);
	assert_string_equal(text, want);
	free(text);
	buf_fini(&json);
}

static const struct schema *object_schema(enum lb_kind kind)
{
	return message_schema(MESSAGE_UPSERT, RECORD_NONE, kind);
}

static void test_yaml_of_values(void **ctx)
{
	static const struct str words[] = {STR("on"), STR("One"), STR("NULL"), STR("a-1/b.c_d"),
		STR("1a"), STR("-"), STR("off:"), STR("\xc3\xa4"), STR("tab\t\\"), STR("y")};
	struct str names[sizeof(words) / sizeof(words[0])];
	struct pool_endpoint endpoints[2] = {{.ip = STR("192.0.2.1"), .port = 80}};
	struct health_check check = {.path = STR("/up"), .interval_ms = 1000};
	struct stickiness stickiness = {0};
	struct pool_tls tls = {0};
	struct pool pool = {.key = {.kind = LB_POOL, .id = STR("a/b:80"), .rev = 0x1f},
		.service = {.namespace = STR("a"), .uid = STR("0e")},
		.endpoints = {endpoints, 2},
		.stickiness = &stickiness,
		.health_check = &check,
		.tls = &tls};
	struct certificate certificate = {.key = {.kind = LB_CERTIFICATE, .rev = UINT64_MAX},
		.names = {names, sizeof(words) / sizeof(words[0])}};
	struct inspection_explanation value = {0};
	(void)ctx;
	memcpy(names, words, sizeof(words));
	assert_yaml(object_schema(LB_POOL), &pool,
		"- rev: \"000000000000001f\"\n"
		"  kind: pool\n"
		"  id: \"a/b:80\"\n"
		"  service:\n"
		"    namespace: a\n"
		"    uid: \"0e\"\n"
		"  protocol: http\n"
		"  algorithm: round-robin\n"
		"  endpoints:\n"
		"  - ip: \"192.0.2.1\"\n"
		"    port: 80\n"
		"  - {}\n"
		"  stickiness:\n"
		"    mode: insert\n"
		"  health_check:\n"
		"    type: tcp\n"
		"    path: \"/up\"\n"
		"    interval_ms: 1000\n"
		"  tls:\n"
		"    verify: system\n");
	assert_yaml(object_schema(LB_CERTIFICATE), &certificate,
		"- rev: ffffffffffffffff\n"
		"  kind: certificate\n"
		"  names:\n"
		"  - \"on\"\n"
		"  - One\n"
		"  - \"NULL\"\n"
		"  - a-1/b.c_d\n"
		"  - \"1a\"\n"
		"  - \"-\"\n"
		"  - \"off:\"\n"
		"  - \"ä\"\n"
		"  - \"tab\\t\\\\\"\n"
		"  - \"y\"\n");
	assert_yaml(&inspection_explanation_schema, &value, "- {}\n");
}

static void test_what_was_encoded_is_decoded(void **ctx)
{
	struct inspection_route route;
	struct str address;
	struct inspection_explanation value = sample(&route, &address);
	struct inspection_explanation back;
	struct schema_error error = {""};
	struct arena arena;
	struct buf body;
	(void)ctx;
	arena_init(&arena);
	buf_init(&body, 4096);
	assert_int_equal(inspection_encode(&inspection_explanation_schema, &value, &body), 0);
	assert_int_equal(inspection_decode(&inspection_explanation_schema, buf_str(&body), &arena,
				 &back, &error),
		0);
	assert_true(str_eq(back.routes.items[0].path, route.path));
	assert_int_equal(back.routes.items[0].match, PATH_EXACT);
	/* Cut short, and followed by something. */
	struct str bytes = buf_str(&body);
	assert_int_not_equal(inspection_decode(&inspection_explanation_schema,
				     (struct str){bytes.p, bytes.len - 1}, &arena, &back, &error),
		0);
	assert_int_equal(buf_append(&body, "x", 1), 0);
	assert_int_not_equal(inspection_decode(&inspection_explanation_schema, buf_str(&body),
				     &arena, &back, &error),
		0);
	buf_fini(&body);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_and_yaml),
		cmocka_unit_test(test_yaml_of_values),
		cmocka_unit_test(test_what_was_encoded_is_decoded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
