// SPDX-License-Identifier: Apache-2.0
#include "answers_fixture.h"

#include "common/buf.h"

/* ---- balancers ---- */

#define MEMBER(arn, name, state, more)                                                    \
	"<member><LoadBalancerArn>" arn "</LoadBalancerArn><DNSName>SL-Web-12.us-east-1." \
	"elb.amazonaws.com</DNSName><CanonicalHostedZoneId>Z35SXDOTRQ7X7K"                \
	"</CanonicalHostedZoneId><LoadBalancerName>" name "</LoadBalancerName>"           \
	"<Scheme>internet-facing</Scheme><VpcId>vpc-34ca</VpcId><State>" state "</State>" \
	"<Surprise><member>new</member></Surprise>" more "</member>"
#define ALB                                                                                      \
	"<Type>application</Type><AvailabilityZones><member><ZoneName>us-east-1b</ZoneName>"     \
	"<SubnetId>subnet-7bcf</SubnetId><LoadBalancerAddresses/></member><member>"              \
	"<SubnetId>subnet-13a9</SubnetId></member></AvailabilityZones><SecurityGroups>"          \
	"<member>sg-5c2b</member><member>sg-1</member><member>sg-5c2b</member></SecurityGroups>" \
	"<IpAddressType>ipv4</IpAddressType>"

static char others[512];

static void on_other(void *ctx, struct str arn, struct str name)
{
	size_t len = strlen(others);
	snprintf(others + len, sizeof(others) - len, "%.*s=%.*s ", STR_FMT(name), STR_FMT(arn));
}

static struct str take_balancers(struct fixture *f, uint64_t pass, const char *text)
{
	others[0] = '\0';
	return answers_balancers(parse(f, text), f->observed, pass, &f->arena, on_other, NULL);
}

static void takes_a_page_of_balancers(void **fixture)
{
	struct fixture *f = *fixture;
	struct str marker = take_balancers(f, 7,
		ANSWER("DescribeLoadBalancers",
			"<LoadBalancers>" MEMBER("arn:aws:x:other", "theirs", "<Code>active</Code>",
				ALB) MEMBER(LB, "sl-web", "<Code>provisioning</Code>",
				ALB) "</LoadBalancers><NextMarker>MTIzNDU=</NextMarker>"));
	assert_str(marker, "MTIzNDU=");
	assert_string_equal(others, "theirs=arn:aws:x:other ");
	assert_int_equal(f->balancer->seen_in, 7);
	assert_int_equal(f->balancer->state, ELB_PROVISIONING);
	assert_int_equal(f->balancer->type, ELB_APPLICATION);
	assert_string_equal(f->balancer->dns_name, "sl-web-12.us-east-1.elb.amazonaws.com");
	assert_string_equal(f->balancer->zone_id, "Z35SXDOTRQ7X7K");
	assert_string_equal(f->balancer->scheme, "internet-facing");
	assert_string_equal(f->balancer->ip_address_type, "ipv4");
	assert_texts(&f->balancer->security_groups, "sg-1 sg-5c2b");
	assert_texts(&f->balancer->subnets, "subnet-13a9 subnet-7bcf");
	assert_int_equal(observed_balancer_count(f->observed), 1);
}

static const struct {
	const char *state;
	enum elb_state want;
	const char *reason;
} STATES[] = {
	{"<Code>active</Code>", ELB_ACTIVE, NULL},
	{"<Code>active_impaired</Code><Reason>no addresses</Reason>", ELB_IMPAIRED, "no addresses"},
	{"<Code>failed</Code><Reason>no room</Reason>", ELB_FAILED, "no room"},
	{"<Code>something new</Code>", ELB_PROVISIONING, NULL},
	{"", ELB_PROVISIONING, NULL},
};

static void takes_states(void **fixture)
{
	struct fixture *f = *fixture;
	for (size_t i = 0; i < sizeof(STATES) / sizeof(STATES[0]); i++) {
		struct str text = arena_printf(&f->arena,
			ANSWER("DescribeLoadBalancers", "<LoadBalancers>" MEMBER(LB, "sl-web", "%s",
								ALB) "</LoadBalancers>"),
			STATES[i].state);
		assert_str(take_balancers(f, 1, text.p), NULL);
		assert_int_equal(f->balancer->state, STATES[i].want);
		assert_str(str_from(f->balancer->state_reason), STATES[i].reason);
	}
}

