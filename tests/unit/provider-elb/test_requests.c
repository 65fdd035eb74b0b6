// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/requests.h"

#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <cmocka.h>

#define LIST(array)                                         \
	{                                                   \
		(array), sizeof(array) / sizeof((array)[0]) \
	}

#define LB   "arn:aws:elasticloadbalancing:us-east-1:1:loadbalancer/app/sl-web/50dc"
#define LS   "arn:aws:elasticloadbalancing:us-east-1:1:listener/app/sl-web/50dc/f2f7"
#define RULE "arn:aws:elasticloadbalancing:us-east-1:1:listener-rule/app/sl-web/50dc/f2f7/9683"
#define TG   "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/sl-pool/73e2"
#define TG2  "arn:aws:elasticloadbalancing:us-east-1:1:targetgroup/sl-next/73e3"
#define CERT "arn:aws:acm:us-east-1:1:certificate/a3e6"

#define TAGS(identity)                           \
	"Tags.member.1.Key=sluice.io/cluster\n"  \
	"Tags.member.1.Value=demo\n"             \
	"Tags.member.2.Key=sluice.io/lb\n"       \
	"Tags.member.2.Value=shop/web\n"         \
	"Tags.member.3.Key=sluice.io/resource\n" \
	"Tags.member.3.Value=" identity "\n"     \
	"Tags.member.4.Key=sluice.io/owner\n"    \
	"Tags.member.4.Value=shop/web\n"

static struct str subnets[] = {STR("subnet-7bcf"), STR("subnet-13a9")};
static struct str security_groups[] = {STR("sg-5c2b"), STR("sg-back")};
static struct elb_forward forwards[] = {{STR("sl-next"), 100}, {STR("sl-pool"), 0}};
static struct str hosts[] = {STR("shop.example.com")};
static struct str paths[] = {STR("/a"), STR("/a/*")};
static struct elb_condition conditions[] = {
	{.field = ELB_FIELD_HOST, .values = LIST(hosts)},
	{.field = ELB_FIELD_PATH, .values = LIST(paths)},
};
static struct str regexes[] = {STR("^[^.]+\\.example\\.com$")};
static struct elb_condition wildcard[] = {
	{.field = ELB_FIELD_HOST, .is_regex = true, .values = LIST(regexes)},
};
static const struct elb_action fixed = {
	.type = ELB_FIXED_RESPONSE, .status = 503, .body = STR("no such backend")};
static const struct elb_action redirect = {.type = ELB_REDIRECT_HTTPS, .port = 443};
static struct elb_attribute attributes[] = {
	{STR("deregistration_delay.timeout_seconds"), STR("30")},
	{STR("stickiness.enabled"), STR("true")},
};
static struct plan_priority priorities[] = {
	{STR("arn:rule:1"), 1200},
	{STR("arn:rule:2"), 1100},
};

static const struct settings settings = {
	.cluster = STR("demo"), .scheme = STR("internet-facing"), .ip_address_type = STR("ipv4")};
static const struct plan_network network = {.vpc = STR("vpc-34ca"), .subnets = LIST(subnets)};
static const struct elb_group wanted_group = {.name = STR("sl-new"),
	.identity = STR("shop/web/pool/p"),
	.applied = STR("9f86d081884c7d65"),
	.protocol = STR("HTTP"),
	.version = STR("HTTP1"),
	.port = 8080,
	.health_check = {.protocol = STR("HTTP"),
		.path = STR("/"),
		.port = STR("traffic-port"),
		.matcher = STR("200-499"),
		.interval_s = 15,
		.timeout_s = 5,
		.healthy = 2,
		.unhealthy = 3},
	.attributes = LIST(attributes)};
static const struct elb_group grpc_group = {.name = STR("sl-new"),
	.identity = STR("shop/web/pool/p"),
	.protocol = STR("HTTP"),
	.version = STR("GRPC"),
	.port = 80,
	.is_ipv6 = true,
	.health_check = {.protocol = STR("HTTP"),
		.path = STR("/"),
		.port = STR("9000"),
		.matcher = STR("0-99"),
		.is_grpc = true,
		.interval_s = 15,
		.timeout_s = 5,
		.healthy = 2,
		.unhealthy = 2}};
