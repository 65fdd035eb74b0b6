// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/capabilities.h"

struct capabilities *rancher_capabilities(void)
{
	static struct str protocols[] = {
		STR("http"), STR("https"), STR("tcp"), STR("tls-passthrough")};
	static struct str policies[] = {STR("stickiness"), STR("health-check"), STR("scale"),
		STR("labels"), STR("custom-config")};
	/* Several lines may drive the same Rancher environment, and Rancher finds endpoints by itself. */
	static struct str features[] = {STR("lead"), STR("own-endpoints")};
	static struct capabilities capabilities = {
		.grouping = GROUPING_PER_INGRESS,
		.features = {features, 2},
		.protocols = {protocols, sizeof(protocols) / sizeof(protocols[0])},
		.policies = {policies, sizeof(policies) / sizeof(policies[0])},
	};
	return &capabilities;
}

/* Rancher finds endpoints by itself, so changes of endpoints alone are dropped. */
bool rancher_reduce(enum lb_kind kind, void *value)
{
	struct pool *pool = value;
	if (kind != LB_POOL || pool->endpoints.count == 0)
		return false;
	pool->endpoints.count = 0;
	return true;
}
