// SPDX-License-Identifier: Apache-2.0
/* Each source of credentials, asked of a server; and when keys are got and told. */
#include "aws_session.h"

#include "provider-elb/credentials.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static struct ev_loop *loop;
static struct endpoints endpoints;
static struct credentials *credentials;
static bool is_told;
static bool is_ended;
static size_t changes;
static char problem[1024]; /* "": there are keys */
static char end_problem[1024];

static void on_change(void *ctx, const char *text)
{
	snprintf(problem, sizeof(problem), "%s", text != NULL ? text : "");
	changes++;
	is_told = true;
}

static void on_end(struct credentials_waiter *waiter, const char *text)
{
	snprintf(end_problem, sizeof(end_problem), "%s", text != NULL ? text : "");
	is_ended = true;
}

static struct credentials_waiter waiter = {.on_end = on_end};

static int set_up(void **state)
{
	loop = ev_loop_new(0);
	aws_server_start(loop);
	/* It must not be asked for keys of this machine. */
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	unsetenv("no_proxy");
	is_told = is_ended = false;
	changes = 0;
	return 0;
}

static int tear_down(void **state)
{
	credentials_unwait(&waiter);
	credentials_free(credentials);
	endpoints_fini(&endpoints);
	aws_server_stop();
	ev_loop_destroy(loop);
	return 0;
}

static void start(const char *const *list)
{
	credentials = session_start(loop, list, on_change, &endpoints);
}

/* One line of each form, in static buffers. */
static const char *variable(const char *name, const char *value)
{
	static char texts[4][512];
	static size_t next;
	char *text = texts[next++ % 4];
	snprintf(text, sizeof(texts[0]), "%s=%s", name, value);
	return text;
}

static const char *keys_json(const char *id, double life_s)
{
	static char texts[4][512];
	static size_t next;
	char *text = texts[next++ % 4];
	char end[64];
	time_t when = time(NULL) + (time_t)life_s;
	strftime(end, sizeof(end), "%Y-%m-%dT%H:%M:%SZ", gmtime(&when));
	snprintf(text, sizeof(texts[0]),
		"{\"Code\":\"Success\",\"AccessKeyId\":\"%s\",\"SecretAccessKey\":\"secret\","
		"\"Token\":\"t\","
		"\"Expiration\":\"%s\"}",
		id, end);
	return text;
}

static void assert_contains(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" lacks \"%s\"", text, part);
}

static void assert_keys(const char *want)
{
	struct aws_keys keys;
	run_until(&is_told);
	assert_string_equal(problem, "");
	assert_true(credentials_get(credentials, &keys));
	assert_string_equal(keys.access_key, want);
	assert_string_equal(keys.secret_key->text, "secret");
}

/* Waits for the end of the attempt that is under way. */
static void wait_for_end(void)
{
	is_ended = false;
	assert_true(credentials_wait(credentials, &waiter));
	run_until(&is_ended);
}

static const char STS_ANSWER[] =
	"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
	"<AccessKeyId>ASIA1</AccessKeyId><SecretAccessKey>secret</SecretAccessKey><SessionToken>t"
	"</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials>"
	"</AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>";

static void a_web_identity_becomes_keys(void **state)
{
	char *path = write_file("token", "ey.J+1\n");
	const char *list[] = {variable("AWS_WEB_IDENTITY_TOKEN_FILE", path),
		"AWS_ROLE_ARN=arn:aws:iam::1:role/x", NULL};
	unsetenv("http_proxy"); /* which is right for STS */
	start(list);
	aws_server_answer("200 OK", STS_ANSWER);
	assert_keys("ASIA1");
	assert_string_equal(
		credentials_source(credentials), "web identity (role arn:aws:iam::1:role/x)");
	assert_null(aws_request_header(0, "Authorization"));
	assert_string_equal(aws_server.requests[0].body,
		"Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%"
		"3A1%3Arole%"
		"2Fx&RoleSessionName=sluice-provider-elb&WebIdentityToken=ey.J%2B1");
	/* The token is replaced while we run. */
	rewrite_file(path, "second");
	aws_server_answer("403 Forbidden", "<ErrorResponse><Error><Code>AccessDenied</"
					   "Code><Message>Not authorized</Message></Error>"
					   "<RequestId>r-5</RequestId></ErrorResponse>");
	assert_true(credentials_renew(credentials));
	wait_for_end();
	assert_contains(aws_server.requests[1].body, "&WebIdentityToken=second");
	assert_string_equal(end_problem, "web identity (role arn:aws:iam::1:role/x): STS answers "
					 "AccessDenied: Not authorized "
					 "(request r-5); see the trust policy of the role");
	/* The old ones have not ended. */
	assert_int_equal(changes, 1);
	assert_keys("ASIA1");
	assert_string_equal(credentials_problem(credentials), end_problem);
	remove_file(path);
}