static const struct elb_group tcp_group = {.name = STR("sl-new"),
	.identity = STR("shop/web/pool/p"),
	.protocol = STR("TCP"),
	.port = 80,
	.health_check = {.protocol = STR("TCP"),
		.port = STR("traffic-port"),
		.interval_s = 15,
		.timeout_s = 5,
		.healthy = 2,
		.unhealthy = 2}};
static const struct wanted_balancer wanted = {.lb = STR("shop/web"),
	.identity = STR("shop/web/alb"),
	.name = STR("sl-web"),
	.owner = STR("shop/web")};
static const struct wanted_balancer wanted_network = {.type = ELB_NETWORK,
	.lb = STR("shop/web"),
	.identity = STR("shop/web/nlb"),
	.name = STR("sl-web"),
	.owner = STR("shop/web")};
static const struct elb_listener wanted_listener = {.identity = STR("shop/web/listener/443"),
	.port = 443,
	.protocol = ELB_HTTPS,
	.ssl_policy = STR("ELBSecurityPolicy-TLS13-1-2-2021-06"),
	.default_certificate = STR(CERT),
	.default_action = {.type = ELB_FIXED_RESPONSE, .status = 404}};
static const struct elb_listener wanted_http = {.identity = STR("shop/web/listener/80"),
	.port = 80,
	.ssl_policy = STR("unused"),
	.default_action = {.type = ELB_REDIRECT_HTTPS, .port = 443}};
static const struct elb_listener wanted_tcp = {.identity = STR("shop/web/listener/5432"),
	.port = 5432,
	.protocol = ELB_TCP,
	.default_action = {.type = ELB_FORWARD, .groups = LIST(forwards)}};
static const struct elb_listener listener = {.arn = STR(LS), .port = 443};
static const struct elb_rule wanted_rule = {.identity = STR("shop/web/rule/1f00"),
	.conditions = LIST(conditions),
	.action = {.type = ELB_FORWARD, .groups = LIST(forwards)}};
static const struct elb_rule wildcard_rule = {.identity = STR("shop/web/rule/1f01"),
	.conditions = LIST(wildcard),
	.action = {.type = ELB_FIXED_RESPONSE, .status = 503, .body = STR("no such backend")}};
static const struct elb_rule rule = {.arn = STR(RULE), .conditions = LIST(conditions)};
static const struct elb_rule strange_rule = {
	.arn = STR(RULE), .conditions = LIST(wildcard), .action = {.type = ELB_ACTION_OTHER}};

struct fixture {
	struct arena arena;
	struct plan_input input;
	struct plan plan;
};

static int set_up(void **ret_fixture)
{
	struct fixture *f = test_calloc(1, sizeof(*f));
	struct observed *observed = observed_new();
	arena_init(&f->arena);
	f->input = (struct plan_input){.settings = &settings,
		.network = &network,
		.observed = observed,
		.lb = STR("shop/web")};
	struct observed_group *next = observed_add_group(observed, STR(TG2), STR("shop/web"));
	struct observed_security_group *group =
		observed_add_security_group(observed, STR("sg-5c2b"), STR("shop/web"));
	observed_set_group_name(observed, next, STR("sl-next"));
	f->plan = (struct plan){.wanted = &wanted,
		.balancer = observed_add_balancer(observed, STR(LB), STR("shop/web")),
		.group = observed_add_group(observed, STR(TG), STR("shop/web")),
		.security_group = group,
		.wanted_group = &wanted_group,
		.wanted_listener = &wanted_listener,
		.listener = &listener,
		.wanted_rule = &wanted_rule,
		.rule = &rule,
		.priority = 1100,
		.priorities = priorities,
		.priority_count = 2,
		.certificate = STR(CERT),
		.tag_value = STR("9f86d081884c7d65"),
		.security_groups = LIST(security_groups)};
	observed_set_group_name(observed, f->plan.group, STR("sl-pool"));
	*ret_fixture = f;
	return 0;
}

static int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	observed_free(f->input.observed);
	arena_fini(&f->arena);
	test_free(f);
	return 0;
}

static int hex(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : c - 'A' + 10;
}

