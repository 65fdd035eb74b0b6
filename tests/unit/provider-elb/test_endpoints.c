// SPDX-License-Identifier: Apache-2.0
/* The hosts are those that botocore's rules give. */
#include "aws_variables.h"

#include "provider-elb/endpoints.h"

#include <cmocka.h>
#include <stdlib.h>

static void assert_text(const char *got, const char *want)
{
	if (want == NULL)
		assert_null(got);
	else
		assert_string_equal(got, want);
}

static void each_partition_has_its_hosts(void **state)
{
	static const struct {
		const char *region;
		bool use_fips;
		bool use_dualstack;
		const char *elb;
		const char *tagging;
	} rows[] = {
		{"us-east-1", false, false, "https://elasticloadbalancing.us-east-1.amazonaws.com/",
			"https://tagging.us-east-1.amazonaws.com/"},
		{"us-east-1", false, true, "https://elasticloadbalancing.us-east-1.api.aws/",
			"https://tagging.us-east-1.api.aws/"},
		{"us-east-1", true, false,
			"https://elasticloadbalancing-fips.us-east-1.amazonaws.com/",
			"https://tagging-fips.us-east-1.amazonaws.com/"},
		{"us-east-1", true, true, "https://elasticloadbalancing-fips.us-east-1.api.aws/",
			"https://tagging-fips.us-east-1.api.aws/"},
		{"us-gov-west-1", true, false,
			"https://elasticloadbalancing.us-gov-west-1.amazonaws.com/",
			"https://tagging-fips.us-gov-west-1.amazonaws.com/"},
		{"us-gov-west-1", true, true,
			"https://elasticloadbalancing-fips.us-gov-west-1.api.aws/",
			"https://tagging-fips.us-gov-west-1.api.aws/"},
		{"cn-north-1", false, false,
			"https://elasticloadbalancing.cn-north-1.amazonaws.com.cn/",
			"https://tagging.cn-north-1.amazonaws.com.cn/"},
		{"cn-north-1", false, true,
			"https://elasticloadbalancing.cn-north-1.api.amazonwebservices.com.cn/",
			"https://tagging.cn-north-1.api.amazonwebservices.com.cn/"},
		{"eusc-de-east-1", false, false,
			"https://elasticloadbalancing.eusc-de-east-1.amazonaws.eu/",
			"https://tagging.eusc-de-east-1.amazonaws.eu/"},
		{"us-iso-east-1", false, false,
			"https://elasticloadbalancing.us-iso-east-1.c2s.ic.gov/",
			"https://tagging.us-iso-east-1.c2s.ic.gov/"},
		{"us-isob-east-1", false, false,
			"https://elasticloadbalancing.us-isob-east-1.sc2s.sgov.gov/",
			"https://tagging.us-isob-east-1.sc2s.sgov.gov/"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoints endpoints;
		assert_null(endpoints_init(&endpoints, variables(NULL), rows[i].region,
			rows[i].use_fips, rows[i].use_dualstack));
		assert_string_equal(endpoints.url[AWS_ELB], rows[i].elb);
		assert_string_equal(endpoints.url[AWS_TAGGING], rows[i].tagging);
		endpoints_fini(&endpoints);
	}
}

static void a_global_service_has_one_host_in_a_partition(void **state)
{
	static const struct {
		const char *region;
		bool use_fips;
		bool use_dualstack;
		const char *url;
		const char *signing_region;
	} rows[] = {
		{"eu-central-1", false, false, "https://route53.amazonaws.com/", "us-east-1"},
		{"eu-central-1", false, true, "https://route53.global.api.aws/", "us-east-1"},
		{"eu-central-1", true, false, "https://route53-fips.amazonaws.com/", "us-east-1"},
		{"cn-north-1", false, false, "https://route53.amazonaws.com.cn/", "cn-northwest-1"},
		{"us-gov-east-1", false, false, "https://route53.us-gov.amazonaws.com/",
			"us-gov-west-1"},
		{"us-gov-east-1", true, false, "https://route53.us-gov.amazonaws.com/",
			"us-gov-west-1"},
		{"us-gov-east-1", true, true, "https://route53.us-gov.api.aws/", "us-gov-west-1"},
		{"us-iso-west-1", false, false, "https://route53.c2s.ic.gov/", "us-iso-east-1"},
		{"us-isob-east-1", false, true, "https://route53.api.aws.scloud/",
			"us-isob-east-1"},
		{"eusc-de-east-1", false, true, "https://route53.global.api.amazonwebservices.eu/",
			"eusc-de-east-1"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoints endpoints;
		assert_null(endpoints_init(&endpoints, variables(NULL), rows[i].region,
			rows[i].use_fips, rows[i].use_dualstack));
		assert_string_equal(endpoints.url[AWS_ROUTE53], rows[i].url);
		assert_string_equal(
			endpoints_signing_region(&endpoints, AWS_ROUTE53), rows[i].signing_region);
		assert_string_equal(endpoints_signing_region(&endpoints, AWS_ELB), rows[i].region);
		endpoints_fini(&endpoints);
	}
}

static void variables_and_profiles_override(void **state)
{
	static const char config[] = "[profile a]\nregion = eu-west-1\nservices = s\n"
				     "endpoint_url = http://127.0.0.1:5/\n[services s]\nec2 =\n"
				     "  endpoint_url = http://127.0.0.1:6\n";
	char *path = write_file("config", config);
	static const struct {
		const char *variables[12];
		const char *region; /* the option */
		const char *want_region;
		const char *elb;
		const char *ec2;
	} rows[] = {
		{{"AWS_REGION=us-west-1", "AWS_DEFAULT_REGION=us-west-2"}, NULL, "us-west-1",
			"https://elasticloadbalancing.us-west-1.amazonaws.com/",
			"https://ec2.us-west-1.amazonaws.com/"},
		{{"AWS_REGION=us-west-1"}, "us-east-2", "us-east-2",
			"https://elasticloadbalancing.us-east-2.amazonaws.com/",
			"https://ec2.us-east-2.amazonaws.com/"},
		{{"AWS_REGION=", "AWS_DEFAULT_REGION=us-west-2"}, NULL, "us-west-2",
			"https://elasticloadbalancing.us-west-2.amazonaws.com/",
			"https://ec2.us-west-2.amazonaws.com/"},
		{{"AWS_PROFILE=a"}, NULL, "eu-west-1", "http://127.0.0.1:5/",
			"http://127.0.0.1:6/"},
		{{"AWS_DEFAULT_PROFILE=a", "AWS_ENDPOINT_URL=http://[::1]:7/base"}, NULL,
			"eu-west-1", "http://[::1]:7/base/", "http://[::1]:7/base/"},
		{{"AWS_PROFILE=a",
			 "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2=https://elb.example"},
			NULL, "eu-west-1", "https://elb.example/", "http://127.0.0.1:6/"},
		{{"AWS_PROFILE=a", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=TRUE",
			 "AWS_ENDPOINT_URL=http://127.0.0.1:7", "AWS_USE_FIPS_ENDPOINT=true"},
			NULL, "eu-west-1",
			"https://elasticloadbalancing-fips.eu-west-1.amazonaws.com/",
			"https://ec2-fips.eu-west-1.amazonaws.com/"},
		{{NULL}, NULL, NULL, NULL, NULL},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoints endpoints;
		const struct aws_environment *environment = variables(rows[i].variables);
		set_variable("AWS_CONFIG_FILE", path);
		assert_null(endpoints_init(&endpoints, environment, rows[i].region, false, false));
		assert_text(endpoints.region, rows[i].want_region);
		assert_text(endpoints.url[AWS_ELB], rows[i].elb);
		assert_text(endpoints.url[AWS_EC2], rows[i].ec2);
		assert_null(endpoints.peer);
		endpoints_fini(&endpoints);
	}
	remove_file(path);
}

static void what_is_wrong_is_told(void **state)
{
	static const struct {
		const char *variables[4];
		const char *region;
		const char *want;
	} rows[] = {
		{{NULL}, "us-east-1.evil", "\"us-east-1.evil\" is no name of a region"},
		{{"AWS_REGION=US"}, NULL, "\"US\" is no name of a region"},
		{{"AWS_ENDPOINT_URL=127.0.0.1:80"}, "us-east-1",
			"AWS_ENDPOINT_URL is no http or https URL without a user and a query"},
		{{"AWS_ENDPOINT_URL_EC2=http://host/?a=b"}, "us-east-1",
			"AWS_ENDPOINT_URL_EC2 is no http or https URL without a user and a query"},
		{{"AWS_ENDPOINT_URL=http://me:secret@host"}, "us-east-1",
			"AWS_ENDPOINT_URL is no http or https URL without a user and a query"},
		{{"AWS_ENDPOINT_URL=https://"}, "us-east-1",
			"AWS_ENDPOINT_URL is no http or https URL without a user and a query"},
		{{"AWS_PROFILE=b", "HOME=/nowhere"}, "us-east-1",
			"the profile \"b\" is neither in /nowhere/.aws/config nor in "
			"/nowhere/.aws/credentials"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct endpoints endpoints;
		char *problem = endpoints_init(
			&endpoints, variables(rows[i].variables), rows[i].region, false, false);
		assert_non_null(problem);
		assert_string_equal(problem, rows[i].want);
		free(problem);
		endpoints_fini(&endpoints);
	}
}

static void authorities_come_from_a_bundle(void **state)
{
	static const char *const list[] = {"AWS_CA_BUNDLE=/etc/ca.pem", NULL};
	struct endpoints endpoints;
	assert_null(endpoints_init(&endpoints, variables(list), "us-east-1", false, false));
	assert_string_equal(endpoints.peer->ca_file, "/etc/ca.pem");
	endpoints_fini(&endpoints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_partition_has_its_hosts),
		cmocka_unit_test(a_global_service_has_one_host_in_a_partition),
		cmocka_unit_test(variables_and_profiles_override),
		cmocka_unit_test(what_is_wrong_is_told),
		cmocka_unit_test(authorities_come_from_a_bundle),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