static void leaves_out_odd_balancers(void **fixture)
{
	struct fixture *f = *fixture;
	/* A gateway, one without an ARN, one whose ARN is none. */
	take_balancers(f, 7,
		ANSWER("DescribeLoadBalancers",
			"<LoadBalancers>" MEMBER(LB, "sl-web", "<Code>active</Code>",
				"<Type>gateway</Type>") MEMBER("", "a", "", ALB)
				MEMBER("x", "b", "", ALB) "</LoadBalancers>"));
	assert_string_equal(others, "");
	assert_int_equal(f->balancer->seen_in, 0);
	assert_null(f->balancer->dns_name);
	static const char *const EMPTY[] = {
		ANSWER("DescribeLoadBalancers", ""),
		ANSWER("DescribeLoadBalancers", "<LoadBalancers/>"),
		"<a/>",
		"<a><b/></a>",
		"<a><bResult>text</bResult></a>",
	};
	for (size_t i = 0; i < sizeof(EMPTY) / sizeof(EMPTY[0]); i++)
		assert_str(take_balancers(f, 7, EMPTY[i]), NULL);
	assert_str(answers_balancers(NULL, f->observed, 7, &f->arena, NULL, NULL), NULL);
	assert_int_equal(f->balancer->seen_in, 0);
	/* A text that is far too long is as good as none. */
	char *name = arena_alloc(&f->arena, 5000);
	memset(name, 'a', 4999);
	struct str text = arena_printf(&f->arena,
		ANSWER("DescribeLoadBalancers",
			"<LoadBalancers>" MEMBER(
				LB, "sl-web", "<Reason>%s</Reason>", ALB) "</LoadBalancers>"),
		name);
	take_balancers(f, 8, text.p);
	assert_null(f->balancer->state_reason);
	assert_int_equal(f->balancer->seen_in, 8);
}

/* ---- target groups ---- */

#define GROUP(arn, more)                                                                   \
	"<member><TargetGroupArn>" arn "</TargetGroupArn><TargetGroupName>sl-pool"         \
	"</TargetGroupName><Port>8080</Port><VpcId>vpc-34ca</VpcId>"                       \
	"<HealthCheckPort>traffic-port</HealthCheckPort><HealthCheckEnabled>true"          \
	"</HealthCheckEnabled><HealthCheckIntervalSeconds>15</HealthCheckIntervalSeconds>" \
	"<HealthCheckTimeoutSeconds>5</HealthCheckTimeoutSeconds><HealthyThresholdCount>2" \
	"</HealthyThresholdCount><UnhealthyThresholdCount>3</UnhealthyThresholdCount>"     \
	"<TargetType>ip</TargetType>" more "</member>"
#define HTTP_GROUP                                                                  \
	"<Protocol>HTTP</Protocol><HealthCheckProtocol>HTTP</HealthCheckProtocol>"  \
	"<HealthCheckPath>/</HealthCheckPath><Matcher><HttpCode>200-499</HttpCode>" \
	"</Matcher><ProtocolVersion>HTTP1</ProtocolVersion><IpAddressType>ipv4</IpAddressType>"

static struct str take_groups(struct fixture *f, const char *text)
{
	others[0] = '\0';
	return answers_groups(parse(f, text), f->observed, 7, &f->arena, on_other, NULL);
}