/* One parameter a line, decoded. */
static const char *readable(struct str body, struct arena *arena)
{
	char *text = arena_alloc(arena, body.len + 2);
	size_t len = 0;
	for (size_t i = 0; i < body.len; i++) {
		char c = body.p[i];
		if (c == '%') {
			c = (char)(hex(body.p[i + 1]) * 16 + hex(body.p[i + 2]));
			i += 2;
		}
		text[len++] = body.p[i] == '&' ? '\n' : c;
	}
	text[len] = '\n';
	return text;
}

static void assert_request(struct fixture *f, const char *name, const struct request *request,
	enum aws_service service, bool is_write, const char *want)
{
	const char *got = readable(request->body, &f->arena);
	if (strcmp(got, want) != 0)
		fail_msg("%s:\n%s-- not\n%s", name, got, want);
	if (request->service != service || request->is_write != is_write)
		fail_msg("%s: another service, or no write", name);
	if (strncmp(got + strlen("Action="), request->action, strlen(request->action)) != 0)
		fail_msg("%s: action %s", name, request->action);
}

#define ELB_CALL(action) "Action=" action "\nVersion=2015-12-01\n"
#define EC2_CALL(action) "Action=" action "\nVersion=2016-11-15\n"

/* ---- groups and balancers ---- */

