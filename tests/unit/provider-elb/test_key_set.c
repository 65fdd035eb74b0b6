// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/key_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

static void times_are_utc(void **state)
{
	static const struct {
		const char *in;
		int64_t want; /* -1: refused */
	} rows[] = {
		{"2026-11-21T02:54:36Z", 1795229676},
		{"2026-11-21T02:54:36.123456Z", 1795229676},
		{"2026-11-21T02:54:36+00:00", 1795229676},
		{"1970-01-01T00:00:00Z", 0},
		{"2026-11-21T02:54:36+01:00", -1},
		{"2026-11-21T02:54:36", -1},
		{"2026-11-21 02:54:36Z", -1},
		{"2026-13-21T02:54:36Z", -1},
		{"2026-11-21T24:54:36Z", -1},
		{"2026-1-21T02:54:36Z", -1},
		{"2026-11-21T02:54:36Zx", -1},
		{"", -1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t got = -1;
		bool is_time = key_set_parse_time(str_from(rows[i].in), &got);
		assert_int_equal(is_time, rows[i].want >= 0);
		assert_int_equal(got, rows[i].want);
	}
}

static void keys_are_renewed_before_their_end(void **state)
{
	static const struct {
		int64_t expires_at_s;
		int64_t now_s;
		double want;
	} rows[] = {
		{0, 1000, -1},
		{1000 + 3600, 1000, 2700},
		{1000 + 21600, 1000, 20700},
		{1000 + 1800, 1000, 900},
		{1000 + 900, 1000, 450},
		{1000 + 60, 1000, 30},
		{1000, 1000, 0},
		{900, 1000, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct key_set set = {.expires_at_s = rows[i].expires_at_s};
		assert_true(key_set_renewal_s(&set, rows[i].now_s) == rows[i].want);
	}
	assert_false(key_set_has_expired(&(struct key_set){.expires_at_s = 0}, 1000));
	assert_false(key_set_has_expired(&(struct key_set){.expires_at_s = 1001}, 1000));
	assert_true(key_set_has_expired(&(struct key_set){.expires_at_s = 1000}, 1000));
}

static void json_answers_are_read_or_refused(void **state)
{
	static const struct {
		const char *in;
		const char *want; /* NULL: good */
	} rows[] = {
		{"{\"Code\":\"Success\",\"Type\":\"AWS-HMAC\",\"AccessKeyId\":\"ASIA1\","
		 "\"SecretAccessKey\":\"s/"
		 "x\",\"Token\":\"t==\",\"Expiration\":\"2026-11-21T02:54:36Z\"}",
			NULL},
		{"{\"AccessKeyId\":\"ASIA1\",\"SecretAccessKey\":\"s/x\",\"Token\":\"t==\","
		 "\"Expiration\":\"2026-11-21T02:54:36Z\"}",
			NULL},
		{"{\"Code\":\"AssumeRoleUnauthorizedAccess\",\"Message\":\"EC2 cannot assume\"}",
			"there are none: AssumeRoleUnauthorizedAccess: EC2 cannot assume"},
		{"{\"code\":\"X\",\"message\":\"why\"}", "there are none: X: why"},
		{"{\"AccessKeyId\":\"ASIA1\"}", "they have no access key id or no secret key"},
		{"{\"AccessKeyId\":\"A B\",\"SecretAccessKey\":\"s\"}",
			"they hold a character that no key has"},
		{"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Token\":\"a\\nb\"}",
			"they hold a character that no key has"},
		{"{\"AccessKeyId\":\"A\",\"SecretAccessKey\":\"s\",\"Expiration\":\"soon\"}",
			"their end is no time"},
		{"[]", "the answer is no JSON object"},
		{"<html>", "the answer is no JSON object"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct key_set set = {0};
		struct json *json = json_parse(str_from(rows[i].in), NULL, NULL);
		char *problem = key_set_read_json(json, &set);
		if (rows[i].want != NULL) {
			assert_non_null(problem);
			assert_string_equal(problem, rows[i].want);
			assert_null(set.access_key);
		} else {
			assert_null(problem);
			assert_string_equal(set.access_key, "ASIA1");
			assert_string_equal(set.secret_key.text, "s/x");
			assert_string_equal(set.session_token.text, "t==");
			assert_int_equal(set.expires_at_s, 1795229676);
		}
		free(problem);
		key_set_fini(&set);
		json_free_wiped(json);
	}
}

static void the_answer_of_sts_is_read(void **state)
{
	static const char good[] =
		"<AssumeRoleWithWebIdentityResponse "
		"xmlns=\"https://sts.amazonaws.com/doc/2011-06-15/\">"
		"<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIA1</AccessKeyId>"
		"<SecretAccessKey>s/x</SecretAccessKey><SessionToken>FQoG</SessionToken>"
		"<Expiration>2026-11-21T02:54:36.5Z</Expiration></Credentials>"
		"</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";
	struct arena arena;
	struct key_set set = {0};
	struct key_set other = {0};
	const char *problem;
	arena_init(&arena);
	assert_null(key_set_read_xml(xml_parse(str_from(good), &arena, &problem), &set));
	assert_string_equal(set.access_key, "ASIA1");
	assert_string_equal(set.session_token.text, "FQoG");
	assert_int_equal(set.expires_at_s, 1795229676);
	assert_string_equal(key_set_read_xml(xml_parse(STR("<a/>"), &arena, &problem), &other),
		"they have no end");
	assert_null(key_set_make(STR("ASIA1"), STR("s/x"), STR("FQoG"), 0, &other));
	assert_true(key_set_is_same(&set, &other));
	key_set_fini(&other);
	assert_null(key_set_make(STR("ASIA1"), STR("s/x"), STR_NONE, 0, &other));
	assert_false(key_set_is_same(&set, &other));
	key_set_fini(&other);
	key_set_fini(&set);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_utc),
		cmocka_unit_test(keys_are_renewed_before_their_end),
		cmocka_unit_test(json_answers_are_read_or_refused),
		cmocka_unit_test(the_answer_of_sts_is_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
