// SPDX-License-Identifier: Apache-2.0
#include "aws_variables.h"

#include "provider-elb/credential_source.h"

#include <cmocka.h>
#include <stdlib.h>

static const char CONFIG[] =
	"[profile process]\ncredential_process = x\n"
	"[profile chain]\nrole_arn = arn:aws:iam::1:role/x\nsource_profile = keys\n"
	"[profile identity]\nrole_arn = arn:aws:iam::1:role/y\n"
	"web_identity_token_file = /token\n"
	"[profile region]\nregion = eu-west-1\n"
	"[profile keys]\naws_access_key_id = AKIA1\naws_secret_access_key = s1\n"
	"[profile half]\naws_access_key_id = AKIA1\n";

static void the_first_that_is_configured_counts(void **state)
{
	static const struct {
		const char *variables[8];
		enum source_kind kind;
		const char *text;
		const char *want; /* what is wrong; NULL: nothing */
	} rows[] = {
		{{"AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=s", "AWS_PROFILE=nobody",
			 "AWS_WEB_IDENTITY_TOKEN_FILE=/t", "AWS_ROLE_ARN=r"},
			SOURCE_ENVIRONMENT, "environment", NULL},
		{{"AWS_ACCESS_KEY_ID=AKIA"}, SOURCE_ENVIRONMENT, "environment",
			"of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY only one is set"},
		{{"AWS_WEB_IDENTITY_TOKEN_FILE=/t", "AWS_ROLE_ARN=arn:r", "AWS_PROFILE=keys"},
			SOURCE_WEB_IDENTITY, "web identity (role arn:r)", NULL},
		{{"AWS_WEB_IDENTITY_TOKEN_FILE=/t"}, SOURCE_ENVIRONMENT, NULL,
			"AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not"},
		{{"AWS_WEB_IDENTITY_TOKEN_FILE=/t", "AWS_ROLE_ARN=r", "AWS_ROLE_SESSION_NAME=a b"},
			SOURCE_WEB_IDENTITY, "web identity (role r)",
			"\"a b\" is no name for a session: 2 to 64 letters, digits and _+=,.@-"},
		{{"AWS_PROFILE=keys", "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://localhost/"},
			SOURCE_FILE, "profile \"keys\" of the shared files", NULL},
		{{"AWS_PROFILE=identity"}, SOURCE_WEB_IDENTITY,
			"web identity (role arn:aws:iam::1:role/y)", NULL},
		{{"AWS_PROFILE=process"}, SOURCE_ENVIRONMENT, NULL,
			"the profile \"process\" has credential_process, which only AWS's own "
			"tools "
			"support; it needs keys, or role_arn with web_identity_token_file"},
		{{"AWS_PROFILE=chain"}, SOURCE_ENVIRONMENT, NULL,
			"the profile \"chain\" has source_profile, which only AWS's own tools "
			"support; "
			"it needs keys, or role_arn with web_identity_token_file"},
		{{"AWS_PROFILE=region", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/x"},
			SOURCE_CONTAINER, "container credentials (http://169.254.170.2/v2/x)",
			NULL},
		{{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials"},
			SOURCE_CONTAINER,
			"container credentials (http://169.254.170.23/v1/credentials)", NULL},
		{{"AWS_CONTAINER_CREDENTIALS_FULL_URI=https://user:secret@example.com/keys"},
			SOURCE_CONTAINER, "container credentials",
			"AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine "
			"nor "
			"one of 169.254.170.2, 169.254.170.23 and [fd00:ec2::23]"},
		{{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=x"}, SOURCE_CONTAINER,
			"container credentials (http://169.254.170.2x)",
			"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not begin with a slash"},
		{{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://10.0.0.1/"}, SOURCE_CONTAINER,
			"container credentials (http://10.0.0.1/)",
			"AWS_CONTAINER_CREDENTIALS_FULL_URI is neither https nor on this machine "
			"nor "
			"one of 169.254.170.2, 169.254.170.23 and [fd00:ec2::23]"},
		{{NULL}, SOURCE_METADATA, "instance metadata", NULL},
		{{"AWS_EC2_METADATA_DISABLED=True"}, SOURCE_ENVIRONMENT, NULL,
			"no credentials are configured, and AWS_EC2_METADATA_DISABLED forbids to "
			"ask "
			"instance metadata: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
			"AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE"},
	};
	char *path = write_file("config", CONFIG);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct credential_source source;
		const struct aws_environment *environment = variables(rows[i].variables);
		set_variable("AWS_CONFIG_FILE", path);
		char *problem = credential_source_find(&source, environment);
		if (rows[i].want != NULL) {
			assert_non_null(problem);
			assert_string_equal(problem, rows[i].want);
		} else if (problem != NULL) {
			fail_msg("row %zu: %s", i, problem);
		} else {
			assert_int_equal(source.kind, rows[i].kind);
			assert_string_equal(source.text, rows[i].text);
		}
		free(problem);
		credential_source_fini(&source);
	}
	remove_file(path);
}

static void keys_go_over_plain_http_only_on_this_machine(void **state)
{
	static const struct {
		const char *url;
		bool want;
	} rows[] = {
		{"https://anywhere.example/x", true},
		{"http://169.254.170.2/v2", true},
		{"http://169.254.170.23/v1/credentials", true},
		{"http://[fd00:ec2::23]/v1/credentials", true},
		{"http://localhost:8080/x", true},
		{"http://127.0.0.1:8080/x", true},
		{"http://127.1.2.3", true},
		{"http://[::1]:80/", true},
		{"http://169.254.170.2.evil.example/", false},
		{"http://localhost@evil.example/", false},
		{"http://localhost:80@evil.example/", false},
		{"https://user@evil.example/", false},
		{"http://127.evil.example/", false},
		{"http://169.254.169.254/", false},
		{"http://[fd00:ec2::24]/", false},
		{"http://[::1", false},
		{"http://example/", false},
		{"ftp://localhost/", false},
		{"https://", false},
		{"", false},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (credential_source_may_ask(str_from(rows[i].url)) != rows[i].want)
			fail_msg("%s", rows[i].url);
	}
}

static void static_keys_are_read(void **state)
{
	static const struct {
		const char *variables[5];
		const char *token;
		int64_t expires_at_s;
		const char *want;
	} rows[] = {
		{{"AWS_ACCESS_KEY_ID=AKIA1", "AWS_SECRET_ACCESS_KEY=s1"}, NULL, 0, NULL},
		{{"AWS_ACCESS_KEY_ID=AKIA1", "AWS_SECRET_ACCESS_KEY=s1", "AWS_SESSION_TOKEN=t",
			 "AWS_CREDENTIAL_EXPIRATION=2026-11-21T02:54:36Z"},
			"t", 1795229676, NULL},
		{{"AWS_ACCESS_KEY_ID=AKIA1", "AWS_SECRET_ACCESS_KEY=s1", "AWS_SECURITY_TOKEN=u"},
			"u", 0, NULL},
		{{"AWS_ACCESS_KEY_ID=AKIA1", "AWS_SECRET_ACCESS_KEY=s1",
			 "AWS_CREDENTIAL_EXPIRATION=x"},
			NULL, 0, "environment: AWS_CREDENTIAL_EXPIRATION is no time"},
		{{"AWS_PROFILE=keys"}, NULL, 0, NULL},
		{{"AWS_PROFILE=half"}, NULL, 0,
			"profile \"half\" of the shared files: they have no access key id or no "
			"secret "
			"key"},
	};
	char *path = write_file("config", CONFIG);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct credential_source source;
		struct key_set set = {0};
		const struct aws_environment *environment = variables(rows[i].variables);
		set_variable("AWS_CONFIG_FILE", path);
		assert_null(credential_source_find(&source, environment));
		char *problem = credential_source_read(&source, environment, &set);
		if (rows[i].want != NULL) {
			assert_non_null(problem);
			assert_string_equal(problem, rows[i].want);
		} else {
			assert_null(problem);
			assert_string_equal(set.access_key, "AKIA1");
			assert_string_equal(set.secret_key.text, "s1");
			assert_true(
				str_eq(str_from(set.session_token.text), str_from(rows[i].token)));
			assert_int_equal(set.expires_at_s, rows[i].expires_at_s);
		}
		free(problem);
		key_set_fini(&set);
		credential_source_fini(&source);
	}
	remove_file(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_is_configured_counts),
		cmocka_unit_test(keys_go_over_plain_http_only_on_this_machine),
		cmocka_unit_test(static_keys_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
