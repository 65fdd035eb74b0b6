// SPDX-License-Identifier: Apache-2.0
/* Calls to a server that checks their signatures: what goes out, and every way they end. */
#include "aws_session.h"

#include "provider-elb/client.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct ev_loop *loop;
static struct endpoints endpoints;
static struct credentials *credentials;
static struct client *client;
static bool is_ready;
static bool is_done;
static struct {
	enum aws_outcome outcome;
	bool is_unknown;
	double retry_after_s;
	char code[64];
	char message[1024];
	char value[64];
} got;

static void on_change(void *ctx, const char *problem)
{
	is_ready = true;
}

static void on_done(void *ctx, const struct client_answer *answer)
{
	got.outcome = answer->outcome;
	got.is_unknown = answer->is_unknown;
	got.retry_after_s = answer->retry_after_s;
	snprintf(got.code, sizeof(got.code), "%.*s", STR_FMT(answer->code));
	snprintf(got.message, sizeof(got.message), "%.*s", STR_FMT(answer->message));
	struct str value = answer->xml != NULL ? xml_text(answer->xml, "Result/Value")
					       : json_text(json_get(answer->json, "Value"));
	snprintf(got.value, sizeof(got.value), "%.*s", STR_FMT(value));
	is_done = true;
}

/* With these variables, NULL after the last, and all services at the server. */
static void start(const char *const *list)
{
	credentials = session_start(loop, list, on_change, &endpoints);
	client = client_new(loop, credentials, &endpoints, 10);
}

static const char *const KEYS[] = {"AWS_ACCESS_KEY_ID=AKIA1", "AWS_SECRET_ACCESS_KEY=secret", NULL};
static const char *const KEYS_WITH_TOKEN[] = {"AWS_ACCESS_KEY_ID=ASIA1",
	"AWS_SECRET_ACCESS_KEY=secret", "AWS_SESSION_TOKEN=IQoJb3Jp//abc+def==", NULL};

static int set_up(void **state)
{
	loop = ev_loop_new(0);
	aws_server_start(loop);
	is_ready = is_done = false;
	memset(&got, 0, sizeof(got));
	return 0;
}

static int tear_down(void **state)
{
	client_free(client);
	credentials_free(credentials);
	endpoints_fini(&endpoints);
	aws_server_stop();
	ev_run(loop, EVRUN_NOWAIT);
	ev_loop_destroy(loop);
	return 0;
}

static struct client_call *begin(
	enum aws_service service, const char *action, const char *body, bool is_write)
{
	is_done = false;
	struct client_request request = {.service = service,
		.action = action,
		.body = str_from(body),
		.is_write = is_write,
		.is_secret = is_write,
		.on_done = on_done};
	return client_start(client, &request);
}

static void call(enum aws_service service, const char *action, const char *body, bool is_write)
{
	begin(service, action, body, is_write);
	run_until(&is_done);
}

static void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", text, part);
}

static void query_calls_are_signed_forms(void **state)
{
	start(KEYS_WITH_TOKEN);
	aws_server_answer("200 OK", "<R xmlns=\"x\"><Result><Value>1</Value></Result></R>");
	call(AWS_ELB, "DescribeRules", "Action=DescribeRules&Version=2015-12-01&A=%2A", false);
	assert_int_equal(got.outcome, AWS_OK);
	assert_string_equal(got.value, "1");
	assert_int_equal(aws_server.count, 1);
	assert_true(aws_server.requests[0].is_signed);
	assert_string_equal(
		aws_server.requests[0].body, "Action=DescribeRules&Version=2015-12-01&A=%2A");
	assert_string_equal(aws_request_header(0, "Content-Type"),
		"application/x-www-form-urlencoded; charset=utf-8");
	assert_string_equal(aws_request_header(0, "X-Amz-Security-Token"), "IQoJb3Jp//abc+def==");
	assert_null(aws_request_header(0, "Expect"));
	assert_contains(aws_request_header(0, "Authorization"), "Credential=ASIA1/");
	assert_contains(aws_request_header(0, "Authorization"),
		"/us-east-1/elasticloadbalancing/aws4_request");
}

