// SPDX-License-Identifier: Apache-2.0
/*
 * Region and endpoints, by the same rules as AWS's own tools.
 */
#pragma once

#include "common/http.h"
#include "provider-elb/shared_files.h"

struct endpoints {
	char *region;                 /* NULL: only instance metadata can tell it (metadata.h) */
	char *url[AWS_SERVICE_COUNT]; /* ends in '/'; NULL without a region */
	struct http_peer *peer;       /* certificate authorities (AWS_CA_BUNDLE); may be NULL */
};

/*
 * Region: `region` (may be NULL), AWS_REGION, AWS_DEFAULT_REGION, the profile. If there is none, result and region are NULL: call it again with what instance metadata
 * says. Endpoints: AWS_ENDPOINT_URL_<SERVICE>, AWS_ENDPOINT_URL, the profile's services, its endpoint_url, else the host of the partition, for which AWS_USE_FIPS_ENDPOINT and
 * AWS_USE_DUALSTACK_ENDPOINT count, too. NULL, or what is wrong (allocated). To be followed by endpoints_fini() in every case.
 * (botocore, data/partitions.json and the endpoint-rule-set-1.json of each service.)
 */
char *endpoints_init(struct endpoints *endpoints, const struct aws_environment *environment,
	const char *region, bool use_fips, bool use_dualstack);
void endpoints_fini(struct endpoints *endpoints);
/* Certificate authorities from a file, in place of others, which stay if it cannot be read. *ret_changed: they are not the same ones. NULL, or what is wrong (allocated). */
char *endpoints_read_authorities(struct endpoints *endpoints, const char *path, bool *ret_changed);
/* For one request: authorities may be replaced while it runs. NULL, or to be released. */
struct http_peer *endpoints_hold_peer(const struct endpoints *endpoints);
/* That of the load balancers, but for a service that is one for all regions; they have a region. Static, or of the endpoints. */
const char *endpoints_signing_region(const struct endpoints *endpoints, enum aws_service service);
