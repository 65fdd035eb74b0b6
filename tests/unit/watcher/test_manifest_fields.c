// SPDX-License-Identifier: Apache-2.0
#include "watcher/manifest_fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define LONG_NAME "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde"

static void finds_the_first_one(void **state)
{
	static const struct {
		const char *json;
		bool has_old_backends;
		const char *want; /* NULL: all are known */
	} cases[] = {
		{"{}", false, NULL},
		{"{\"apiVersion\":\"x\",\"kind\":\"Ingress\",\"metadata\":{\"name\":\"a\","
		 "\"annotations\":"
		 "{\"any\":\"x\"},\"managedFields\":[{\"any\":1}]},\"status\":{\"any\":1}}",
			false, NULL},
		{"{\"spec\":{\"ingressClassName\":\"a\",\"defaultBackend\":{\"resource\":{"
		 "\"apiGroup\":\"a\","
		 "\"kind\":\"b\",\"name\":\"c\"}},\"tls\":[{\"hosts\":[\"a\"],\"secretName\":\"s\"}"
		 "]}}",
			false, NULL},
		{"{\"spec\":{\"rules\":[{\"host\":\"a\"},{\"hosts\":\"a\",\"x\":1}]}}", false,
			"spec.rules[1].hosts"},
		{"{\"spec\":{\"rules\":[{\"http\":{\"paths\":[{\"backend\":{\"serviceName\":\"a\"}}"
		 "]}}]}}",
			false, "spec.rules[0].http.paths[0].backend.serviceName"},
		{"{\"spec\":{\"rules\":[{\"http\":{\"paths\":[{\"backend\":{\"serviceName\":\"a\"}}"
		 "]}}]}}",
			true, NULL},
		{"{\"spec\":{\"backend\":{\"service\":{}}}}", true, "spec.backend.service"},
		/* Of another type than the field's: others tell that. */
		{"{\"spec\":{\"rules\":\"x\",\"tls\":7}}", false, NULL},
		{"{\"" LONG_NAME "ab\":1}", false, LONG_NAME "a..."},
		{"{\"" LONG_NAME "\xc3\xa9\":1}", false, LONG_NAME "..."},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct arena arena;
		const char *problem = NULL;
		arena_init(&arena);
		struct json *json = json_parse(str_from(cases[i].json), &problem, NULL);
		assert_non_null(json);
		const char *found = manifest_unknown_field(json, cases[i].has_old_backends, &arena);
		if (cases[i].want == NULL)
			assert_null(found);
		else
			assert_string_equal(found, cases[i].want);
		json_free(json);
		arena_fini(&arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(finds_the_first_one)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
