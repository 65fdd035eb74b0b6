// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/aws_error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void assert_str(struct str got, const char *want)
{
	if (want == NULL ? got.p != NULL : !str_eq_c(got, want))
		fail_msg("\"%.*s\", not \"%s\"", STR_FMT(got), want != NULL ? want : "absent");
}

static void xml_errors_of_both_kinds_are_read(void **state)
{
	static const struct {
		const char *in;
		const char *code;
		const char *message;
		const char *id;
	} rows[] = {
		{"<ErrorResponse "
		 "xmlns=\"http://elasticloadbalancing.amazonaws.com/doc/2015-12-01/\">"
		 "<Error><Type>Sender</Type><Code>Throttling</Code><Message>Rate exceeded</Message>"
		 "</Error><RequestId>r-21</RequestId></ErrorResponse>",
			"Throttling", "Rate exceeded", "r-21"},
		{"<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>Request limit "
		 "exceeded.</Message></Error></Errors><RequestID>r-29</RequestID></Response>",
			"RequestLimitExceeded", "Request limit exceeded.", "r-29"},
		{"<InvalidChangeBatch xmlns=\"https://route53.amazonaws.com/doc/2013-04-01/\">"
		 "<Messages><Message>Tried to create x</Message><Message>and y</Message></Messages>"
		 "<RequestId>r-30</RequestId></InvalidChangeBatch>",
			"InvalidChangeBatch", "Tried to create x", "r-30"},
		{"<html><body>Bad Gateway</body></html>", NULL, NULL, NULL},
		{"<R><ResponseMetadata><RequestId>r-1</RequestId></ResponseMetadata></R>", NULL,
			NULL, "r-1"},
		{"<R><requestId>r-2</requestId></R>", NULL, NULL, "r-2"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct arena arena;
		const char *problem;
		arena_init(&arena);
		struct aws_error error =
			aws_error_read_xml(xml_parse(str_from(rows[i].in), &arena, &problem));
		assert_str(error.code, rows[i].code);
		assert_str(error.message, rows[i].message);
		assert_str(error.request_id, rows[i].id);
		arena_fini(&arena);
	}
	assert_str(aws_error_read_xml(NULL).code, NULL);
}

static void json_errors_are_read(void **state)
{
	static const struct {
		const char *in;
		const char *type;
		const char *code;
		const char *message;
	} rows[] = {
		{"{\"__type\":\"com.amazon.coral.service#ThrottlingException\",\"message\":\"Rate "
		 "exceeded\"}",
			"Other", "ThrottlingException", "Rate exceeded"},
		{"{\"__type\":\"ResourceNotFoundException:http://x/\",\"Message\":\"none\"}", NULL,
			"ResourceNotFoundException", "none"},
		{"{}", "ValidationException:http://internal/", "ValidationException", NULL},
		{"{\"__type\":7}", NULL, NULL, NULL},
		{"no JSON", "X", "X", NULL},
		{"[]", NULL, NULL, NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct json *json = json_parse(str_from(rows[i].in), NULL, NULL);
		struct aws_error error = aws_error_read_json(json, rows[i].type);
		assert_str(error.code, rows[i].code);
		assert_str(error.message, rows[i].message);
		json_free(json);
	}
}

static void long_texts_are_cut_between_characters(void **state)
{
	char text[AWS_ERROR_TEXT_LEN_MAX + 2];
	memset(text, 'a', sizeof(text));
	assert_int_equal(aws_error_cut((struct str){text, 10}).len, 10);
	assert_int_equal(
		aws_error_cut((struct str){text, sizeof(text)}).len, AWS_ERROR_TEXT_LEN_MAX);
	text[AWS_ERROR_TEXT_LEN_MAX - 1] = (char)0xc3;
	text[AWS_ERROR_TEXT_LEN_MAX] = (char)0xa4;
	assert_int_equal(
		aws_error_cut((struct str){text, sizeof(text)}).len, AWS_ERROR_TEXT_LEN_MAX - 1);
}

static void what_was_sent_is_recognized(void **state)
{
	static const struct {
		const char *text;
		bool want;
	} rows[] = {
		{"", false},
		{"The certificate field contains more than one certificate.", false},
		{"Could not find arn:aws:acm:us-east-1:123456789012:certificate/"
		 "12345678-1234-1234-1234-123456789012.",
			false},
		{"com.amazonaws.certificatemanager.AWSCertificateManagerValidationException",
			false},
		{"value MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgA0VmtG/bVDJoelmO "
		 "at 'privateKey'",
			true},
		{"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg", true},
		{"MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQ", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(aws_error_has_data(str_from(rows[i].text)), rows[i].want);
}

static void the_date_tells_how_far_the_clock_is_off(void **state)
{
	static const struct {
		const char *date;
		int64_t now_s;
		int64_t want;
	} rows[] = {
		{"Sat, 21 Nov 2026 02:54:36 GMT", 1795229676, 0},
		{"Sat, 21 Nov 2026 02:54:36 GMT", 1795229676 - 600, 600},
		{"Sat, 21 Nov 2026 02:54:36 GMT", 1795229676 + 90, -90},
		{"yesterday", 1795229676, 0},
		{"Sat, 21 Nov 2026 02:54:36 GMT and more", 0, 0},
		{NULL, 1795229676, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(aws_error_skew_s(rows[i].date, rows[i].now_s), rows[i].want);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(xml_errors_of_both_kinds_are_read),
		cmocka_unit_test(json_errors_are_read),
		cmocka_unit_test(long_texts_are_cut_between_characters),
		cmocka_unit_test(what_was_sent_is_recognized),
		cmocka_unit_test(the_date_tells_how_far_the_clock_is_off),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
