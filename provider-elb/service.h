// SPDX-License-Identifier: Apache-2.0
/*
 * The services of AWS that this provider calls, and how their calls can end. No I/O.
 */
#pragma once

#include "common/str.h"

#include <stdbool.h>

enum aws_service {
	AWS_ELB,     /* elasticloadbalancing, 2015-12-01: Query, XML */
	AWS_EC2,     /* ec2, 2016-11-15: Query with flattened lists, XML */
	AWS_ACM,     /* acm: JSON 1.1 */
	AWS_TAGGING, /* tagging, ResourceGroupsTaggingAPI_20170126: JSON 1.1 */
	AWS_STS,     /* sts, 2011-06-15: Query, XML, unsigned */
	AWS_ROUTE53, /* route53, 2013-04-01: REST, XML; one for all regions of a partition */
	AWS_SERVICE_COUNT,
};

enum aws_outcome {
	AWS_OK,
	AWS_THROTTLED, /* the account's rate of calls is used up */
	AWS_FAILED,    /* 5xx, an answer that never ended or makes no sense: may succeed later */
	AWS_OUTAGE,    /* no connection, or the credentials are refused: no call can succeed now */
	AWS_NOT_FOUND, /* what it names is not there, or not there yet */
	AWS_EXISTS,    /* a name, port, priority or permission is taken */
	AWS_IN_USE,    /* it cannot go while something uses it */
	AWS_QUOTA,     /* a quota of the account is reached */
	AWS_DENIED,    /* the credentials lack the permission, or somebody protects it */
	AWS_REFUSED,   /* the request is wrong: the same one will not succeed */
	AWS_OUTCOME_COUNT,
};

/* For metrics and logs; static. */
const char *aws_outcome_text(enum aws_outcome outcome);

struct service {
	const char *signing_name; /* in signatures: "elasticloadbalancing" */
	const char *host_prefix;  /* in default host names */
	const char *endpoint_env; /* "AWS_ENDPOINT_URL_ELASTIC_LOAD_BALANCING_V2" */
	const char *version;      /* of an API in XML; NULL: JSON */
	const char *target;       /* of JSON: "CertificateManager" */
};

const struct service *service_of(enum aws_service service);

/* By the code of an error ("Throttling", "AccessDenied") and the HTTP status; an unknown code is told by its status. errors.def is the table. */
enum aws_outcome service_error(struct str code, long http_status);
/* The credentials are at fault: expired or unknown. They are renewed once. */
bool service_error_is_credentials(struct str code);
