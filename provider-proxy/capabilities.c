// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/capabilities.h"

struct capabilities *local_capabilities(void)
{
	static struct str protocols[] = {
		STR("http"), STR("https"), STR("tcp"), STR("tls-passthrough")};
	static struct str policies[] = {STR("stickiness"), STR("health-check"), STR("backend-tls")};
	static struct str features[] = {STR("source-ranges"), STR("applied")};
	static struct capabilities capabilities = {
		.grouping = GROUPING_MERGED,
		.protocols = {protocols, 4},
		.policies = {policies, 3},
		.features = {features, 2},
	};
	return &capabilities;
}
