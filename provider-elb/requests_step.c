// SPDX-License-Identifier: Apache-2.0
/* Requests of the steps of a plan, but for those that concern the content of a balancer. */
#include "provider-elb/requests_parts.h"

#include "common/must.h"

static void add_applied(struct params *params, struct str arn, struct str value)
{
	params_add(params, arn, "ResourceArns.member.1");
	params_add(params, STR(TAG_APPLIED), "Tags.member.1.Key");
	params_add(params, value, "Tags.member.1.Value");
}

/* ---- target groups ---- */

static void add_health_check(struct params *params, const struct elb_health_check *check)
{
	params_add(params, check->protocol, "HealthCheckProtocol");
	params_add(params, check->port, "HealthCheckPort");
	params_add(params, check->path, "HealthCheckPath");
	params_add_number(params, check->interval_s, "HealthCheckIntervalSeconds");
	params_add_number(params, check->timeout_s, "HealthCheckTimeoutSeconds");
	params_add_number(params, check->healthy, "HealthyThresholdCount");
	params_add_number(params, check->unhealthy, "UnhealthyThresholdCount");
	params_add(
		params, check->matcher, check->is_grpc ? "Matcher.GrpcCode" : "Matcher.HttpCode");
}

static void create_group(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	const struct elb_group *group = plan->wanted_group;
	params_add(params, group->name, "Name");
	params_add(params, group->protocol, "Protocol");
	params_add(params, group->version, "ProtocolVersion");
	params_add_number(params, group->port, "Port");
	params_add(params, input->network->vpc, "VpcId");
	params_add(params, STR("ip"), "TargetType");
	params_add(params, group->is_ipv6 ? STR("ipv6") : STR("ipv4"), "IpAddressType");
	add_health_check(params, &group->health_check);
	requests_add_tags(params, input, plan, group->identity, arena);
}

static void modify_group(struct params *params, const struct plan *plan)
{
	params_add(params, plan->group->group.arn, "TargetGroupArn");
	add_health_check(params, &plan->wanted_group->health_check);
}

static void modify_group_attributes(struct params *params, const struct plan *plan)
{
	const struct elb_group *group = plan->wanted_group;
	params_add(params, plan->group->group.arn, "TargetGroupArn");
	for (size_t i = 0; i < group->attributes.count; i++) {
		params_add(
			params, group->attributes.items[i].key, "Attributes.member.%zu.Key", i + 1);
		params_add(params, group->attributes.items[i].value, "Attributes.member.%zu.Value",
			i + 1);
	}
}

/* ---- balancers ---- */

static void create_balancer(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	bool is_network = plan->wanted->type == ELB_NETWORK;
	params_add(params, plan->wanted->name, "Name");
	params_add(params, is_network ? STR("network") : STR("application"), "Type");
	params_add(params, input->settings->scheme, "Scheme");
	params_add(params, input->settings->ip_address_type, "IpAddressType");
	requests_add_list(params, "Subnets", &input->network->subnets);
	requests_add_list(params, "SecurityGroups", &plan->security_groups);
	requests_add_tags(params, input, plan, plan->wanted->identity, arena);
}

static void set_security_groups(struct params *params, const struct plan *plan)
{
	params_add(params, str_from(plan->balancer->arn), "LoadBalancerArn");
	requests_add_list(params, "SecurityGroups", &plan->security_groups);
}

/* ---- security groups: EC2 ---- */

static void create_security_group(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	struct str identity = naming_security_group_identity(arena, input->lb, plan->wanted->type);
	params_add(params, plan->wanted->name, "GroupName");
	params_add(params, STR("sluice front end"), "GroupDescription");
	params_add(params, input->network->vpc, "VpcId");
	params_add(params, STR("security-group"), "TagSpecification.1.ResourceType");
	requests_add_ec2_tags(params, input, plan, identity, arena);
}

/* Where the source of a permission stands. */
static void source_names(struct str source, const char **ret_list, const char **ret_member)
{
	if (str_starts_with(source, STR("sg-"))) {
		*ret_list = "Groups";
		*ret_member = "GroupId";
	} else if (str_starts_with(source, STR("pl-"))) {
		*ret_list = "PrefixListIds";
		*ret_member = "PrefixListId";
	} else if (str_find(source, ':') != NULL) {
		*ret_list = "Ipv6Ranges";
		*ret_member = "CidrIpv6";
	} else {
		*ret_list = "IpRanges";
		*ret_member = "CidrIp";
	}
}