static void json_calls_name_their_target(void **state)
{
	start(KEYS);
	aws_server_answer("200 OK", "{\"Value\": \"2\"}");
	call(AWS_ACM, "ImportCertificate", "{\"Certificate\":\"LS0t\"}", true);
	assert_int_equal(got.outcome, AWS_OK);
	assert_string_equal(got.value, "2");
	assert_true(aws_server.requests[0].is_signed);
	assert_string_equal(
		aws_request_header(0, "X-Amz-Target"), "CertificateManager.ImportCertificate");
	assert_string_equal(aws_request_header(0, "Content-Type"), "application/x-amz-json-1.1");
	assert_null(aws_request_header(0, "X-Amz-Security-Token"));
	aws_server_answer("200 OK", "");
	call(AWS_ACM, "DeleteCertificate", "{}", true);
	assert_int_equal(got.outcome, AWS_OK);
	assert_true(aws_server.requests[1].is_signed);
}

static void rest_calls_have_a_path_and_a_method(void **state)
{
	struct client_request request = {.service = AWS_ROUTE53,
		.action = "ListResourceRecordSets",
		.path = STR("2013-04-01/hostedzone/Z1/"
			    "rrset?identifier=a%2Fb%20c&maxitems=300&name=%5C052.x.&type=A"),
		.on_done = on_done};
	start(KEYS_WITH_TOKEN);
	aws_server_answer("200 OK", "<R><Result><Value>3</Value></Result></R>");
	client_start(client, &request);
	run_until(&is_done);
	assert_int_equal(got.outcome, AWS_OK);
	assert_string_equal(got.value, "3");
	assert_true(aws_server.requests[0].is_signed);
	assert_contains(aws_server.requests[0].text,
		"GET /2013-04-01/hostedzone/Z1/"
		"rrset?identifier=a%2Fb%20c&maxitems=300&name=%5C052.x.&type=A HTTP/1.1");
	assert_null(aws_request_header(0, "Content-Type"));
	assert_contains(aws_request_header(0, "Authorization"), "/us-east-1/route53/aws4_request");
	request.path = STR("2013-04-01/hostedzone/Z1/rrset/");
	request.body = STR("<x/>");
	request.is_write = true;
	is_done = false;
	aws_server_answer("200 OK", "<R/>");
	client_start(client, &request);
	run_until(&is_done);
	assert_int_equal(got.outcome, AWS_OK);
	assert_true(aws_server.requests[1].is_signed);
	assert_contains(aws_server.requests[1].text, "POST /2013-04-01/hostedzone/Z1/rrset/ ");
	assert_string_equal(aws_server.requests[1].body, "<x/>");
	assert_string_equal(aws_request_header(1, "Content-Type"), "application/xml");
}