static const struct {
	enum plan_step step;
	enum aws_service service;
	const char *want;
} STEPS[] = {
	{PLAN_CREATE_GROUP, AWS_ELB,
		ELB_CALL(
			"CreateTargetGroup") "Name=sl-new\nProtocol=HTTP\nProtocolVersion="
					     "HTTP1\nPort=8080\nVpcId=vpc-34ca\n"
					     "TargetType=ip\nIpAddressType="
					     "ipv4\nHealthCheckProtocol=HTTP\n"
					     "HealthCheckPort=traffic-port\nHealthCheckPath=/"
					     "\nHealthCheckIntervalSeconds=15\n"
					     "HealthCheckTimeoutSeconds=5\nHealthyThresholdCount="
					     "2\nUnhealthyThresholdCount=3\n"
					     "Matcher.HttpCode=200-499\n" TAGS(
						     "shop/web/pool/p") "Tags.member.5.Key=sluice."
									"io/"
									"applied\nTags.member.5."
									"Value=9f86d081884c7d65\n"},
	{PLAN_MODIFY_GROUP, AWS_ELB,
		ELB_CALL("ModifyTargetGroup") "TargetGroupArn=" TG "\nHealthCheckProtocol=HTTP\n"
					      "HealthCheckPort=traffic-port\nHealthCheckPath=/"
					      "\nHealthCheckIntervalSeconds=15\n"
					      "HealthCheckTimeoutSeconds=5\nHealthyThresholdCount="
					      "2\nUnhealthyThresholdCount=3\n"
					      "Matcher.HttpCode=200-499\n"},
	{PLAN_MODIFY_GROUP_ATTRIBUTES, AWS_ELB,
		ELB_CALL("ModifyTargetGroupAttributes") "TargetGroupArn=" TG "\n"
							"Attributes.member.1.Key=deregistration_"
							"delay.timeout_seconds\n"
							"Attributes.member.1.Value=30\nAttributes."
							"member.2.Key=stickiness.enabled\n"
							"Attributes.member.2.Value=true\n"},
	{PLAN_TAG_GROUP, AWS_ELB,
		ELB_CALL("AddTags") "ResourceArns.member.1=" TG "\nTags.member.1.Key=sluice.io/"
				    "applied\nTags.member.1.Value=9f86d081884c7d65\n"},
	{PLAN_CREATE_SECURITY_GROUP, AWS_EC2,
		EC2_CALL("CreateSecurityGroup") "GroupName=sl-web\nGroupDescription=sluice front "
						"end\nVpcId=vpc-34ca\n"
						"TagSpecification.1.ResourceType=security-group\n"
						"TagSpecification.1.Tag.1.Key=sluice.io/cluster\n"
						"TagSpecification.1.Tag.1.Value=demo\n"
						"TagSpecification.1.Tag.2.Key=sluice.io/lb\n"
						"TagSpecification.1.Tag.2.Value=shop/web\n"
						"TagSpecification.1.Tag.3.Key=sluice.io/resource\n"
						"TagSpecification.1.Tag.3.Value=%s\n"
						"TagSpecification.1.Tag.4.Key=sluice.io/owner\n"
						"TagSpecification.1.Tag.4.Value=shop/web\n"},
	{PLAN_DELETE_SECURITY_GROUP, AWS_EC2, EC2_CALL("DeleteSecurityGroup") "GroupId=sg-5c2b\n"},
	{PLAN_CREATE_BALANCER, AWS_ELB,
		ELB_CALL("CreateLoadBalancer") "Name=sl-web\nType=application\nScheme=internet-"
					       "facing\nIpAddressType=ipv4\n"
					       "Subnets.member.1=subnet-7bcf\nSubnets.member.2="
					       "subnet-13a9\n"
					       "SecurityGroups.member.1=sg-5c2b\nSecurityGroups."
					       "member.2=sg-back\n" TAGS("shop/web/alb")},
	{PLAN_SET_SECURITY_GROUPS, AWS_ELB,
		ELB_CALL("SetSecurityGroups") "LoadBalancerArn=" LB
					      "\nSecurityGroups.member.1=sg-5c2b\nSecurityGroups."
					      "member.2=sg-back\n"},
	{PLAN_TAG_BALANCER, AWS_ELB,
		ELB_CALL("AddTags") "ResourceArns.member.1=" LB "\nTags.member.1.Key=sluice.io/"
				    "applied\nTags.member.1.Value=9f86d081884c7d65\n"},
	{PLAN_CREATE_LISTENER, AWS_ELB,
		ELB_CALL("CreateListener") "LoadBalancerArn=" LB
					   "\nProtocol=HTTPS\nPort=443\nSslPolicy="
					   "ELBSecurityPolicy-TLS13-1-2-2021-06\n"
					   "Certificates.member.1.CertificateArn=" CERT "\n"
					   "DefaultActions.member.1.Type=fixed-response\n"
					   "DefaultActions.member.1.FixedResponseConfig.StatusCode="
					   "404\n"
					   "DefaultActions.member.1.FixedResponseConfig."
					   "ContentType=text/plain\n" TAGS(
						   "shop/web/listener/443")},
	{PLAN_MODIFY_LISTENER, AWS_ELB,
		ELB_CALL("ModifyListener") "ListenerArn=" LS "\nProtocol=HTTPS\nSslPolicy="
					   "ELBSecurityPolicy-TLS13-1-2-2021-06\n"
					   "Certificates.member.1.CertificateArn=" CERT "\n"
					   "DefaultActions.member.1.Type=fixed-response\n"
					   "DefaultActions.member.1.FixedResponseConfig.StatusCode="
					   "404\n"
					   "DefaultActions.member.1.FixedResponseConfig."
					   "ContentType=text/plain\n"},
	{PLAN_DELETE_LISTENER, AWS_ELB, ELB_CALL("DeleteListener") "ListenerArn=" LS "\n"},
	{PLAN_ADD_CERTIFICATE, AWS_ELB,
		ELB_CALL("AddListenerCertificates") "ListenerArn=" LS
						    "\nCertificates.member.1.CertificateArn=" CERT
						    "\n"},
	{PLAN_REMOVE_CERTIFICATE, AWS_ELB,
		ELB_CALL(
			"RemoveListenerCertificates") "ListenerArn=" LS
						      "\nCertificates.member.1.CertificateArn=" CERT
						      "\n"},
	{PLAN_SET_PRIORITIES, AWS_ELB,
		ELB_CALL("SetRulePriorities") "RulePriorities.member.1.RuleArn=arn:rule:1\n"
					      "RulePriorities.member.1.Priority=1200\n"
					      "RulePriorities.member.2.RuleArn=arn:rule:2\n"
					      "RulePriorities.member.2.Priority=1100\n"},
	{PLAN_CREATE_RULE, AWS_ELB,
		ELB_CALL(
			"CreateRule") "ListenerArn=" LS
				      "\nPriority=1100\nConditions.member.1.Field=host-header\n"
				      "Conditions.member.1.HostHeaderConfig.Values.member.1=shop."
				      "example.com\n"
				      "Conditions.member.2.Field=path-pattern\n"
				      "Conditions.member.2.PathPatternConfig.Values.member.1=/a\n"
				      "Conditions.member.2.PathPatternConfig.Values.member.2=/a/*\n"
				      "Actions.member.1.Type=forward\n"
				      "Actions.member.1.ForwardConfig.TargetGroups.member.1."
				      "TargetGroupArn=" TG2 "\n"
				      "Actions.member.1.ForwardConfig.TargetGroups.member.1.Weight="
				      "100\n"
				      "Actions.member.1.ForwardConfig.TargetGroups.member.2."
				      "TargetGroupArn=" TG "\n"
				      "Actions.member.1.ForwardConfig.TargetGroups.member.2.Weight="
				      "0\n" TAGS("shop/web/rule/1f00")},
	{PLAN_MODIFY_RULE, AWS_ELB,
		ELB_CALL("ModifyRule") "RuleArn=" RULE "\nActions.member.1.Type=forward\n"
				       "Actions.member.1.ForwardConfig.TargetGroups.member.1."
				       "TargetGroupArn=" TG2 "\n"
				       "Actions.member.1.ForwardConfig.TargetGroups.member.1."
				       "Weight=100\n"
				       "Actions.member.1.ForwardConfig.TargetGroups.member.2."
				       "TargetGroupArn=" TG "\n"
				       "Actions.member.1.ForwardConfig.TargetGroups.member.2."
				       "Weight=0\n"},
	{PLAN_DELETE_RULE, AWS_ELB, ELB_CALL("DeleteRule") "RuleArn=" RULE "\n"},
	{PLAN_DELETE_BALANCER, AWS_ELB, ELB_CALL("DeleteLoadBalancer") "LoadBalancerArn=" LB "\n"},
	{PLAN_DELETE_GROUP, AWS_ELB, ELB_CALL("DeleteTargetGroup") "TargetGroupArn=" TG "\n"},
};