static void a_token_file_that_is_missing_is_told(void **state)
{
	const char *list[] = {"AWS_WEB_IDENTITY_TOKEN_FILE=/nowhere/token", "AWS_ROLE_ARN=r", NULL};
	start(list);
	run_until(&is_told);
	assert_contains(problem, "the token file /nowhere/token cannot be read: ");
	assert_int_equal(aws_server.count, 0);
}

static void a_container_is_asked_with_its_token(void **state)
{
	char *path = write_file("token", "first\n");
	const char *list[] = {
		variable("AWS_CONTAINER_CREDENTIALS_FULL_URI", aws_server_url("v1/credentials")),
		variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", path),
		"AWS_CONTAINER_AUTHORIZATION_TOKEN=unused", NULL};
	start(list);
	aws_server_answer("200 OK", keys_json("ASIA1", 3600));
	assert_keys("ASIA1");
	assert_string_equal(aws_request_header(0, "Authorization"), "first");
	assert_contains(aws_server.requests[0].text, "GET /v1/credentials HTTP/1.1\r\n");
	rewrite_file(path, "second\n");
	aws_server_answer("200 OK", keys_json("ASIA2", 3600));
	assert_true(credentials_renew(credentials));
	assert_true(credentials_renew(credentials));
	wait_for_end();
	assert_string_equal(end_problem, "");
	assert_string_equal(aws_request_header(1, "Authorization"), "second");
	assert_keys("ASIA2");
	assert_false(credentials_renew(credentials));
	assert_false(credentials_wait(credentials, &waiter));
	assert_int_equal(changes, 1);
	remove_file(path);
}

static void start_with_metadata(void)
{
	const char *list[] = {
		variable("AWS_EC2_METADATA_SERVICE_ENDPOINT", aws_server_url("")), NULL};
	start(list);
}

static void instance_metadata_is_asked_with_session_tokens(void **state)
{
	start_with_metadata();
	aws_server_answer("200 OK", "AQAE==");
	aws_server_answer("200 OK", "sluice-role\nother\n");
	aws_server_answer("200 OK", keys_json("ASIA1", 3600));
	assert_keys("ASIA1");
	assert_contains(aws_server.requests[0].text, "PUT /latest/api/token HTTP/1.1\r\n");
	assert_string_equal(aws_request_header(0, "X-aws-ec2-metadata-token-ttl-seconds"), "21600");
	assert_contains(aws_server.requests[1].text,
		"GET /latest/meta-data/iam/security-credentials/ HTTP/1.1\r\n");
	assert_string_equal(aws_request_header(1, "X-aws-ec2-metadata-token"), "AQAE==");
	assert_contains(aws_server.requests[2].text,
		"GET /latest/meta-data/iam/security-credentials/sluice-role HTTP/1.1\r\n");
	/* A session token that has ended is replaced once; the same keys again are no others. */
	aws_server_answer("401 Unauthorized", "");
	aws_server_answer("200 OK", "BQAE==");
	aws_server_answer("200 OK", "sluice-role");
	aws_server_answer("200 OK", keys_json("ASIA1", 3600));
	assert_true(credentials_renew(credentials));
	wait_for_end();
	assert_string_equal(end_problem, "AWS refuses the credentials, and there are no others");
	assert_int_equal(aws_server.count, 7);
	assert_string_equal(aws_request_header(5, "X-aws-ec2-metadata-token"), "BQAE==");
}

