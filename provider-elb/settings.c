// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/settings.h"

void settings_init(struct settings *settings)
{
	*settings = (struct settings){
		.scheme = STR("internet-facing"),
		.ip_address_type = STR("ipv4"),
		/* Without a value AWS takes one that still allows TLS 1.0. */
		.ssl_policy = STR("ELBSecurityPolicy-TLS13-1-2-2021-06"),
		.wildcard_hosts = WILDCARD_REGEX,
		/* AWS's 300 s outlive most pods. */
		.deregistration_delay_s = 30,
		/* Kubernetes has decided who is ready: a check must not refuse what it takes. */
		.health_check_path = STR("/"),
		.health_check_codes = STR("200-499"),
		.health_check_interval_s = 15,
		.health_check_timeout_s = 5,
		.healthy_threshold = 2,
		.unhealthy_threshold = 2,
		.rules_max = 100,
		.groups_max = 100,
		.certificates_max = 25,
		.targets_max = 1000,
	};
}