static void makes_the_call_of_each_write(void **fixture)
{
	struct fixture *f = *fixture;
	struct str identity =
		naming_security_group_identity(&f->arena, STR("shop/web"), ELB_APPLICATION);
	for (size_t i = 0; i < sizeof(STEPS) / sizeof(STEPS[0]); i++) {
		struct request request;
		const char *want = STEPS[i].want;
		f->plan.step = STEPS[i].step;
		requests_step(&f->input, &f->plan, &f->arena, &request);
		if (f->plan.step == PLAN_CREATE_SECURITY_GROUP) {
			const char *place = strstr(want, "%s");
			want = arena_printf(&f->arena, "%.*s%.*s%s", (int)(place - want), want,
				STR_FMT(identity), place + 2)
				       .p;
		}
		assert_request(f, request.action, &request, STEPS[i].service, true, want);
	}
}

/* ---- what a step can be besides ---- */

static void assert_step(struct fixture *f, const char *name, enum plan_step step, bool is_write,
	enum aws_service service, const char *want)
{
	struct request request;
	f->plan.step = step;
	requests_step(&f->input, &f->plan, &f->arena, &request);
	assert_request(f, name, &request, service, is_write, want);
}

static void makes_the_call_of_each_read(void **fixture)
{
	struct fixture *f = *fixture;
	assert_step(f, "listeners", PLAN_READ_LISTENERS, false, AWS_ELB,
		ELB_CALL("DescribeListeners") "LoadBalancerArn=" LB "\nPageSize=400\n");
	assert_step(f, "security group", PLAN_READ_SECURITY_GROUP, false, AWS_EC2,
		EC2_CALL("DescribeSecurityGroups") "GroupId.1=sg-5c2b\n");
	assert_step(f, "health", PLAN_READ_GROUP_HEALTH, false, AWS_ELB,
		ELB_CALL("DescribeTargetHealth") "TargetGroupArn=" TG "\n");
}

