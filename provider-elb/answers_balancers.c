// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/answers.h"
#include "provider-elb/observed_texts.h"

static enum elb_state state_of(struct str code)
{
	if (str_eq_c(code, "active"))
		return ELB_ACTIVE;
	if (str_eq_c(code, "active_impaired"))
		return ELB_IMPAIRED;
	return str_eq_c(code, "failed") ? ELB_FAILED : ELB_PROVISIONING;
}

bool answers_take_balancer(const struct xml *xml, struct observed *observed,
	struct observed_balancer *balancer, struct arena *arena)
{
	struct str type = answers_text(xml, "Type");
	bool is_network = str_eq_c(type, "network");
	if (!is_network && !str_eq_c(type, "application"))
		return false;
	struct str_list groups = answers_list(answers_members(xml, "SecurityGroups"), "", arena);
	struct str_list subnets =
		answers_list(answers_members(xml, "AvailabilityZones"), "SubnetId", arena);
	balancer->type = is_network ? ELB_NETWORK : ELB_APPLICATION;
	observed_set_balancer_name(observed, balancer, answers_text(xml, "LoadBalancerName"));
	str_set(&balancer->dns_name, answers_lower(answers_text(xml, "DNSName"), arena));
	str_set(&balancer->zone_id, answers_text(xml, "CanonicalHostedZoneId"));
	balancer->state = state_of(answers_text(xml, "State/Code"));
	str_set(&balancer->state_reason, answers_text(xml, "State/Reason"));
	str_set(&balancer->scheme, answers_text(xml, "Scheme"));
	str_set(&balancer->ip_address_type, answers_text(xml, "IpAddressType"));
	observed_set_list(&balancer->security_groups, &groups);
	observed_set_list(&balancer->subnets, &subnets);
	return true;
}

struct str answers_balancers(const struct xml *xml, struct observed *observed, uint64_t pass,
	struct arena *arena, void (*on_other)(void *ctx, struct str arn, struct str name),
	void *ctx)
{
	const struct xml *result = answers_result(xml);
	const struct xml *member = answers_members(result, "LoadBalancers");
	for (; member != NULL; member = xml_next(member)) {
		struct str arn = answers_arn(member, "LoadBalancerArn");
		struct observed_balancer *balancer = observed_find_balancer(observed, arn);
		if (balancer == NULL && on_other != NULL && arn.p != NULL)
			on_other(ctx, arn, answers_text(member, "LoadBalancerName"));
		/* on_other() may have had reason to add it. */
		if (balancer == NULL)
			balancer = observed_find_balancer(observed, arn);
		if (balancer != NULL && answers_take_balancer(member, observed, balancer, arena))
			observed_see(observed, pass, &balancer->seen_in);
	}
	return answers_marker(result, "NextMarker", arena);
}