static void what_instance_metadata_lacks_is_told(void **state)
{
	static const struct {
		const char *heads[3];
		const char *want;
	} rows[] = {
		{{"403 Forbidden"}, " is switched off for this instance"},
		{{"200 OK", "404 Not Found"}, "instance metadata: no role is attached to this "
					      "instance; attach an instance profile"},
		{{"200 OK", "401 Unauthorized", "500 Error"},
			" answers 401 to latest/meta-data/iam/"},
		{{"500 Error"}, " answers 500 to latest/api/token"},
		{{"200 OK", "200 OK", "200 OK"}, "instance metadata: the answer is no JSON object"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		start_with_metadata();
		for (size_t j = 0; j < 3 && rows[i].heads[j] != NULL; j++)
			aws_server_answer(rows[i].heads[j], "text");
		run_until(&is_told);
		assert_contains(problem, rows[i].want);
		if (i + 1 < sizeof(rows) / sizeof(rows[0])) {
			tear_down(state);
			set_up(state);
		}
	}
}

static void without_an_answer_the_hop_limit_is_named(void **state)
{
	const char *list[] = {"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://127.0.0.1:1", NULL};
	start(list);
	run_until(&is_told);
	assert_contains(problem, "instance metadata at http://127.0.0.1:1/ does not answer (");
	assert_contains(problem, "hop limit");
}

static void keys_in_a_file_can_be_replaced(void **state)
{
	char *path = write_file("credentials", "[default]\naws_access_key_id = AKIA1\n"
					       "aws_secret_access_key = secret\n");
	const char *list[] = {variable("AWS_SHARED_CREDENTIALS_FILE", path), NULL};
	start(list);
	assert_keys("AKIA1");
	rewrite_file(
		path, "[default]\naws_access_key_id = AKIA2\naws_secret_access_key = secret\n");
	assert_true(credentials_renew(credentials));
	wait_for_end();
	assert_string_equal(end_problem, "");
	assert_keys("AKIA2");
	assert_int_equal(changes, 1);
	remove_file(path);
}

static void keys_in_the_environment_are_static(void **state)
{
	const char *list[] = {"AWS_ACCESS_KEY_ID=AKIA1", "AWS_SECRET_ACCESS_KEY=secret", NULL};
	struct aws_keys keys;
	start(list);
	assert_false(credentials_get(credentials, &keys));
	assert_keys("AKIA1");
	assert_false(credentials_renew(credentials));
}

static void keys_are_renewed_before_they_end(void **state)
{
	const char *list[] = {
		variable("AWS_CONTAINER_CREDENTIALS_FULL_URI", aws_server_url("keys")), NULL};
	start(list);
	aws_server_answer("200 OK", keys_json("ASIA1", 3));
	aws_server_answer("200 OK", keys_json("ASIA2", 3600));
	assert_keys("ASIA1");
	struct aws_keys keys;
	do {
		ev_run(loop, EVRUN_ONCE);
		assert_true(credentials_get(credentials, &keys));
	} while (strcmp(keys.access_key, "ASIA2") != 0);
	assert_int_equal(changes, 1);
}

static void keys_that_end_are_told_and_come_back(void **state)
{
	const char *list[] = {
		variable("AWS_CONTAINER_CREDENTIALS_FULL_URI", aws_server_url("keys")), NULL};
	struct aws_keys keys;
	start(list);
	aws_server_answer("200 OK", keys_json("ASIA1", -5));
	run_until(&is_told);
	assert_contains(
		problem, "the keys have ended already, or the clock of this machine is wrong");
	assert_false(credentials_get(credentials, &keys));
	aws_server_answer("200 OK", keys_json("ASIA2", 3600));
	is_told = false;
	assert_keys("ASIA2");
	assert_int_equal(changes, 2);
	assert_null(credentials_problem(credentials));
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		ROW(a_web_identity_becomes_keys),
		ROW(a_token_file_that_is_missing_is_told),
		ROW(a_container_is_asked_with_its_token),
		ROW(instance_metadata_is_asked_with_session_tokens),
		ROW(what_instance_metadata_lacks_is_told),
		ROW(without_an_answer_the_hop_limit_is_named),
		ROW(keys_in_a_file_can_be_replaced),
		ROW(keys_in_the_environment_are_static),
		ROW(keys_are_renewed_before_they_end),
		ROW(keys_that_end_are_told_and_come_back),
	};
#undef ROW
	return cmocka_run_group_tests(tests, NULL, NULL);
}
