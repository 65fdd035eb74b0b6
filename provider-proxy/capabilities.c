// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/capabilities.h"

#include "common/must.h"
#include "provider-proxy/route_writer.h"

enum { COMMON_COUNT = 3, POLICIES_MAX = 24 };

struct capabilities *local_capabilities(const struct route_writer *writer)
{
	static struct str protocols[] = {
		STR("http"), STR("https"), STR("tcp"), STR("tls-passthrough")};
	static struct str policies[POLICIES_MAX] = {
		STR("stickiness"), STR("health-check"), STR("backend-tls")};
	static struct str features[] = {STR("source-ranges"), STR("applied")};
	static struct capabilities capabilities = {
		.grouping = GROUPING_MERGED,
		.protocols = {protocols, 4},
		.policies = {policies, COMMON_COUNT},
		.features = {features, 2},
	};
	struct str_list words = writer != NULL ? writer->words : (struct str_list){0};
	must(words.count <= POLICIES_MAX - COMMON_COUNT);
	capabilities.policies.count = COMMON_COUNT + words.count;
	for (size_t i = 0; i < words.count; i++)
		policies[COMMON_COUNT + i] = words.items[i];
	return &capabilities;
}
