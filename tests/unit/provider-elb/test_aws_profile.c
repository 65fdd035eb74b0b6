// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/aws_profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void assert_str(struct str got, const char *want)
{
	if (want == NULL ? got.p != NULL : !str_eq_c(got, want))
		fail_msg("\"%.*s\", not \"%s\"", STR_FMT(got), want != NULL ? want : "absent");
}

static const char CONFIG[] = "# a comment\n"
			     "region = before-any-section\n"
			     "[default]\r\n"
			     "region = eu-west-1 # near\r\n"
			     "s3 =\n"
			     "  region = nested\n"
			     "[profile  two words]\n"
			     "region=us-west-2\n"
			     "[ profile \"quoted one\" ]\n"
			     "role_arn = arn:aws:iam::1:role/x#y\n"
			     "web_identity_token_file = /var/token\n"
			     "role_session_name = me\n"
			     "; another\n"
			     "services = local\n"
			     "endpoint_url = http://127.0.0.1:1\n"
			     "[services local]\n"
			     "elastic_load_balancing_v2 =\n"
			     "  endpoint_url = http://127.0.0.1:2\n"
			     "ACM =\n"
			     "\tother = 1\n"
			     "\tendpoint_url = http://127.0.0.1:3\n"
			     "endpoint_url = http://of-no-service\n"
			     "[services other]\n"
			     "ec2 =\n"
			     "  endpoint_url = http://127.0.0.1:4\n"
			     "[two]\n"
			     "region = no-profile\n"
			     "no equals sign\n"
			     "[unfinished\n"
			     "[profile broken]\n"
			     "credential_process = /bin/x\n"
			     "region =\n"
			     "[profile default]\n"
			     "region = eu-west-3";

static const char CREDENTIALS[] = "[default]\n"
				  "aws_access_key_id = AKIA1\n"
				  "aws_secret_access_key = a/b+c=d\n"
				  "[quoted one]\n"
				  "aws_access_key_id = AKIA2\n"
				  "aws_access_key_id = AKIA3\n"
				  "aws_session_token = t==\n"
				  "[profile broken]\n"
				  "aws_access_key_id = AKIA4\n";

static struct aws_profile profile_of(const char *name)
{
	struct aws_profile profile = {0};
	aws_profile_read(&profile, str_from(name), STR(CONFIG), AWS_PROFILE_CONFIG);
	aws_profile_read(&profile, str_from(name), STR(CREDENTIALS), AWS_PROFILE_CREDENTIALS);
	aws_profile_read_services(&profile, STR(CONFIG));
	return profile;
}

static void the_default_profile_has_two_names(void **state)
{
	struct aws_profile profile = profile_of("default");
	assert_true(profile.is_found);
	assert_str(profile.region, "eu-west-3");
	assert_str(profile.access_key, "AKIA1");
	assert_str(profile.secret_key, "a/b+c=d");
	assert_str(profile.session_token, NULL);
	assert_str(profile.unsupported, NULL);
}

static void names_may_hold_blanks_and_stand_in_quotes(void **state)
{
	struct aws_profile profile = profile_of("two words");
	assert_str(profile.region, "us-west-2");
	assert_str(profile.access_key, NULL);
	profile = profile_of("quoted one");
	assert_str(profile.role, "arn:aws:iam::1:role/x#y");
	assert_str(profile.token_file, "/var/token");
	assert_str(profile.session, "me");
	assert_str(profile.access_key, "AKIA3");
	assert_str(profile.session_token, "t==");
}

static void services_have_their_own_urls(void **state)
{
	struct aws_profile profile = profile_of("quoted one");
	assert_str(profile.endpoint_url, "http://127.0.0.1:1");
	assert_str(profile.service_urls[AWS_ELB], "http://127.0.0.1:2");
	assert_str(profile.service_urls[AWS_ACM], "http://127.0.0.1:3");
	assert_str(profile.service_urls[AWS_EC2], NULL);
	assert_str(profile_of("default").service_urls[AWS_ELB], NULL);
}

static void what_is_not_a_profile_is_not_found(void **state)
{
	assert_false(profile_of("two").is_found);
	assert_false(profile_of("").is_found);
	assert_false(profile_of("nobody").is_found);
	struct aws_profile profile = profile_of("broken");
	assert_true(profile.is_found);
	assert_str(profile.unsupported, "credential_process");
	assert_str(profile.region, NULL);
	assert_str(profile.access_key, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_profile_has_two_names),
		cmocka_unit_test(names_may_hold_blanks_and_stand_in_quotes),
		cmocka_unit_test(services_have_their_own_urls),
		cmocka_unit_test(what_is_not_a_profile_is_not_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