static void makes_other_groups_and_balancers(void **fixture)
{
	struct fixture *f = *fixture;
	f->plan.wanted_group = &grpc_group;
	assert_step(f, "grpc", PLAN_CREATE_GROUP, true, AWS_ELB,
		ELB_CALL("CreateTargetGroup") "Name=sl-new\nProtocol=HTTP\nProtocolVersion="
					      "GRPC\nPort=80\nVpcId=vpc-34ca\n"
					      "TargetType=ip\nIpAddressType="
					      "ipv6\nHealthCheckProtocol=HTTP\n"
					      "HealthCheckPort=9000\nHealthCheckPath=/"
					      "\nHealthCheckIntervalSeconds=15\n"
					      "HealthCheckTimeoutSeconds=5\nHealthyThresholdCount="
					      "2\nUnhealthyThresholdCount=2\n"
					      "Matcher.GrpcCode=0-99\n" TAGS("shop/web/pool/p"));
	f->plan.wanted_group = &tcp_group;
	assert_step(f, "tcp", PLAN_CREATE_GROUP, true, AWS_ELB,
		ELB_CALL("CreateTargetGroup") "Name=sl-new\nProtocol=TCP\nPort=80\nVpcId=vpc-34ca\n"
					      "TargetType=ip\nIpAddressType="
					      "ipv4\nHealthCheckProtocol=TCP\n"
					      "HealthCheckPort=traffic-"
					      "port\nHealthCheckIntervalSeconds=15\n"
					      "HealthCheckTimeoutSeconds=5\nHealthyThresholdCount="
					      "2\nUnhealthyThresholdCount=2\n" TAGS(
						      "shop/web/pool/p"));
	f->plan.wanted = &wanted_network;
	f->plan.security_groups.count = 0;
	assert_step(f, "network", PLAN_CREATE_BALANCER, true, AWS_ELB,
		ELB_CALL("CreateLoadBalancer") "Name=sl-web\nType=network\nScheme=internet-"
					       "facing\nIpAddressType=ipv4\n"
					       "Subnets.member.1=subnet-7bcf\nSubnets.member.2="
					       "subnet-13a9\n" TAGS("shop/web/nlb"));
}

static void makes_other_listeners(void **fixture)
{
	struct fixture *f = *fixture;
	f->plan.wanted_listener = &wanted_http;
	assert_step(f, "http", PLAN_CREATE_LISTENER, true, AWS_ELB,
		ELB_CALL("CreateListener") "LoadBalancerArn=" LB "\nProtocol=HTTP\nPort=80\n"
					   "DefaultActions.member.1.Type=redirect\n"
					   "DefaultActions.member.1.RedirectConfig.Protocol=HTTPS\n"
					   "DefaultActions.member.1.RedirectConfig.Port=443\n"
					   "DefaultActions.member.1.RedirectConfig.StatusCode=HTTP_"
					   "301\n" TAGS("shop/web/listener/80"));
	f->plan.action = &fixed;
	assert_step(f, "another port, another action", PLAN_MODIFY_LISTENER, true, AWS_ELB,
		ELB_CALL("ModifyListener") "ListenerArn=" LS "\nPort=80\nProtocol=HTTP\n"
					   "DefaultActions.member.1.Type=fixed-response\n"
					   "DefaultActions.member.1.FixedResponseConfig.StatusCode="
					   "503\n"
					   "DefaultActions.member.1.FixedResponseConfig."
					   "ContentType=text/plain\n"
					   "DefaultActions.member.1.FixedResponseConfig."
					   "MessageBody=no such backend\n");
	f->plan.action = NULL;
	f->plan.wanted_listener = &wanted_tcp;
	assert_step(f, "tcp", PLAN_CREATE_LISTENER, true, AWS_ELB,
		ELB_CALL("CreateListener") "LoadBalancerArn=" LB "\nProtocol=TCP\nPort=5432\n"
					   "DefaultActions.member.1.Type=forward\n"
					   "DefaultActions.member.1.ForwardConfig.TargetGroups."
					   "member.1.TargetGroupArn=" TG2
					   "\nDefaultActions.member.1.ForwardConfig.TargetGroups."
					   "member.1.Weight=100\n"
					   "DefaultActions.member.1.ForwardConfig.TargetGroups."
					   "member.2.TargetGroupArn=" TG
					   "\nDefaultActions.member.1.ForwardConfig.TargetGroups."
					   "member.2.Weight=0\n" TAGS("shop/web/listener/5432"));
}