static void takes_a_page_of_groups(void **fixture)
{
	struct fixture *f = *fixture;
	const struct elb_group *group = &f->group->group;
	const struct elb_health_check *check = &group->health_check;
	struct str marker = take_groups(
		f, ANSWER("DescribeTargetGroups",
			   "<TargetGroups>" GROUP(TG, HTTP_GROUP "<LoadBalancerArns><member>" LB
								 "</member></LoadBalancerArns>")
				   GROUP("arn:aws:x:1", HTTP_GROUP)
					   GROUP("", HTTP_GROUP) "</TargetGroups>"));
	assert_str(marker, NULL);
	assert_string_equal(others, "sl-pool=arn:aws:x:1 ");
	assert_int_equal(f->group->seen_in, 7);
	assert_int_equal(f->next->seen_in, 0);
	assert_str(group->protocol, "HTTP");
	assert_str(group->version, "HTTP1");
	assert_int_equal(group->port, 8080);
	assert_false(group->is_ipv6);
	assert_str(check->protocol, "HTTP");
	assert_str(check->path, "/");
	assert_str(check->port, "traffic-port");
	assert_str(check->matcher, "200-499");
	assert_false(check->is_grpc);
	assert_int_equal(check->interval_s, 15);
	assert_int_equal(check->timeout_s, 5);
	assert_int_equal(check->healthy, 2);
	assert_int_equal(check->unhealthy, 3);
	assert_string_equal(f->group->balancer_arn, LB);
	f->group->attached_at = 5;
	f->group->is_proven = true;
	take_groups(f,
		ANSWER("DescribeTargetGroups",
			"<TargetGroups>" GROUP(TG,
				"<Protocol>HTTP</Protocol><ProtocolVersion>GRPC</ProtocolVersion>"
				"<IpAddressType>ipv6</IpAddressType><Matcher><GrpcCode>0-99"
				"</GrpcCode></Matcher><LoadBalancerArns/>") "</TargetGroups>"));
	assert_str(group->version, "GRPC");
	assert_true(group->is_ipv6 && check->is_grpc);
	assert_str(check->matcher, "0-99");
	assert_null(f->group->balancer_arn);
	assert_false(f->group->is_proven || f->group->attached_at > 0);
	take_groups(
		f, ANSWER("DescribeTargetGroups",
			   "<TargetGroups>" GROUP(TG,
				   "<Protocol>TCP</Protocol><HealthCheckProtocol>TCP"
				   "</HealthCheckProtocol><ProtocolVersion/>") "</TargetGroups>"));
	assert_str(group->version, NULL);
	assert_str(check->path, NULL);
	assert_str(check->matcher, NULL);
}

/* What we have just written is newer than a page that was under way. */
static void an_older_page_does_not_detach(void **fixture)
{
	struct fixture *f = *fixture;
	f->balancer->has_content = true;
	str_set(&f->group->balancer_arn, STR(LB));
	f->group->attached_at = 5;
	take_groups(f, ANSWER("DescribeTargetGroups",
			       "<TargetGroups>" GROUP(TG, HTTP_GROUP) "</TargetGroups>"));
	assert_string_equal(f->group->balancer_arn, LB);
	assert_true(f->group->attached_at > 0);
}

static void four_hundred_groups_are_a_page(void **fixture)
{
	struct fixture *f = *fixture;
	struct buf text;
	buf_init(&text, XML_LEN_MAX);
	assert_int_equal(buf_printf(&text, "<a><aResult><TargetGroups>"), 0);
	for (int i = 0; i < 400; i++) {
		struct str arn = arena_printf(&f->arena, "%s/%d", TG, i);
		observed_add_group(f->observed, arn, STR("shop/web"));
		assert_int_equal(buf_printf(&text,
					 "<member><TargetGroupArn>%.*s</TargetGroupArn>"
					 "<TargetGroupName>sl-%d</TargetGroupName></member>",
					 STR_FMT(arn), i),
			0);
	}
	assert_int_equal(buf_printf(&text, "</TargetGroups></aResult></a>"), 0);
	const char *problem;
	const struct xml *xml = xml_parse(buf_str(&text), &f->arena, &problem);
	assert_non_null(xml);
	answers_groups(xml, f->observed, 3, &f->arena, NULL, NULL);
	const struct observed_group *group = observed_find_group_name(f->observed, STR("sl-399"));
	assert_non_null(group);
	assert_int_equal(group->seen_in, 3);
	buf_fini(&text);
}

/* ---- health ---- */

#define TARGET(ip, more, state, reason)                                               \
	"<member><Target><Id>" ip "</Id><Port>8080</Port>" more                       \
	"</Target><HealthCheckPort>8080</HealthCheckPort><TargetHealth><State>" state \
	"</State><Reason>" reason "</Reason></TargetHealth></member>"
#define ZONE(zone) "<AvailabilityZone>" zone "</AvailabilityZone>"

