// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/capabilities.h"

struct capabilities *elb_capabilities(void)
{
	static struct str protocols[] = {
		STR("http"), STR("https"), STR("tcp"), STR("tls-passthrough")};
	/* How many instances there are is AWS's business, and there is no free text that AWS would take. */
	static struct str policies[] = {STR("stickiness"), STR("health-check")};
	/* Several lines may drive the same account. */
	static struct str features[] = {STR("lead")};
	static struct capabilities capabilities = {
		.grouping = GROUPING_PER_INGRESS,
		.protocols = {protocols, sizeof(protocols) / sizeof(protocols[0])},
		.policies = {policies, sizeof(policies) / sizeof(policies[0])},
		.features = {features, sizeof(features) / sizeof(features[0])},
	};
	return &capabilities;
}