static void makes_other_rules(void **fixture)
{
	struct fixture *f = *fixture;
	f->plan.wanted_rule = &wildcard_rule;
	assert_step(f, "wildcard", PLAN_CREATE_RULE, true, AWS_ELB,
		ELB_CALL("CreateRule") "ListenerArn=" LS
				       "\nPriority=1100\nConditions.member.1.Field=host-header\n"
				       "Conditions.member.1.HostHeaderConfig.RegexValues.member.1="
				       "^[^.]+\\.example\\.com$\nActions.member.1.Type=fixed-"
				       "response\n"
				       "Actions.member.1.FixedResponseConfig.StatusCode=503\n"
				       "Actions.member.1.FixedResponseConfig.ContentType=text/"
				       "plain\n"
				       "Actions.member.1.FixedResponseConfig.MessageBody=no such "
				       "backend\n" TAGS("shop/web/rule/1f01"));
	f->plan.action = &redirect;
	f->plan.wanted_rule = &wanted_rule;
	f->plan.rule = &strange_rule;
	assert_step(f, "by hand", PLAN_MODIFY_RULE, true, AWS_ELB,
		ELB_CALL(
			"ModifyRule") "RuleArn=" RULE "\nConditions.member.1.Field=host-header\n"
				      "Conditions.member.1.HostHeaderConfig.Values.member.1=shop."
				      "example.com\n"
				      "Conditions.member.2.Field=path-pattern\n"
				      "Conditions.member.2.PathPatternConfig.Values.member.1=/a\n"
				      "Conditions.member.2.PathPatternConfig.Values.member.2=/a/*\n"
				      "Actions.member.1.Type=redirect\n"
				      "Actions.member.1.RedirectConfig.Protocol=HTTPS\n"
				      "Actions.member.1.RedirectConfig.Port=443\n"
				      "Actions.member.1.RedirectConfig.StatusCode=HTTP_"
				      "301\nResetTransforms=true\n");
}

static void changes_permissions(void **fixture)
{
	struct fixture *f = *fixture;
	static const struct {
		const char *source;
		const char *where;
		const char *member;
	} SOURCES[] = {
		{"0.0.0.0/0", "IpRanges", "CidrIp"},
		{"::/0", "Ipv6Ranges", "CidrIpv6"},
		{"sg-12", "Groups", "GroupId"},
		{"pl-12", "PrefixListIds", "PrefixListId"},
	};
	for (size_t i = 0; i < sizeof(SOURCES) / sizeof(SOURCES[0]); i++) {
		f->plan.permission = (struct observed_permission){
			.from = 80, .to = 80, .source = strdup(SOURCES[i].source)};
		const char *rule_text = arena_printf(&f->arena,
			"GroupId=sg-5c2b\nIpPermissions.1.IpProtocol=tcp\n"
			"IpPermissions.1.FromPort=80\nIpPermissions.1.ToPort=80\n"
			"IpPermissions.1.%s.1.%s=%s\n",
			SOURCES[i].where, SOURCES[i].member, SOURCES[i].source)
						.p;
		assert_step(f, SOURCES[i].source, PLAN_REVOKE, true, AWS_EC2,
			arena_printf(&f->arena, "%s%s", EC2_CALL("RevokeSecurityGroupIngress"),
				rule_text)
				.p);
		assert_step(f, SOURCES[i].source, PLAN_AUTHORIZE, true, AWS_EC2,
			arena_printf(&f->arena, "%s%sIpPermissions.1.%s.1.Description=sluice\n",
				EC2_CALL("AuthorizeSecurityGroupIngress"), rule_text,
				SOURCES[i].where)
				.p);
		free(f->plan.permission.source);
	}
}

/* Far more than any quota; what does not fit is moved later. */
static void a_call_has_an_end(void **fixture)
{
	struct fixture *f = *fixture;
	struct request request;
	size_t count = 10 * 1000;
	f->plan.priorities = arena_calloc(&f->arena, count, sizeof(struct plan_priority));
	f->plan.priority_count = count;
	for (size_t i = 0; i < count; i++)
		f->plan.priorities[i] = (struct plan_priority){STR(RULE), i + 1};
	f->plan.step = PLAN_SET_PRIORITIES;
	requests_step(&f->input, &f->plan, &f->arena, &request);
	assert_true(request.body.len > 1000 * 1000 && request.body.len < 1024 * 1024);
}

/* ---- reads ---- */

