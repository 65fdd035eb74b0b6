// SPDX-License-Identifier: Apache-2.0
#include "answers_fixture.h"

#include "provider-elb/content.h"

#include <errno.h>
#include <stdlib.h>

#define LIST(array)                                         \
	{                                                   \
		(array), sizeof(array) / sizeof((array)[0]) \
	}
#define EMPTY ANSWER("Any", "")

static struct elb_forward to_pool[] = {{STR("sl-pool"), 1}};
static struct elb_forward to_both[] = {{STR("sl-next"), 100}, {STR("sl-pool"), 0}};
static struct elb_forward to_next[] = {{STR("sl-next"), 1}};
static struct str hosts[] = {STR("shop.example.com")};
static struct elb_condition conditions[] = {{.field = ELB_FIELD_HOST, .values = LIST(hosts)}};
static struct str security_groups[] = {STR("sg-b"), STR("sg-a")};
static struct elb_attribute attributes[] = {{STR("stickiness.enabled"), STR("true")}};

static const struct settings settings = {.cluster = STR("demo")};
static const struct plan_network network = {.vpc = STR("vpc-34ca")};
static const struct wanted_balancer wanted = {.lb = STR("shop/web"),
	.identity = STR("shop/web/alb"),
	.name = STR("sl-new"),
	.owner = STR("shop/web")};
static const struct elb_group wanted_group = {.name = STR("sl-made"),
	.identity = STR("shop/web/pool/p"),
	.health_check = {.protocol = STR("HTTP"), .path = STR("/health"), .interval_s = 15},
	.attributes = LIST(attributes)};
static const struct elb_listener wanted_listener = {.identity = STR("shop/web/listener/443"),
	.port = 443,
	.protocol = ELB_HTTPS,
	.ssl_policy = STR("ELBSecurityPolicy-X"),
	.default_certificate = STR(CERT),
	.default_action = {.type = ELB_FORWARD, .groups = LIST(to_pool)}};
static const struct elb_listener plain_listener = {
	.port = 443, .default_action = {.type = ELB_FIXED_RESPONSE, .status = 404}};
static const struct elb_rule wanted_rule = {.identity = STR("shop/web/rule/1f00"),
	.conditions = LIST(conditions),
	.action = {.type = ELB_FORWARD, .groups = LIST(to_next)}};
static const struct elb_action both = {.type = ELB_FORWARD, .groups = LIST(to_both)};

struct stepper {
	struct fixture *f;
	struct plan_input input;
	struct plan plan;
};

static struct stepper begin(void **fixture)
{
	struct fixture *f = *fixture;
	return (struct stepper){.f = f,
		.input = {.settings = &settings,
			.network = &network,
			.observed = f->observed,
			.lb = STR("shop/web"),
			.now = 42},
		.plan = {.wanted = &wanted,
			.wanted_group = &wanted_group,
			.wanted_listener = &wanted_listener,
			.wanted_rule = &wanted_rule,
			.balancer = f->balancer,
			.group = f->group}};
}

static int step(struct stepper *s, enum plan_step what, const char *answer)
{
	s->plan.step = what;
	return answers_step(parse(s->f, answer), &s->input, &s->plan, &s->f->arena);
}

/* ---- groups ---- */

#define GROUP_MADE(arn, more)                                                                \
	ANSWER("CreateTargetGroup",                                                          \
		"<TargetGroups><member><TargetGroupArn>" arn                                 \
		"</TargetGroupArn><TargetGroupName>sl-made</TargetGroupName><Port>80</Port>" \
		"<Protocol>HTTP</Protocol>" more "</member></TargetGroups>")

static void makes_a_group(void **fixture)
{
	struct stepper s = begin(fixture);
	assert_int_equal(step(&s, PLAN_CREATE_GROUP, EMPTY), -EBADMSG);
	assert_int_equal(step(&s, PLAN_CREATE_GROUP, GROUP_MADE("arn:made", "")), 0);
	struct observed_group *group = observed_find_group_name(s.f->observed, STR("sl-made"));
	assert_str(group->group.arn, "arn:made");
	assert_str(group->group.identity, "shop/web/pool/p");
	assert_str(group->group.lb, "shop/web");
	assert_str(group->group.applied, NULL);
	assert_true(group->has_targets && group->seen_in == 1);
	/* What was there already, and is in use, has targets. */
	assert_int_equal(step(&s, PLAN_CREATE_GROUP,
				 GROUP_MADE("arn:there", "<LoadBalancerArns><member>" LB
							 "</member></LoadBalancerArns>")),
		0);
	assert_false(observed_find_group(s.f->observed, STR("arn:there"))->has_targets);
}

