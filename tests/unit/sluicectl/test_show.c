// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/show.h"

#include "proto/looking.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct looking_explanation sample(struct looking_route *route, struct str *address)
{
	*address = STR("192.0.2.1");
	*route = (struct looking_route){.host = STR("a.test"),
		.path = STR("/\"x\"\n"),
		.match = PATH_EXACT,
		.is_served = true};
	return (struct looking_explanation){
		.namespace = STR("default"),
		.name = STR("yes"),
		.is_ours = true,
		.addresses = {address, 1},
		.routes = {route, 1},
	};
}

static void test_json_and_yaml(void **ctx)
{
	struct looking_route route;
	struct str address;
	struct looking_explanation value = sample(&route, &address);
	struct buf json;
	char *text = NULL;
	size_t len = 0;
	(void)ctx;
	buf_init(&json, 4096);
	assert_int_equal(show_json(&looking_explanation_schema, &value, &json), 0);
	char *printed = str_dup(buf_str(&json));
	assert_string_equal(printed, "{\"namespace\":\"default\",\"name\":\"yes\",\"ours\":true,"
				     "\"addresses\":[\"192.0.2.1\"],"
				     "\"routes\":[{\"host\":\"a.test\",\"path\":\"/"
				     "\\\"x\\\"\\u000a\",\"match\":\"exact\",\"served\":true}]}");
	FILE *file = open_memstream(&text, &len);
	show_print(file, buf_str(&json), true);
	fclose(file);
	/* A name that would be read as something else is quoted. */
	assert_string_equal(text,
		"namespace: default\nname: \"yes\"\nours: true\naddresses:\n- "
		"\"192.0.2.1\"\nroutes:\n"
		"- host: a.test\n  path: \"/\\\"x\\\"\\u000a\"\n  match: exact\n  served: true\n");
	free(text);
	free(printed);
	buf_fini(&json);
}

static void test_what_was_encoded_is_decoded(void **ctx)
{
	struct looking_route route;
	struct str address;
	struct looking_explanation value = sample(&route, &address);
	struct looking_explanation back;
	struct schema_error error = {""};
	struct arena arena;
	struct buf body;
	(void)ctx;
	arena_init(&arena);
	buf_init(&body, 4096);
	assert_int_equal(looking_encode(&looking_explanation_schema, &value, &body), 0);
	assert_int_equal(
		looking_decode(&looking_explanation_schema, buf_str(&body), &arena, &back, &error),
		0);
	assert_true(str_eq(back.routes.items[0].path, route.path));
	assert_int_equal(back.routes.items[0].match, PATH_EXACT);
	/* Cut short, and followed by something. */
	struct str bytes = buf_str(&body);
	assert_int_not_equal(looking_decode(&looking_explanation_schema,
				     (struct str){bytes.p, bytes.len - 1}, &arena, &back, &error),
		0);
	assert_int_equal(buf_append(&body, "x", 1), 0);
	assert_int_not_equal(
		looking_decode(&looking_explanation_schema, buf_str(&body), &arena, &back, &error),
		0);
	buf_fini(&body);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json_and_yaml),
		cmocka_unit_test(test_what_was_encoded_is_decoded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
