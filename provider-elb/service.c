// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/service.h"

const char *aws_outcome_text(enum aws_outcome outcome)
{
	static const char *const texts[] = {
		[AWS_OK] = "ok",
		[AWS_THROTTLED] = "throttled",
		[AWS_FAILED] = "failed",
		[AWS_OUTAGE] = "outage",
		[AWS_NOT_FOUND] = "not_found",
		[AWS_EXISTS] = "exists",
		[AWS_IN_USE] = "in_use",
		[AWS_QUOTA] = "quota",
		[AWS_DENIED] = "denied",
		[AWS_REFUSED] = "refused",
	};
	return texts[outcome];
}

const struct service *service_of(enum aws_service service)
{
	static const struct service services[] = {
		[AWS_ELB] = {"elasticloadbalancing", "elasticloadbalancing",
			"AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2", "2015-12-01", NULL},
		[AWS_EC2] = {"ec2", "ec2", "AWS_ENDPOINT_URL_EC2", "2016-11-15", NULL},
		[AWS_ACM] = {"acm", "acm", "AWS_ENDPOINT_URL_ACM", NULL, "CertificateManager"},
		[AWS_TAGGING] = {"tagging", "tagging",
			"AWS_ENDPOINT_URL_RESOURCE_GROUPS_TAGGING_API", NULL,
			"ResourceGroupsTaggingAPI_20170126"},
		[AWS_STS] = {"sts", "sts", "AWS_ENDPOINT_URL_STS", "2011-06-15", NULL},
		[AWS_ROUTE53] = {"route53", "route53", "AWS_ENDPOINT_URL_ROUTE_53", "2013-04-01",
			NULL},
	};
	return &services[service];
}

static const struct {
	const char *code;
	enum aws_outcome outcome;
} known[] = {
#define AWS_ERROR(code, outcome) {code, AWS_##outcome},
#include "provider-elb/errors.def"
#undef AWS_ERROR
};

/* Families of codes that grow over time: AWS adds members, and names them alike. */
static bool outcome_by_form(struct str code, enum aws_outcome *ret_outcome)
{
	struct str suffix = STR("Exception");
	struct str stem = code;
	if (str_ends_with(code, suffix))
		stem.len -= suffix.len;
	if (str_ends_with(stem, STR("NotFound")))
		*ret_outcome = AWS_NOT_FOUND;
	else if (str_starts_with(stem, STR("Duplicate")) || str_ends_with(stem, STR(".Duplicate")))
		*ret_outcome = AWS_EXISTS;
	else if (str_ends_with(stem, STR(".InUse")))
		*ret_outcome = AWS_IN_USE;
	else if (str_starts_with(stem, STR("TooMany")) || str_ends_with(stem, STR("LimitExceeded")))
		*ret_outcome = AWS_QUOTA;
	else
		return false;
	return true;
}

static enum aws_outcome outcome_by_status(long status)
{
	if (status == 429)
		return AWS_THROTTLED;
	if (status == 401 || status == 403)
		return AWS_DENIED;
	/* 408 is a time that is up; below 400 there are only answers that no service of AWS gives. */
	if (status >= 500 || status < 400 || status == 408)
		return AWS_FAILED;
	return AWS_REFUSED;
}

enum aws_outcome service_error(struct str code, long http_status)
{
	enum aws_outcome outcome = AWS_FAILED;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		if (str_eq_c(code, known[i].code))
			return known[i].outcome;
	}
	return outcome_by_form(code, &outcome) ? outcome : outcome_by_status(http_status);
}

bool service_error_is_credentials(struct str code)
{
	return service_error(code, 0) == AWS_OUTAGE;
}