static void reads_pages(void **fixture)
{
	struct fixture *f = *fixture;
	struct arena *arena = &f->arena;
	struct request r;
	struct str arns[] = {STR(LB), STR(TG)};
	const struct str_list list = LIST(arns);
	requests_balancers(STR_NONE, arena, &r);
	assert_request(f, "balancers", &r, AWS_ELB, false,
		ELB_CALL("DescribeLoadBalancers") "PageSize=400\n");
	assert_true(
		str_eq_c(r.body, "Action=DescribeLoadBalancers&Version=2015-12-01&PageSize=400"));
	requests_balancers(STR("MTIzNDU="), arena, &r);
	assert_request(f, "second page", &r, AWS_ELB, false,
		ELB_CALL("DescribeLoadBalancers") "PageSize=400\nMarker=MTIzNDU=\n");
	requests_balancers_by_arn(&list, arena, &r);
	assert_request(f, "by ARN", &r, AWS_ELB, false,
		ELB_CALL("DescribeLoadBalancers") "LoadBalancerArns.member.1=" LB
						  "\nLoadBalancerArns.member.2=" TG "\n");
	requests_balancer_by_name(STR("sl-none"), arena, &r);
	assert_request(f, "by name", &r, AWS_ELB, false,
		ELB_CALL("DescribeLoadBalancers") "Names.member.1=sl-none\n");
	requests_groups(STR("x"), arena, &r);
	assert_request(f, "groups", &r, AWS_ELB, false,
		ELB_CALL("DescribeTargetGroups") "PageSize=400\nMarker=x\n");
	requests_rules(STR(LS), STR_NONE, arena, &r);
	assert_request(f, "rules", &r, AWS_ELB, false,
		ELB_CALL("DescribeRules") "ListenerArn=" LS "\nPageSize=400\n");
	requests_certificates(STR(LS), STR("x"), arena, &r);
	assert_request(f, "certificates", &r, AWS_ELB, false,
		ELB_CALL("DescribeListenerCertificates") "ListenerArn=" LS
							 "\nPageSize=400\nMarker=x\n");
	requests_tags(&list, arena, &r);
	assert_request(f, "tags", &r, AWS_ELB, false,
		ELB_CALL("DescribeTags") "ResourceArns.member.1=" LB "\nResourceArns.member.2=" TG
					 "\n");
	requests_account_limits(STR_NONE, arena, &r);
	assert_request(f, "limits", &r, AWS_ELB, false,
		ELB_CALL("DescribeAccountLimits") "PageSize=400\n");
	requests_security_groups(STR("demo"), STR("x"), arena, &r);
	assert_request(f, "security groups", &r, AWS_EC2, false,
		EC2_CALL("DescribeSecurityGroups") "Filter.1.Name=tag:sluice.io/"
						   "cluster\nFilter.1.Value.1=demo\n"
						   "MaxResults=1000\nNextToken=x\n");
}

static void registers_targets(void **fixture)
{
	struct fixture *f = *fixture;
	struct request r;
	struct elb_target targets[] = {
		{STR("10.0.1.10"), 8080, false}, {STR("192.168.7.9"), 8081, true}};
	const struct elb_target_list list = LIST(targets);
	requests_targets(STR(TG), &list, true, &f->arena, &r);
	assert_request(f, "register", &r, AWS_ELB, true,
		ELB_CALL("RegisterTargets") "TargetGroupArn=" TG "\nTargets.member.1.Id=10.0.1."
					    "10\nTargets.member.1.Port=8080\n"
					    "Targets.member.2.Id=192.168.7.9\nTargets.member.2."
					    "Port=8081\n"
					    "Targets.member.2.AvailabilityZone=all\n");
	requests_targets(STR(TG), &list, false, &f->arena, &r);
	assert_request(f, "deregister", &r, AWS_ELB, true,
		ELB_CALL("DeregisterTargets") "TargetGroupArn=" TG
					      "\nTargets.member.1.Id=10.0.1.10\nTargets.member.1."
					      "Port=8080\n"
					      "Targets.member.2.Id=192.168.7.9\nTargets.member.2."
					      "Port=8081\n");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(makes_the_call_of_each_write),
		TEST(makes_the_call_of_each_read),
		TEST(makes_other_groups_and_balancers),
		TEST(makes_other_listeners),
		TEST(makes_other_rules),
		TEST(changes_permissions),
		TEST(a_call_has_an_end),
		TEST(reads_pages),
		TEST(registers_targets),
	};
	return cmocka_run_group_tests_name("elb-requests", tests, NULL, NULL);
}