static void every_answer_has_its_outcome(void **state)
{
	static const struct {
		enum aws_service service;
		bool is_write;
		const char *head;
		const char *body;
		enum aws_outcome want;
		bool is_unknown;
		const char *code;
		const char *message;
	} rows[] = {
		{AWS_ELB, true, "400 Bad Request",
			"<ErrorResponse><Error><Type>Sender</Type><Code>TooManyRules</"
			"Code><Message>Too "
			"many.</Message></Error><RequestId>r-1</RequestId></ErrorResponse>",
			AWS_QUOTA, false, "TooManyRules",
			"Do: TooManyRules: Too many. (request r-1)"},
		{AWS_EC2, true, "503 Service Unavailable\r\nRetry-After: 7",
			"<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>No.</"
			"Message>"
			"</Error></Errors><RequestID>r-2</RequestID></Response>",
			AWS_THROTTLED, false, "RequestLimitExceeded",
			"Do: RequestLimitExceeded: No. (request r-2)"},
		{AWS_TAGGING, false, "400 Bad Request\r\nx-amzn-RequestId: r-3",
			"{\"__type\":\"com.amazon.coral.service#ThrottlingException\",\"message\":"
			"\"Rate "
			"exceeded\"}",
			AWS_THROTTLED, false, "ThrottlingException",
			"Do: ThrottlingException: Rate exceeded (request r-3)"},
		{AWS_ACM, true,
			"400 Bad Request\r\nx-amzn-ErrorType: ResourceInUseException:http://x/",
			"{\"Message\":\"used\"}", AWS_IN_USE, false, "ResourceInUseException",
			"Do: ResourceInUseException: used"},
		{AWS_ELB, true, "503 Service Unavailable", "<html><br></html>", AWS_FAILED, true,
			"", "Do: the answer is 503 without a reason"},
		{AWS_ELB, false, "502 Bad Gateway", "", AWS_FAILED, false, "",
			"Do: the answer is 502 without a reason"},
		{AWS_ELB, true, "200 OK", "<R><Result>", AWS_FAILED, true, "",
			"Do: the answer cannot be read: it is no XML"},
		{AWS_ACM, false, "200 OK", "<html>", AWS_FAILED, false, "",
			"Do: the answer cannot be read: "},
		{AWS_ELB, false, "302 Found\r\nLocation: /x", "", AWS_FAILED, false, "",
			"Do: the answer is 302 without a reason"},
		{AWS_ELB, true, NULL, "", AWS_FAILED, true, "", "Do: http://127.0.0.1:"},
	};
	start(KEYS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		aws_server_answer(rows[i].head, rows[i].body);
		call(rows[i].service, "Do", "{}", rows[i].is_write);
		if (got.outcome != rows[i].want)
			fail_msg("row %zu: %s: %s", i, aws_outcome_text(got.outcome), got.message);
		assert_int_equal(got.is_unknown, rows[i].is_unknown);
		assert_string_equal(got.code, rows[i].code);
		assert_contains(got.message, rows[i].message);
		assert_true(i == 1 ? got.retry_after_s == 7 : got.retry_after_s < 0);
	}
	/* Not even a write whose connection ends is repeated. */
	assert_int_equal(aws_server.count, sizeof(rows) / sizeof(rows[0]));
}

static void a_server_that_is_not_there_is_an_outage(void **state)
{
	start(KEYS);
	free(endpoints.url[AWS_ELB]);
	endpoints.url[AWS_ELB] = str_dup(STR("http://127.0.0.1:1/"));
	call(AWS_ELB, "CreateRule", "{}", true);
	assert_int_equal(got.outcome, AWS_OUTAGE);
	assert_false(got.is_unknown);
	assert_contains(got.message, "CreateRule: http://127.0.0.1:1/: cannot connect (");
}

static const char EXPIRED[] =
	"<ErrorResponse><Error><Code>ExpiredToken</Code><Message>The security token included in "
	"the "
	"request is expired</Message></Error><RequestId>r-4</RequestId></ErrorResponse>";

static void static_keys_that_are_refused_are_an_outage(void **state)
{
	char head[128];
	time_t then = time(NULL) + 600;
	strftime(head, sizeof(head), "403 Forbidden\r\nDate: %a, %d %b %Y %H:%M:%S GMT",
		gmtime(&then));
	start(KEYS);
	aws_server_answer(head, EXPIRED);
	call(AWS_ELB, "DescribeRules", "Action=x", false);
	assert_int_equal(got.outcome, AWS_OUTAGE);
	assert_string_equal(got.code, "ExpiredToken");
	assert_contains(got.message,
		"(request r-4); credentials: environment; the clock of this machine is ");
	assert_contains(got.message, " s behind that of AWS");
	assert_int_equal(aws_server.count, 1);
}

static const char *const CONTAINER_KEYS[] = {
	"{\"AccessKeyId\":\"ASIA1\",\"SecretAccessKey\":\"secret\",\"Token\":\"t1\","
	"\"Expiration\":\"2100-01-01T00:00:00Z\"}",
	"{\"AccessKeyId\":\"ASIA2\",\"SecretAccessKey\":\"secret\",\"Token\":\"t2\","
	"\"Expiration\":\"2100-01-01T00:00:00Z\"}",
};

static void start_with_container(void)
{
	char variable[256];
	snprintf(variable, sizeof(variable), "AWS_CONTAINER_CREDENTIALS_FULL_URI=%s",
		aws_server_url("keys"));
	const char *list[] = {variable, NULL};
	start(list);
}