static const struct {
	const char *name;
	const char *members;
	enum requests_health want;
	const char *targets;
} HEALTH[] = {
	{"as the reference has it",
		TARGET("10.0.1.13", "", "unhealthy", "Target.Timeout") TARGET("10.0.1.10",
			ZONE("us-east-1a"), "healthy",
			"") TARGET("10.0.1.11", "", "initial", "Elb.InitialHealthChecking")
			TARGET("10.0.1.12", "", "draining", "Target.DeregistrationInProgress"),
		HEALTH_HEALTHY, "10.0.1.10 10.0.1.11 10.0.1.13"},
	{"nothing", "", HEALTH_NONE, ""},
	{"only what goes", TARGET("10.0.1.12", "", "draining", ""), HEALTH_NONE, ""},
	{"waiting",
		TARGET("10.0.1.1", "", "initial", "")
			TARGET("10.0.1.2", "", "unhealthy", "Target.Timeout"),
		HEALTH_WAITING, "10.0.1.1 10.0.1.2"},
	{"in no listener", TARGET("10.0.1.1", "", "unused", "Target.NotInUse"), HEALTH_WAITING,
		"10.0.1.1"},
	{"not registered", TARGET("10.0.1.1", "", "unused", "Target.NotRegistered"), HEALTH_NONE,
		""},
	{"none answers",
		TARGET("10.0.1.1", "", "unhealthy", "Target.Timeout")
			TARGET("10.0.1.2", "", "unhealthy", "Target.Timeout"),
		HEALTH_UNREACHABLE, "10.0.1.1 10.0.1.2"},
	{"one answers wrongly",
		TARGET("10.0.1.1", "", "unhealthy", "Target.Timeout")
			TARGET("10.0.1.2", "", "unhealthy", "Target.ResponseCodeMismatch"),
		HEALTH_WAITING, "10.0.1.1 10.0.1.2"},
	{"elsewhere, twice, one spelling, and no address",
		TARGET("192.168.7.9", ZONE("all"), "healthy", "") TARGET("192.168.7.9", ZONE("all"),
			"healthy", "") TARGET("FD00:0::1", "", "healthy", "")
			TARGET("i-0a1b", "", "healthy", "") "<member/>",
		HEALTH_HEALTHY, "192.168.7.9! fd00::1"},
};

#define STATE(ip, state)                                                                     \
	"<member><Target><Id>" ip "</Id><Port>80</Port></Target><TargetHealth><State>" state \
	"</State></TargetHealth></member>"

