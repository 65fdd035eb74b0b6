// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/requests_parts.h"

#include "common/must.h"

enum {
	PAGE_SIZE = 400,      /* the most that ELB gives */
	EC2_PAGE_SIZE = 1000, /* likewise EC2 */
};

void requests_end(struct params *params, enum aws_service service, const char *action,
	bool is_write, struct arena *arena, struct request *ret_request)
{
	*ret_request = (struct request){.service = service,
		.action = action,
		.body = params_end(params, arena),
		.is_write = is_write};
}

void requests_add_list(struct params *params, const char *name, const struct str_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		params_add(params, list->items[i], "%s.member.%zu", name, i + 1);
}

static void read_page(const char *action, const char *of_name, struct str of, struct str marker,
	struct arena *arena, struct request *ret_request)
{
	struct params params;
	params_begin(&params, AWS_ELB, action);
	if (of_name != NULL)
		params_add(&params, of, "%s", of_name);
	params_add_number(&params, PAGE_SIZE, "PageSize");
	if (!str_is_empty(marker))
		params_add(&params, marker, "Marker");
	requests_end(&params, AWS_ELB, action, false, arena, ret_request);
}

void requests_balancers(struct str marker, struct arena *arena, struct request *ret_request)
{
	read_page("DescribeLoadBalancers", NULL, STR_NONE, marker, arena, ret_request);
}

void requests_balancers_by_arn(
	const struct str_list *arns, struct arena *arena, struct request *ret_request)
{
	struct params params;
	params_begin(&params, AWS_ELB, "DescribeLoadBalancers");
	requests_add_list(&params, "LoadBalancerArns", arns);
	requests_end(&params, AWS_ELB, "DescribeLoadBalancers", false, arena, ret_request);
}

void requests_balancer_by_name(struct str name, struct arena *arena, struct request *ret_request)
{
	struct params params;
	params_begin(&params, AWS_ELB, "DescribeLoadBalancers");
	params_add(&params, name, "Names.member.1");
	requests_end(&params, AWS_ELB, "DescribeLoadBalancers", false, arena, ret_request);
}

void requests_groups(struct str marker, struct arena *arena, struct request *ret_request)
{
	read_page("DescribeTargetGroups", NULL, STR_NONE, marker, arena, ret_request);
}

void requests_listeners(struct str balancer_arn, struct str marker, struct arena *arena,
	struct request *ret_request)
{
	read_page("DescribeListeners", "LoadBalancerArn", balancer_arn, marker, arena, ret_request);
}

void requests_rules(struct str listener_arn, struct str marker, struct arena *arena,
	struct request *ret_request)
{
	read_page("DescribeRules", "ListenerArn", listener_arn, marker, arena, ret_request);
}

void requests_certificates(struct str listener_arn, struct str marker, struct arena *arena,
	struct request *ret_request)
{
	read_page("DescribeListenerCertificates", "ListenerArn", listener_arn, marker, arena,
		ret_request);
}

void requests_account_limits(struct str marker, struct arena *arena, struct request *ret_request)
{
	read_page("DescribeAccountLimits", NULL, STR_NONE, marker, arena, ret_request);
}

void requests_tags(const struct str_list *arns, struct arena *arena, struct request *ret_request)
{
	struct params params;
	must(arns->count <= REQUESTS_TAGS_MAX);
	params_begin(&params, AWS_ELB, "DescribeTags");
	requests_add_list(&params, "ResourceArns", arns);
	requests_end(&params, AWS_ELB, "DescribeTags", false, arena, ret_request);
}

void requests_health(struct str group_arn, struct arena *arena, struct request *ret_request)
{
	struct params params;
	params_begin(&params, AWS_ELB, "DescribeTargetHealth");
	params_add(&params, group_arn, "TargetGroupArn");
	requests_end(&params, AWS_ELB, "DescribeTargetHealth", false, arena, ret_request);
}

void requests_security_groups(
	struct str cluster, struct str marker, struct arena *arena, struct request *ret_request)
{
	struct params params;
	params_begin(&params, AWS_EC2, "DescribeSecurityGroups");
	params_add(&params, STR("tag:" TAG_CLUSTER), "Filter.1.Name");
	params_add(&params, naming_tag_value(arena, cluster), "Filter.1.Value.1");
	params_add_number(&params, EC2_PAGE_SIZE, "MaxResults");
	if (!str_is_empty(marker))
		params_add(&params, marker, "NextToken");
	requests_end(&params, AWS_EC2, "DescribeSecurityGroups", false, arena, ret_request);
}

void requests_targets(struct str group_arn, const struct elb_target_list *targets, bool is_register,
	struct arena *arena, struct request *ret_request)
{
	const char *action = is_register ? "RegisterTargets" : "DeregisterTargets";
	struct params params;
	must(targets->count <= REQUESTS_TARGETS_MAX);
	params_begin(&params, AWS_ELB, action);
	params_add(&params, group_arn, "TargetGroupArn");
	for (size_t i = 0; i < targets->count; i++) {
		const struct elb_target *target = &targets->items[i];
		params_add(&params, target->ip, "Targets.member.%zu.Id", i + 1);
		params_add_number(&params, target->port, "Targets.member.%zu.Port", i + 1);
		/* A target is known by its address and port: the zone only matters to begin with. */
		if (is_register && target->is_elsewhere)
			params_add(
				&params, STR("all"), "Targets.member.%zu.AvailabilityZone", i + 1);
	}
	requests_end(&params, AWS_ELB, action, true, arena, ret_request);
}
