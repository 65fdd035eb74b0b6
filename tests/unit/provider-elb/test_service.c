// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void errors_have_an_outcome(void **state)
{
	static const struct {
		const char *code; /* NULL: none */
		long status;
		enum aws_outcome want;
	} rows[] = {
		{"Throttling", 400, AWS_THROTTLED},
		{"ThrottlingException", 400, AWS_THROTTLED},
		{"RequestLimitExceeded", 503, AWS_THROTTLED},
		{"BandwidthLimitExceeded", 509, AWS_THROTTLED},
		{"TooManyRequestsException", 400, AWS_THROTTLED},
		{"SomethingNew", 429, AWS_THROTTLED},
		{"LimitExceededException", 400, AWS_QUOTA},
		{"TooManyRules", 400, AWS_QUOTA},
		{"TooManyTagsException", 400, AWS_QUOTA},
		{"TargetGroupAssociationLimit", 400, AWS_QUOTA},
		{"RulesPerSecurityGroupLimitExceeded", 400, AWS_QUOTA},
		{"InternalFailure", 400, AWS_FAILED},
		{"ConflictException", 400, AWS_FAILED},
		{NULL, 500, AWS_FAILED},
		{NULL, 503, AWS_FAILED},
		{NULL, 302, AWS_FAILED},
		{NULL, 408, AWS_FAILED},
		{"ExpiredToken", 403, AWS_OUTAGE},
		{"SignatureDoesNotMatch", 403, AWS_OUTAGE},
		{"AuthFailure", 401, AWS_OUTAGE},
		{"NoSuchHostedZone", 404, AWS_NOT_FOUND},
		{"InvalidChangeBatch", 400, AWS_REFUSED},
		{"PriorRequestNotComplete", 400, AWS_THROTTLED},
		{"LoadBalancerNotFound", 400, AWS_NOT_FOUND},
		{"ResourceNotFoundException", 400, AWS_NOT_FOUND},
		{"InvalidGroup.NotFound", 400, AWS_NOT_FOUND},
		{"ALPNPolicyNotFound", 400, AWS_REFUSED},
		{"DuplicateTargetGroupName", 400, AWS_EXISTS},
		{"InvalidPermission.Duplicate", 400, AWS_EXISTS},
		{"PriorityInUse", 400, AWS_EXISTS},
		{"ResourceInUse", 400, AWS_IN_USE},
		{"ResourceInUseException", 400, AWS_IN_USE},
		{"DependencyViolation", 400, AWS_IN_USE},
		{"InvalidGroup.InUse", 400, AWS_IN_USE},
		{"AccessDenied", 403, AWS_DENIED},
		{"UnauthorizedOperation", 403, AWS_DENIED},
		{"OperationNotPermitted", 400, AWS_DENIED},
		{NULL, 403, AWS_DENIED},
		{NULL, 401, AWS_DENIED},
		{"ValidationError", 400, AWS_REFUSED},
		{"InvalidParameterException", 400, AWS_REFUSED},
		{"throttling", 400, AWS_REFUSED},
		{NULL, 404, AWS_REFUSED},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		enum aws_outcome got = service_error(str_from(rows[i].code), rows[i].status);
		if (got != rows[i].want)
			fail_msg("%s %ld: %s, not %s", rows[i].code != NULL ? rows[i].code : "-",
				rows[i].status, aws_outcome_text(got),
				aws_outcome_text(rows[i].want));
	}
}

static void expired_keys_are_told_from_missing_permissions(void **state)
{
	(void)state;
	assert_true(service_error_is_credentials(STR("ExpiredTokenException")));
	assert_true(service_error_is_credentials(STR("RequestExpired")));
	assert_false(service_error_is_credentials(STR("AccessDenied")));
	assert_false(service_error_is_credentials(STR_NONE));
}

static void every_service_and_outcome_has_its_texts(void **state)
{
	(void)state;
	for (enum aws_service i = 0; i < AWS_SERVICE_COUNT; i++) {
		const struct service *service = service_of(i);
		assert_non_null(service->signing_name);
		assert_non_null(service->endpoint_env);
		assert_true((service->version == NULL) != (service->target == NULL));
	}
	for (enum aws_outcome i = 0; i < AWS_OUTCOME_COUNT; i++)
		assert_non_null(aws_outcome_text(i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_have_an_outcome),
		cmocka_unit_test(expired_keys_are_told_from_missing_permissions),
		cmocka_unit_test(every_service_and_outcome_has_its_texts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
