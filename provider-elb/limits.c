// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/limits.h"

struct str limits_read(const struct xml *xml, struct settings *settings)
{
	const struct {
		const char *name;
		uint64_t *value;
	} limits[] = {
		{"rules-per-application-load-balancer", &settings->rules_max},
		{"target-groups-per-application-load-balancer", &settings->groups_max},
		{"certificates-per-application-load-balancer", &settings->certificates_max},
		{"targets-per-application-load-balancer", &settings->targets_max},
	};
	const struct xml *limit = xml_find(xml, "DescribeAccountLimitsResult/Limits/member");
	for (; limit != NULL; limit = xml_next(limit)) {
		int64_t max = xml_number(limit, "Max");
		for (size_t i = 0; max >= 0 && i < sizeof(limits) / sizeof(limits[0]); i++) {
			if (str_eq_c(xml_text(limit, "Name"), limits[i].name))
				*limits[i].value = (uint64_t)max;
		}
	}
	struct str marker = xml_text(xml, "DescribeAccountLimitsResult/NextMarker");
	return marker.len != 0 ? marker : STR_NONE;
}