static void change_permission(struct params *params, const struct plan *plan)
{
	struct str source = str_from(plan->permission.source);
	const char *list;
	const char *member;
	source_names(source, &list, &member);
	params_add(params, str_from(plan->security_group->id), "GroupId");
	params_add(params, STR("tcp"), "IpPermissions.1.IpProtocol");
	params_add_number(params, plan->permission.from, "IpPermissions.1.FromPort");
	params_add_number(params, plan->permission.to, "IpPermissions.1.ToPort");
	params_add(params, source, "IpPermissions.1.%s.1.%s", list, member);
	if (plan->step == PLAN_AUTHORIZE)
		params_add(params, STR("sluice"), "IpPermissions.1.%s.1.Description", list);
}

static void name_security_group(struct params *params, const struct plan *plan)
{
	if (plan->step == PLAN_READ_SECURITY_GROUP)
		params_add(params, str_from(plan->security_group->id), "GroupId.1");
	else
		params_add(params, str_from(plan->security_group->id), "GroupId");
}

/* ---- steps ---- */

static const char *action_of(enum plan_step step)
{
	static const char *const actions[] = {
		[PLAN_READ_SECURITY_GROUP] = "DescribeSecurityGroups",
		[PLAN_CREATE_GROUP] = "CreateTargetGroup",
		[PLAN_MODIFY_GROUP] = "ModifyTargetGroup",
		[PLAN_MODIFY_GROUP_ATTRIBUTES] = "ModifyTargetGroupAttributes",
		[PLAN_TAG_GROUP] = "AddTags",
		[PLAN_CREATE_SECURITY_GROUP] = "CreateSecurityGroup",
		[PLAN_AUTHORIZE] = "AuthorizeSecurityGroupIngress",
		[PLAN_REVOKE] = "RevokeSecurityGroupIngress",
		[PLAN_CREATE_BALANCER] = "CreateLoadBalancer",
		[PLAN_SET_SECURITY_GROUPS] = "SetSecurityGroups",
		[PLAN_TAG_BALANCER] = "AddTags",
		[PLAN_DELETE_BALANCER] = "DeleteLoadBalancer",
		[PLAN_DELETE_GROUP] = "DeleteTargetGroup",
		[PLAN_DELETE_SECURITY_GROUP] = "DeleteSecurityGroup",
		[PLAN_FORGET] = NULL,
	};
	must(actions[step] != NULL);
	return actions[step];
}

static enum aws_service service_of_step(enum plan_step step)
{
	bool is_ec2 = step == PLAN_READ_SECURITY_GROUP || step == PLAN_CREATE_SECURITY_GROUP ||
		      step == PLAN_AUTHORIZE || step == PLAN_REVOKE ||
		      step == PLAN_DELETE_SECURITY_GROUP;
	return is_ec2 ? AWS_EC2 : AWS_ELB;
}

static void add_step(struct params *params, const struct plan_input *input, const struct plan *plan,
	struct arena *arena)
{
	if (plan->step == PLAN_CREATE_GROUP)
		create_group(params, input, plan, arena);
	else if (plan->step == PLAN_MODIFY_GROUP)
		modify_group(params, plan);
	else if (plan->step == PLAN_MODIFY_GROUP_ATTRIBUTES)
		modify_group_attributes(params, plan);
	else if (plan->step == PLAN_TAG_GROUP)
		add_applied(params, plan->group->group.arn, plan->tag_value);
	else if (plan->step == PLAN_CREATE_SECURITY_GROUP)
		create_security_group(params, input, plan, arena);
	else if (plan->step == PLAN_AUTHORIZE || plan->step == PLAN_REVOKE)
		change_permission(params, plan);
	else if (plan->step == PLAN_CREATE_BALANCER)
		create_balancer(params, input, plan, arena);
	else if (plan->step == PLAN_SET_SECURITY_GROUPS)
		set_security_groups(params, plan);
	else if (plan->step == PLAN_TAG_BALANCER)
		add_applied(params, str_from(plan->balancer->arn), plan->tag_value);
	else if (plan->step == PLAN_DELETE_BALANCER)
		params_add(params, str_from(plan->balancer->arn), "LoadBalancerArn");
	else if (plan->step == PLAN_DELETE_GROUP)
		params_add(params, plan->group->group.arn, "TargetGroupArn");
	else
		name_security_group(params, plan);
}

void requests_step(const struct plan_input *input, const struct plan *plan, struct arena *arena,
	struct request *ret_request)
{
	struct params params;
	if (plan->step == PLAN_READ_LISTENERS) {
		requests_listeners(str_from(plan->balancer->arn), STR_NONE, arena, ret_request);
		return;
	}
	if (plan->step == PLAN_READ_GROUP_HEALTH) {
		requests_health(plan->group->group.arn, arena, ret_request);
		return;
	}
	if (requests_content_step(input, plan, arena, ret_request))
		return;
	const char *action = action_of(plan->step);
	enum aws_service service = service_of_step(plan->step);
	params_begin(&params, service, action);
	add_step(&params, input, plan, arena);
	requests_end(&params, service, action, plan->step != PLAN_READ_SECURITY_GROUP, arena,
		ret_request);
}