static void expired_keys_are_renewed_once(void **state)
{
	start_with_container();
	aws_server_answer("200 OK", CONTAINER_KEYS[0]);
	run_until(&is_ready);
	aws_server_answer("403 Forbidden", EXPIRED);
	aws_server_answer("200 OK", CONTAINER_KEYS[1]);
	aws_server_answer("200 OK", "<R/>");
	call(AWS_ELB, "CreateRule", "Action=CreateRule", true);
	assert_int_equal(got.outcome, AWS_OK);
	assert_int_equal(aws_server.count, 4);
	assert_contains(aws_request_header(1, "Authorization"), "Credential=ASIA1/");
	assert_contains(aws_request_header(3, "Authorization"), "Credential=ASIA2/");
	assert_string_equal(aws_request_header(3, "X-Amz-Security-Token"), "t2");
	assert_string_equal(aws_server.requests[3].body, "Action=CreateRule");
	assert_true(aws_server.requests[3].is_signed);
	/* These were got just now: others would be refused likewise. */
	aws_server_answer("403 Forbidden", EXPIRED);
	call(AWS_ELB, "CreateRule", "Action=CreateRule", true);
	assert_int_equal(got.outcome, AWS_OUTAGE);
	assert_int_equal(aws_server.count, 5);
}

static void a_call_tells_why_keys_cannot_be_renewed(void **state)
{
	start_with_container();
	aws_server_answer("200 OK", CONTAINER_KEYS[0]);
	run_until(&is_ready);
	aws_server_answer("403 Forbidden", EXPIRED);
	aws_server_answer("400 Bad Request", "no such role");
	call(AWS_ELB, "DescribeRules", "Action=x", false);
	assert_int_equal(got.outcome, AWS_OUTAGE);
	assert_string_equal(got.code, "ExpiredToken");
	assert_contains(got.message, "DescribeRules: ExpiredToken: The security token");
	assert_contains(got.message, "the answer is 400: no such role");
}

static void calls_wait_for_the_first_keys(void **state)
{
	start_with_container();
	aws_server_answer("200 OK", CONTAINER_KEYS[0]);
	aws_server_answer("200 OK", "<R/>");
	call(AWS_ELB, "DescribeRules", "Action=x", false);
	assert_int_equal(got.outcome, AWS_OK);
	assert_int_equal(aws_server.count, 2);
}

static void without_keys_calls_fail(void **state)
{
	start_with_container();
	aws_server_answer("500 Error", "not now");
	run_until(&is_ready);
	call(AWS_ELB, "DescribeRules", "Action=x", false);
	assert_int_equal(got.outcome, AWS_OUTAGE);
	assert_contains(
		got.message, "DescribeRules: there are no credentials: container credentials (");
	assert_contains(got.message, "the answer is 500: not now");
	assert_int_equal(aws_server.count, 1);
}

static void cancelled_calls_are_silent(void **state)
{
	start(KEYS);
	struct client_call *waiting[2];
	waiting[0] = begin(AWS_ELB, "DescribeRules", "Action=x", false);
	waiting[1] = begin(AWS_ELB, "DescribeRules", "Action=x", false);
	client_cancel(waiting[0]);
	run_until(&is_ready);
	client_cancel(waiting[1]);
	client_cancel(begin(AWS_ELB, "CreateRule", "Action=x", true));
	begin(AWS_ELB, "DescribeRules", "Action=x", false);
	client_free(client);
	client = NULL;
	ev_run(loop, EVRUN_NOWAIT);
	assert_false(is_done);
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROW(query_calls_are_signed_forms),
		ROW(json_calls_name_their_target),
		ROW(rest_calls_have_a_path_and_a_method),
		ROW(every_answer_has_its_outcome),
		ROW(a_server_that_is_not_there_is_an_outage),
		ROW(static_keys_that_are_refused_are_an_outage),
		ROW(expired_keys_are_renewed_once),
		ROW(a_call_tells_why_keys_cannot_be_renewed),
		ROW(calls_wait_for_the_first_keys),
		ROW(without_keys_calls_fail),
		ROW(cancelled_calls_are_silent),
	};
#undef ROW
	return cmocka_run_group_tests(tests, NULL, NULL);
}