static void knows_which_targets_get_requests(void **fixture)
{
	struct fixture *f = *fixture;
	static const struct {
		const char *name, *members, *want;
	} cases[] = {
		{"none", "", ""},
		{"the healthy ones", STATE("10.0.0.2", "healthy") STATE("10.0.0.1", "initial"),
			"2"},
		{"all of them in their first checks", STATE("10.0.0.1", "initial"), ""},
		{"unhealthy beside healthy",
			STATE("10.0.0.1", "unhealthy") STATE("10.0.0.2", "healthy"), "2"},
		{"unhealthy beside initial",
			STATE("10.0.0.1", "unhealthy") STATE("10.0.0.2", "initial"), ""},
		{"all of them unhealthy",
			STATE("10.0.0.2", "unhealthy") STATE("10.0.0.1", "unused"), "12"},
		{"without health checks",
			STATE("10.0.0.1", "unavailable") STATE("10.0.0.2", "initial"), "1"},
		{"draining", STATE("10.0.0.1", "draining") STATE("10.0.0.2", "unhealthy"), "2"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct str text = arena_printf(&f->arena,
			ANSWER("DescribeTargetHealth",
				"<TargetHealthDescriptions>%s</TargetHealthDescriptions>"),
			cases[i].members);
		struct elb_target_list proven = answers_proven(parse(f, text.p), &f->arena);
		char got[16] = "";
		for (size_t k = 0; k < proven.count; k++)
			got[k] = proven.items[k].ip.p[proven.items[k].ip.len - 1];
		if (strcmp(got, cases[i].want) != 0)
			fail_msg("%s: \"%s\"", cases[i].name, got);
	}
}

static void takes_health(void **fixture)
{
	struct fixture *f = *fixture;
	for (size_t i = 0; i < sizeof(HEALTH) / sizeof(HEALTH[0]); i++) {
		struct str text = arena_printf(&f->arena,
			ANSWER("DescribeTargetHealth",
				"<TargetHealthDescriptions>%s</TargetHealthDescriptions>"),
			HEALTH[i].members);
		char got[128] = "";
		f->group->has_targets = false;
		enum requests_health health = answers_health(parse(f, text.p), f->group);
		assert_true(f->group->has_targets);
		for (size_t k = 0; k < f->group->targets.count; k++) {
			const struct elb_target *target = &f->group->targets.items[k];
			size_t len = strlen(got);
			snprintf(got + len, sizeof(got) - len, "%s%.*s%s", k != 0 ? " " : "",
				STR_FMT(target->ip), target->is_elsewhere ? "!" : "");
			assert_int_equal(target->port, 8080);
		}
		if (health != HEALTH[i].want || strcmp(got, HEALTH[i].targets) != 0)
			fail_msg("%s: %d \"%s\"", HEALTH[i].name, health, got);
	}
}

/* ---- security groups ---- */

#define EC2(items)                                                                            \
	"<DescribeSecurityGroupsResponse xmlns=\"http://ec2.amazonaws.com/doc/2016-11-15/\">" \
	"<requestId>r-1</requestId><securityGroupInfo>" items                                 \
	"</securityGroupInfo><nextToken>n</nextToken></DescribeSecurityGroupsResponse>"
#define TAG(key, value) "<item><key>" key "</key><value>" value "</value></item>"

static void takes_security_groups(void **fixture)
{
	struct fixture *f = *fixture;
	struct str marker = answers_security_groups(
		parse(f, EC2("<item><groupId>sg-1</groupId><groupName>sl-web</groupName>"
			     "<ipPermissions><item><ipProtocol>tcp</ipProtocol><fromPort>80</"
			     "fromPort>"
			     "<toPort>80</toPort><ipRanges><item><cidrIp>0.0.0.0/0</cidrIp>"
			     "<description>x</description></item><item><cidrIp>10.0.0.0/8</cidrIp>"
			     "</item></ipRanges><ipv6Ranges><item><cidrIpv6>::/0</cidrIpv6></item>"
			     "</ipv6Ranges><prefixListIds/><groups><item><groupId>sg-9</groupId>"
			     "<userId>1</userId></item></groups></item><item><ipProtocol>-1"
			     "</ipProtocol><ipRanges><item><cidrIp>1.1.1.1/32</cidrIp></item>"
			     "</ipRanges></item></ipPermissions><tagSet>" TAG(
				     "sluice.io/cluster", "demo") TAG("sluice.io/lb",
				     "shop/web") TAG("sluice.io/resource",
				     "shop/web/sg") "</tagSet></item>"
						    "<item><groupId>sg-2</groupId><tagSet>" TAG(
							    "sluice.io/cluster",
							    "other") TAG("sluice.io/lb",
							    "a/a") "</tagSet></item>"
								   "<item><groupId>sg-3</"
								   "groupId><tagSet>" TAG(
									   "sluice.io/cluster",
									   "demo") "</tagSet></"
										   "item><item/>")),
		STR("demo"), f->observed, 4, &f->arena);
	assert_str(marker, "n");
	assert_int_equal(observed_security_group_count(f->observed), 1);
	struct observed_security_group *group =
		observed_find_security_group(f->observed, STR("sg-1"));
	assert_string_equal(group->name, "sl-web");
	assert_string_equal(group->identity, "shop/web/sg");
	assert_string_equal(group->lb, "shop/web");
	assert_int_equal(group->seen_in, 4);
	assert_true(group->has_permissions);
	static const char *const want[] = {"0.0.0.0/0", "10.0.0.0/8", "::/0", "sg-9"};
	assert_int_equal(group->permissions.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_string_equal(group->permissions.items[i].source, want[i]);
		assert_int_equal(group->permissions.items[i].from, 80);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(takes_a_page_of_balancers),
		TEST(takes_states),
		TEST(leaves_out_odd_balancers),
		TEST(takes_a_page_of_groups),
		TEST(an_older_page_does_not_detach),
		TEST(four_hundred_groups_are_a_page),
		TEST(takes_health),
		TEST(knows_which_targets_get_requests),
		TEST(takes_security_groups),
	};
	return cmocka_run_group_tests_name("elb-answers", tests, NULL, NULL);
}