static void changes_a_group(void **fixture)
{
	struct stepper s = begin(fixture);
	struct elb_group *group = &s.f->group->group;
	s.plan.tag_value = STR("9f86");
	assert_int_equal(step(&s, PLAN_MODIFY_GROUP, EMPTY), 0);
	assert_str(group->health_check.path, "/health");
	assert_int_equal(step(&s, PLAN_MODIFY_GROUP_ATTRIBUTES, EMPTY), 0);
	assert_int_equal(group->attributes.count, 1);
	assert_str(group->attributes.items[0].value, "true");
	assert_int_equal(step(&s, PLAN_TAG_GROUP, EMPTY), 0);
	assert_str(group->applied, "9f86");
	assert_int_equal(step(&s, PLAN_DELETE_GROUP, EMPTY), 0);
	assert_null(observed_find_group(s.f->observed, STR(TG)));
}

static void reads_health(void **fixture)
{
	struct stepper s = begin(fixture);
	static const char healthy[] = ANSWER("DescribeTargetHealth",
		"<TargetHealthDescriptions><member><Target><Id>10.0.0.1</Id><Port>80</Port>"
		"</Target><TargetHealth><State>healthy</State></TargetHealth></member>"
		"</TargetHealthDescriptions>");
	str_set(&s.f->group->balancer_arn, STR(LB));
	assert_int_equal(step(&s, PLAN_READ_GROUP_HEALTH, EMPTY), 0);
	assert_false(s.f->group->is_proven);
	assert_true(s.f->group->attached_at > 41 && s.f->group->health_read_at > 41);
	assert_int_equal(step(&s, PLAN_READ_GROUP_HEALTH, healthy), 0);
	assert_true(s.f->group->is_proven);
	/* The list may be older than what was registered since the targets are known. */
	assert_int_equal(s.f->group->targets.count, 0);
	s.f->group->has_targets = false;
	assert_int_equal(step(&s, PLAN_READ_GROUP_HEALTH, healthy), 0);
	assert_int_equal(s.f->group->targets.count, 1);
}

/* ---- security groups ---- */

static void makes_and_changes_a_security_group(void **fixture)
{
	struct stepper s = begin(fixture);
	assert_int_equal(step(&s, PLAN_CREATE_SECURITY_GROUP, "<a/>"), -EBADMSG);
	assert_int_equal(step(&s, PLAN_CREATE_SECURITY_GROUP,
				 "<CreateSecurityGroupResponse><requestId>r</requestId>"
				 "<return>true</return><groupId>sg-1</groupId>"
				 "</CreateSecurityGroupResponse>"),
		0);
	struct observed_security_group *group =
		observed_find_security_group(s.f->observed, STR("sg-1"));
	assert_string_equal(group->name, "sl-new");
	assert_string_equal(group->lb, "shop/web");
	assert_non_null(group->identity);
	assert_true(group->has_permissions && group->permissions.count == 0);
	s.plan.security_group = group;
	char source[] = "0.0.0.0/0";
	s.plan.permission = (struct observed_permission){80, 80, source};
	assert_int_equal(step(&s, PLAN_AUTHORIZE, "<a/>"), 0);
	assert_int_equal(step(&s, PLAN_AUTHORIZE, "<a/>"), 0);
	assert_int_equal(group->permissions.count, 1);
	s.plan.permission = (struct observed_permission){443, 443, source};
	assert_int_equal(step(&s, PLAN_AUTHORIZE, "<a/>"), 0);
	assert_int_equal(group->permissions.count, 2);
	/* As a plan has it, out of the list. */
	s.plan.permission = group->permissions.items[0];
	assert_int_equal(step(&s, PLAN_REVOKE, "<a/>"), 0);
	assert_int_equal(group->permissions.count, 1);
	assert_int_equal(group->permissions.items[0].from, 443);
	assert_int_equal(step(&s, PLAN_READ_SECURITY_GROUP,
				 "<a><securityGroupInfo><item><groupId>sg-1</groupId>"
				 "<groupName>sl-new</groupName></item></securityGroupInfo></a>"),
		0);
	assert_int_equal(group->permissions.count, 0);
	assert_int_equal(step(&s, PLAN_READ_SECURITY_GROUP, "<a/>"), -EBADMSG);
	assert_int_equal(step(&s, PLAN_DELETE_SECURITY_GROUP, "<a/>"), 0);
	assert_null(observed_find_security_group(s.f->observed, STR("sg-1")));
}

/* ---- balancers ---- */

