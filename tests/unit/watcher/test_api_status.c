// SPDX-License-Identifier: Apache-2.0
#include "watcher/api_status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static void bodies_of_all_forms_are_understood(void **state)
{
	static const struct {
		const char *name;
		const char *body;
		long answer;
		long code;
		const char *reason;
		bool gone;
		bool too_new;
		double retry_after_s;
	} rows[] = {
		{"a Status",
			"{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"code\":403,\"message\":"
			"\"no\"}",
			403, 403, "Forbidden", false, false, -1},
		{"expired", "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}", 410, 410,
			"Expired", true, false, -1},
		{"gone, in the words of older servers", "{\"reason\":\"Gone\",\"code\":410}", 200,
			410, "Gone", true, false, -1},
		{"expired, by its reason alone", "{\"reason\":\"Expired\"}", 200, 0, "Expired",
			true, false, -1},
		{"gone, without a body", "", 410, 0, "", true, false, -1},
		{"too new",
			"{\"reason\":\"Timeout\",\"code\":504,\"details\":{\"causes\":[{\"reason\":"
			"\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1}}",
			504, 504, "Timeout", false, true, 1},
		{"an ordinary timeout",
			"{\"metadata\":{},\"status\":\"Failure\",\"reason\":\"Timeout\","
			"\"details\":{},\"code\":504}\n",
			504, 504, "Timeout", false, false, -1},
		{"plain text", "404 page not found\n", 404, 0, "", false, false, -1},
		{"HTML", "<html><body>502</body></html>", 502, 0, "", false, false, -1},
		{"broken JSON", "{\"code\":410", 500, 0, "", false, false, -1},
		{"members of other types",
			"{\"code\":\"410\",\"reason\":7,\"message\":[],\"details\":1}", 500, 0, "",
			false, false, -1},
		{"an absurd code", "{\"code\":1e300}", 500, 0, "", false, false, -1},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct api_status status;
		api_status_parse(str_from(rows[i].body), &status);
		if (status.code != rows[i].code || strcmp(status.reason, rows[i].reason) != 0 ||
			api_status_is_gone(&status, rows[i].answer) != rows[i].gone ||
			status.is_too_new != rows[i].too_new ||
			(int)status.retry_after_s != (int)rows[i].retry_after_s)
			fail_msg(
				"%s: code %ld reason %s", rows[i].name, status.code, status.reason);
	}
}

static void long_texts_are_cut_where_a_character_ends(void **state)
{
	char body[2000] = "{\"message\":\"x";
	struct api_status status;
	(void)state;
	while (strlen(body) < 1900)
		strcat(body, "\xe2\x82\xac");
	strcat(body, "\"}");
	api_status_parse(str_from(body), &status);
	assert_true(strlen(status.message) > API_MESSAGE_LEN - 5);
	assert_true(str_is_utf8(str_from(status.message)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bodies_of_all_forms_are_understood),
		cmocka_unit_test(long_texts_are_cut_where_a_character_ends),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
