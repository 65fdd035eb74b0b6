// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void takes_the_quotas_that_it_knows(void **state)
{
	(void)state;
	struct settings settings;
	struct arena arena;
	const char *problem = NULL;
	arena_init(&arena);
	settings_init(&settings);
	uint64_t certificates_max = settings.certificates_max;
	const struct xml *xml =
		xml_parse(STR("<DescribeAccountLimitsResponse><DescribeAccountLimitsResult><Limits>"
			      "<member><Name>rules-per-application-load-balancer</Name><Max>250</"
			      "Max></member>"
			      "<member><Name>target-groups-per-application-load-balancer</"
			      "Name><Max>101</Max></member>"
			      "<member><Name>targets-per-application-load-balancer</"
			      "Name><Max>2000</Max></member>"
			      "<member><Name>certificates-per-application-load-balancer</"
			      "Name><Max>x</Max></member>"
			      "<member><Name>of-another-kind</Name><Max>7</Max></member></Limits>"
			      "<NextMarker>m</NextMarker></DescribeAccountLimitsResult></"
			      "DescribeAccountLimitsResponse>"),
			&arena, &problem);
	assert_non_null(xml);
	assert_true(str_eq(limits_read(xml, &settings), STR("m")));
	assert_int_equal(settings.rules_max, 250);
	assert_int_equal(settings.groups_max, 101);
	assert_int_equal(settings.targets_max, 2000);
	assert_int_equal(settings.certificates_max, certificates_max);
	xml = xml_parse(STR("<x/>"), &arena, &problem);
	assert_null(limits_read(xml, &settings).p);
	assert_int_equal(settings.rules_max, 250);
	arena_fini(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(takes_the_quotas_that_it_knows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