#define BALANCER_MADE(arn, state)                                                         \
	ANSWER("CreateLoadBalancer",                                                      \
		"<LoadBalancers><member><LoadBalancerArn>" arn "</LoadBalancerArn>"       \
		"<DNSName>A.example</DNSName><LoadBalancerName>sl-new</LoadBalancerName>" \
		"<State><Code>" state "</Code></State><Type>application</Type>"           \
		"<SecurityGroups><member>sg-1</member></SecurityGroups></member></LoadBalancers>")

static void makes_a_balancer(void **fixture)
{
	struct stepper s = begin(fixture);
	assert_int_equal(step(&s, PLAN_CREATE_BALANCER, EMPTY), -EBADMSG);
	assert_int_equal(
		step(&s, PLAN_CREATE_BALANCER, BALANCER_MADE("arn:new", "provisioning")), 0);
	struct observed_balancer *balancer =
		observed_find_balancer_name(s.f->observed, STR("sl-new"));
	assert_string_equal(balancer->arn, "arn:new");
	assert_string_equal(balancer->dns_name, "a.example");
	assert_string_equal(balancer->identity, "shop/web/alb");
	assert_string_equal(balancer->lb, "shop/web");
	assert_null(balancer->applied);
	assert_true(balancer->has_content);
	assert_texts(&balancer->security_groups, "sg-1");
	/* One that is there already may have listeners. */
	assert_int_equal(step(&s, PLAN_CREATE_BALANCER, BALANCER_MADE("arn:there", "active")), 0);
	assert_false(observed_find_balancer(s.f->observed, STR("arn:there"))->has_content);
}

static void changes_a_balancer(void **fixture)
{
	struct stepper s = begin(fixture);
	s.plan.tag_value = STR("changing");
	s.plan.security_groups = (struct str_list)LIST(security_groups);
	assert_int_equal(step(&s, PLAN_TAG_BALANCER, EMPTY), 0);
	assert_string_equal(s.f->balancer->applied, "changing");
	assert_int_equal(step(&s, PLAN_SET_SECURITY_GROUPS, EMPTY), 0);
	assert_texts(&s.f->balancer->security_groups, "sg-a sg-b");
	str_set(&s.f->group->balancer_arn, STR(LB));
	str_set(&s.f->next->balancer_arn, STR("arn:other"));
	assert_int_equal(step(&s, PLAN_DELETE_BALANCER, EMPTY), 0);
	/* It is there until a page lacks it. */
	assert_ptr_equal(observed_find_balancer(s.f->observed, STR(LB)), s.f->balancer);
	assert_true(s.f->balancer->is_leaving);
	assert_null(s.f->group->balancer_arn);
	assert_string_equal(s.f->next->balancer_arn, "arn:other");
}

/* ---- content ---- */

static const struct elb_listener *the_listener(struct stepper *s)
{
	assert_int_equal(s->f->balancer->listeners.count, 1);
	return &s->f->balancer->listeners.items[0];
}

static void make_listener(struct stepper *s)
{
	s->f->balancer->has_content = true;
	assert_int_equal(step(s, PLAN_CREATE_LISTENER,
				 ANSWER("CreateListener", "<Listeners><member><ListenerArn>" LS
							  "</ListenerArn></member></Listeners>")),
		0);
	s->plan.listener = the_listener(s);
}

static void make_rule(struct stepper *s, const char *arn, uint64_t priority)
{
	struct str text = arena_printf(&s->f->arena,
		ANSWER("CreateRule", "<Rules><member><RuleArn>%s</RuleArn></member></Rules>"), arn);
	s->plan.priority = priority;
	assert_int_equal(step(s, PLAN_CREATE_RULE, text.p), 0);
	s->plan.listener = the_listener(s);
	s->plan.rule = &s->plan.listener->rules.items[0];
}

static void makes_and_changes_a_listener(void **fixture)
{
	struct stepper s = begin(fixture);
	make_listener(&s);
	const struct elb_listener *listener = the_listener(&s);
	assert_str(listener->arn, LS);
	assert_str(listener->identity, "shop/web/listener/443");
	assert_str(listener->ssl_policy, "ELBSecurityPolicy-X");
	assert_str(listener->default_certificate, CERT);
	assert_int_equal(listener->default_action.groups.count, 1);
	assert_string_equal(s.f->group->balancer_arn, LB);
	assert_true(s.f->group->attached_at > 41);
	s.plan.certificate = STR("arn:b");
	assert_int_equal(step(&s, PLAN_ADD_CERTIFICATE, EMPTY), 0);
	s.plan.certificate = STR("arn:a");
	assert_int_equal(step(&s, PLAN_ADD_CERTIFICATE, EMPTY), 0);
	assert_texts(&the_listener(&s)->certificates, "arn:a arn:b");
	assert_int_equal(step(&s, PLAN_REMOVE_CERTIFICATE, EMPTY), 0);
	assert_texts(&the_listener(&s)->certificates, "arn:b");
	/* Twice: what it was made again with is there once. */
	make_listener(&s);
	s.plan.wanted_listener = &plain_listener;
	assert_int_equal(step(&s, PLAN_MODIFY_LISTENER, EMPTY), 0);
	listener = the_listener(&s);
	assert_int_equal(listener->protocol, ELB_HTTP);
	assert_str(listener->ssl_policy, NULL);
	assert_int_equal(listener->default_action.status, 404);
	assert_null(s.f->group->balancer_arn);
	assert_false(s.f->group->attached_at > 0);
	assert_int_equal(step(&s, PLAN_DELETE_LISTENER, EMPTY), 0);
	assert_int_equal(s.f->balancer->listeners.count, 0);
}

static void makes_and_changes_rules(void **fixture)
{
	struct stepper s = begin(fixture);
	make_listener(&s);
	make_rule(&s, RULE "2", 1200);
	make_rule(&s, RULE, 1100);
	const struct elb_listener *listener = the_listener(&s);
	assert_int_equal(listener->rules.count, 2);
	assert_str(listener->rules.items[0].arn, RULE);
	assert_str(listener->rules.items[0].identity, "shop/web/rule/1f00");
	assert_str(
		listener->rules.items[0].conditions.items[0].values.items[0], "shop.example.com");
	assert_string_equal(s.f->next->balancer_arn, LB);
	struct plan_priority swap[] = {{STR(RULE), 1200}, {STR(RULE "2"), 1100}};
	s.plan.priorities = swap;
	s.plan.priority_count = 2;
	assert_int_equal(step(&s, PLAN_SET_PRIORITIES, EMPTY), 0);
	listener = the_listener(&s);
	assert_str(listener->rules.items[0].arn, RULE "2");
	assert_int_equal(listener->rules.items[0].priority, 1100);
	s.plan.rule = &listener->rules.items[0];
	s.plan.action = &both;
	assert_int_equal(step(&s, PLAN_MODIFY_RULE, EMPTY), 0);
	assert_int_equal(the_listener(&s)->rules.items[0].action.groups.count, 2);
	assert_int_equal(step(&s, PLAN_DELETE_RULE, EMPTY), 0);
	assert_int_equal(the_listener(&s)->rules.count, 1);
	/* The other rule still leads to it. */
	assert_non_null(s.f->next->balancer_arn);
	s.plan.rule = &the_listener(&s)->rules.items[0];
	assert_int_equal(step(&s, PLAN_DELETE_RULE, EMPTY), 0);
	assert_null(s.f->next->balancer_arn);
}

/* Written a thousand times; the last one counts, and the others leave nothing behind. */
static void many_changes_do_not_add_up(void **fixture)
{
	struct stepper s = begin(fixture);
	make_listener(&s);
	make_rule(&s, RULE, 1100);
	for (int i = 0; i < 1000; i++) {
		s.plan.listener = the_listener(&s);
		s.plan.rule = &s.plan.listener->rules.items[0];
		s.plan.action = i % 2 == 0 ? &both : &wanted_rule.action;
		assert_int_equal(step(&s, PLAN_MODIFY_RULE, EMPTY), 0);
	}
	assert_true(s.f->balancer->content_writes < 256);
	assert_int_equal(the_listener(&s)->rules.items[0].action.groups.count, 1);
}

static void an_answer_that_comes_too_late_is_read_again(void **fixture)
{
	struct stepper s = begin(fixture);
	make_listener(&s);
	assert_int_equal(step(&s, PLAN_CREATE_RULE, EMPTY), -EBADMSG);
	assert_int_equal(step(&s, PLAN_CREATE_LISTENER, EMPTY), -EBADMSG);
	observed_drop_content(s.f->balancer);
	assert_int_equal(step(&s, PLAN_DELETE_LISTENER, EMPTY), -EBADMSG);
	assert_int_equal(step(&s, PLAN_READ_LISTENERS, EMPTY), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(makes_a_group),
		TEST(changes_a_group),
		TEST(reads_health),
		TEST(makes_and_changes_a_security_group),
		TEST(makes_a_balancer),
		TEST(changes_a_balancer),
		TEST(makes_and_changes_a_listener),
		TEST(makes_and_changes_rules),
		TEST(many_changes_do_not_add_up),
		TEST(an_answer_that_comes_too_late_is_read_again),
	};
	return cmocka_run_group_tests_name("elb-answers-step", tests, NULL, NULL);
}
