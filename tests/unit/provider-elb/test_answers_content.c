// SPDX-License-Identifier: Apache-2.0
#include "answers_fixture.h"

#include "provider-elb/content.h"

/* ---- actions, as text ---- */

static const char *action_text(struct fixture *f, const struct elb_action *action)
{
	struct str text = STR("");
	switch (action->type) {
	case ELB_FORWARD:
		text = STR("forward");
		break;
	case ELB_FIXED_RESPONSE:
		text = arena_printf(
			&f->arena, "fixed %d \"%.*s\"", (int)action->status, STR_FMT(action->body));
		break;
	case ELB_REDIRECT_HTTPS:
		text = arena_printf(&f->arena, "redirect %d", (int)action->port);
		break;
	case ELB_ACTION_OTHER:
		text = STR("other");
		break;
	}
	for (size_t i = 0; i < action->groups.count; i++)
		text = arena_printf(&f->arena, "%.*s %.*s=%d", STR_FMT(text),
			STR_FMT(action->groups.items[i].group),
			(int)action->groups.items[i].weight);
	return arena_str(&f->arena, text).p;
}

static const char *conditions_text(struct fixture *f, const struct elb_rule *rule)
{
	static const char *const FIELDS[] = {"host", "path", "other"};
	struct str text = STR("");
	for (size_t i = 0; i < rule->conditions.count; i++) {
		const struct elb_condition *condition = &rule->conditions.items[i];
		text = arena_printf(&f->arena, "%.*s%s%s%s", STR_FMT(text), i != 0 ? "; " : "",
			FIELDS[condition->field], condition->is_regex ? " regex" : "");
		for (size_t k = 0; k < condition->values.count; k++)
			text = arena_printf(&f->arena, "%.*s %.*s", STR_FMT(text),
				STR_FMT(condition->values.items[k]));
	}
	return arena_str(&f->arena, text).p;
}

#define TARGET_GROUP(arn, weight) \
	"<member><TargetGroupArn>" arn "</TargetGroupArn>" weight "</member>"
#define WEIGHT(n)        "<Weight>" n "</Weight>"
#define FORWARD(members) "<ForwardConfig><TargetGroups>" members "</TargetGroups>"
#define NOT_STICKY                                              \
	"<TargetGroupStickinessConfig><Enabled>false</Enabled>" \
	"</TargetGroupStickinessConfig></ForwardConfig>"
#define REDIRECT(protocol, port, more)                                     \
	"<member><Type>redirect</Type><RedirectConfig><Protocol>" protocol \
	"</Protocol><Port>" port "</Port>" more                            \
	"<StatusCode>HTTP_301</StatusCode></RedirectConfig></member>"
#define FIXED(more)                                                               \
	"<member><Type>fixed-response</Type><FixedResponseConfig><StatusCode>503" \
	"</StatusCode>" more "</FixedResponseConfig></member>"

static const struct {
	const char *name;
	const char *actions;
	const char *want;
} ACTIONS[] = {
	{"both forms",
		"<member><Type>forward</Type><Order>1</Order><TargetGroupArn>" TG
		"</TargetGroupArn>" FORWARD(TARGET_GROUP(TG, WEIGHT("1"))) NOT_STICKY "</member>",
		"forward sl-pool=1"},
	{"the short form",
		"<member><Type>forward</Type><TargetGroupArn>" TG "</TargetGroupArn></member>",
		"forward sl-pool=1"},
	{"weights, in another order",
		"<member><Type>forward</Type>" FORWARD(TARGET_GROUP(TG, WEIGHT("0"))
				TARGET_GROUP(TG2, WEIGHT("100"))) NOT_STICKY "</member>",
		"forward sl-next=100 sl-pool=0"},
	{"no weight",
		"<member><Type>forward</Type>" FORWARD(
			TARGET_GROUP(TG, "")) "</ForwardConfig></member>",
		"forward sl-pool=1"},
	{"a group of somebody else",
		"<member><Type>forward</Type><TargetGroupArn>arn:aws:x:1</TargetGroupArn></member>",
		"forward arn:aws:x:1=1"},
	{"sticky by hand",
		"<member><Type>forward</Type><TargetGroupArn>" TG
		"</TargetGroupArn>" FORWARD(TARGET_GROUP(
			TG, WEIGHT("1"))) "<TargetGroupStickinessConfig><Enabled>true</Enabled>"
					  "</TargetGroupStickinessConfig></ForwardConfig></member>",
		"other"},
	{"six groups",
		"<member><Type>forward</Type>" FORWARD(TARGET_GROUP(TG, "") TARGET_GROUP(TG, "")
				TARGET_GROUP(TG, "") TARGET_GROUP(TG, "") TARGET_GROUP(TG, "")
					TARGET_GROUP(TG2, "")) "</ForwardConfig></member>",
		"other sl-pool=1 sl-pool=1 sl-pool=1 sl-pool=1 sl-pool=1"},
	{"no group", "<member><Type>forward</Type></member>", "other"},
	{"404", FIXED("<ContentType>text/plain</ContentType>"), "fixed 503 \"\""},
	{"with a text",
		FIXED("<ContentType>text/plain</ContentType><MessageBody>no such backend"
		      "</MessageBody>"),
		"fixed 503 \"no such backend\""},
	{"HTML", FIXED("<ContentType>text/html</ContentType>"), "other"},
	{"redirect, filled in",
		REDIRECT("HTTPS", "443",
			"<Host>#{host}</Host><Path>/#{path}</Path><Query>#{query}</Query>"),
		"redirect 443"},
	{"redirect, as sent", REDIRECT("HTTPS", "8443", ""), "redirect 8443"},
	{"redirect to another host", REDIRECT("HTTPS", "443", "<Host>a.example</Host>"), "other"},
	{"redirect to another path", REDIRECT("HTTPS", "443", "<Path>/</Path>"), "other"},
	{"redirect to the same port", REDIRECT("HTTPS", "#{port}", ""), "other"},
	{"redirect to HTTP", REDIRECT("HTTP", "80", ""), "other"},
	{"authenticates first",
		"<member><Type>authenticate-oidc</Type><Order>1</Order></member><member>"
		"<Type>forward</Type><Order>2</Order><TargetGroupArn>" TG
		"</TargetGroupArn></member>",
		"other"},
	{"unknown", "<member><Type>dance</Type></member>", "other"},
	{"none", "", "other"},
};

static void takes_actions(void **fixture)
{
	struct fixture *f = *fixture;
	for (size_t i = 0; i < sizeof(ACTIONS) / sizeof(ACTIONS[0]); i++) {
		struct str text = arena_printf(&f->arena,
			ANSWER("DescribeListeners",
				"<Listeners><member><ListenerArn>" LS
				"</ListenerArn><Port>80</Port><Protocol>HTTP</Protocol>"
				"<DefaultActions>%s</DefaultActions></member></Listeners>"),
			ACTIONS[i].actions);
		observed_drop_content(f->balancer);
		answers_listeners(parse(f, text.p), f->observed, f->balancer, &f->arena);
		assert_int_equal(f->balancer->listeners.count, 1);
		const char *got = action_text(f, &f->balancer->listeners.items[0].default_action);
		if (strcmp(got, ACTIONS[i].want) != 0)
			fail_msg("%s: \"%s\"", ACTIONS[i].name, got);
	}
}

/* ---- listeners ---- */

#define LISTENER(arn, port, protocol, more)                                             \
	"<member><ListenerArn>" arn "</ListenerArn><LoadBalancerArn>" LB                \
	"</LoadBalancerArn><Port>" port "</Port><Protocol>" protocol "</Protocol>" more \
	"<DefaultActions>" FIXED("") "</DefaultActions></member>"
#define TLS                                           \
	"<Certificates><member><CertificateArn>" CERT \
	"</CertificateArn></member></Certificates><SslPolicy>ELBSecurityPolicy-X</SslPolicy>"

static void takes_listeners(void **fixture)
{
	struct fixture *f = *fixture;
	struct str marker = answers_listeners(
		parse(f, ANSWER("DescribeListeners",
				 "<Listeners>" LISTENER(LS, "443", "HTTPS", TLS)
					 LISTENER(LS "0", "8443", "TLS", TLS) LISTENER(LS "1", "80",
						 "HTTP", "") "<member/></Listeners>"
							     "<NextMarker>next</NextMarker>")),
		f->observed, f->balancer, &f->arena);
	assert_str(marker, "next");
	marker = answers_listeners(
		parse(f, ANSWER("DescribeListeners",
				 "<Listeners>" LISTENER(LS "2", "81", "TCP", "") "</Listeners>")),
		f->observed, f->balancer, &f->arena);
	assert_str(marker, NULL);
	assert_false(f->balancer->has_content);
	static const struct {
		uint64_t port;
		enum elb_protocol protocol;
	} want[] = {{80, ELB_HTTP}, {81, ELB_TCP}, {443, ELB_HTTPS}, {8443, ELB_OTHER}};
	assert_int_equal(f->balancer->listeners.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(f->balancer->listeners.items[i].port, want[i].port);
		assert_int_equal(f->balancer->listeners.items[i].protocol, want[i].protocol);
	}
	const struct elb_listener *https = &f->balancer->listeners.items[2];
	assert_str(https->arn, LS);
	assert_str(https->ssl_policy, "ELBSecurityPolicy-X");
	assert_str(https->default_certificate, CERT);
	assert_str(f->balancer->listeners.items[3].ssl_policy, NULL);
}

static void too_many_listeners_have_an_end(void **fixture)
{
	struct fixture *f = *fixture;
	struct str marker = STR("x");
	size_t pages = 0;
	while (marker.p != NULL) {
		struct str text = arena_printf(&f->arena,
			"<a><aResult><Listeners><member><ListenerArn>arn:%zu</ListenerArn>"
			"<Port>%zu</Port></member></Listeners><NextMarker>x</NextMarker>"
			"</aResult></a>",
			pages, pages + 1);
		marker = answers_listeners(parse(f, text.p), f->observed, f->balancer, &f->arena);
		pages++;
	}
	assert_int_equal(pages, CONTENT_LISTENERS_MAX + 1);
	assert_int_equal(f->balancer->listeners.count, CONTENT_LISTENERS_MAX);
}

static void read_listener(struct fixture *f)
{
	answers_listeners(
		parse(f, ANSWER("DescribeListeners",
				 "<Listeners>" LISTENER(LS, "443", "HTTPS", TLS) "</Listeners>")),
		f->observed, f->balancer, &f->arena);
}

#define CERTIFICATE(arn, is_default)                                             \
	"<member><CertificateArn>" arn "</CertificateArn><IsDefault>" is_default \
	"</IsDefault></member>"

static void takes_certificates(void **fixture)
{
	struct fixture *f = *fixture;
	const struct xml *xml = parse(f,
		ANSWER("DescribeListenerCertificates",
			"<Certificates>" CERTIFICATE(CERT, "true") CERTIFICATE(CERT "2", "false")
				CERTIFICATE(CERT, "false") CERTIFICATE("", "false") CERTIFICATE(CERT
					"2",
					"false") "</Certificates><NextMarker>n</NextMarker>"));
	read_listener(f);
	assert_str(answers_certificates(xml, f->balancer, STR(LS), &f->arena), "n");
	assert_texts(&f->balancer->listeners.items[0].certificates, CERT " " CERT "2");
	assert_str(answers_certificates(xml, f->balancer, STR("arn:gone"), &f->arena), NULL);
}

/* ---- rules ---- */

#define VALUES(tag, inner) "<" tag ">" inner "</" tag ">"
#define HOST_CONFIG(inner) "<HostHeaderConfig>" inner "</HostHeaderConfig>"
#define PATH_CONFIG(inner) "<PathPatternConfig>" inner "</PathPatternConfig>"
#define M(text)            "<member>" text "</member>"
#define HOST(inner)        "<member><Field>host-header</Field>" inner "</member>"
#define PATH(inner)        "<member><Field>path-pattern</Field>" inner "</member>"

static const struct {
	const char *name;
	const char *conditions;
	const char *want;
} CONDITIONS[] = {
	{"both forms",
		HOST("<Values>" M("shop.example.com") "</Values>" HOST_CONFIG(
			VALUES("Values", M("shop.example.com"))))
			PATH("<Values>" M("/a") M("/a/*") "</Values>" PATH_CONFIG(
				VALUES("Values", M("/a") M("/a/*")))),
		"host shop.example.com; path /a /a/*"},
	{"the new form, in another order",
		PATH(PATH_CONFIG(VALUES("Values", M("/a/*") M("/a"))))
			HOST(HOST_CONFIG(VALUES("Values", M("Shop.Example.COM")))),
		"host shop.example.com; path /a /a/*"},
	{"the old form", HOST("<Values>" M("shop.example.com") "</Values>"),
		"host shop.example.com"},
	{"paths have case", PATH("<Values>" M("/A") "</Values>"), "path /A"},
	{"a regular expression",
		HOST("<Values/>" HOST_CONFIG(
			VALUES("Values", "") VALUES("RegexValues", M("^[^.]+\\.Example\\.com$")))),
		"host regex ^[^.]+\\.Example\\.com$"},
	{"of a path", PATH(PATH_CONFIG(VALUES("RegexValues", M("^/a(/.*)?$")))),
		"path regex ^/a(/.*)?$"},
	{"both at once",
		PATH(PATH_CONFIG(VALUES("Values", M("/a")) VALUES("RegexValues", M("/a")))),
		"other"},
	{"no values", HOST(""), "other"},
	{"a header",
		"<member><Field>http-header</Field><HttpHeaderConfig><HttpHeaderName>X"
		"</HttpHeaderName><Values>" M("a") "</Values></HttpHeaderConfig></member>" HOST(
			"<Values>" M("a.b") "</Values>"),
		"host a.b; other"},
	{"none", "", ""},
};

static void takes_conditions(void **fixture)
{
	struct fixture *f = *fixture;
	for (size_t i = 0; i < sizeof(CONDITIONS) / sizeof(CONDITIONS[0]); i++) {
		struct str text = arena_printf(&f->arena,
			ANSWER("DescribeRules",
				"<Rules><member><RuleArn>" RULE
				"</RuleArn><Priority>1100</Priority><Conditions>%s</Conditions>"
				"<Actions>" FIXED("") "</Actions><IsDefault>false</IsDefault>"
						      "</member></Rules>"),
			CONDITIONS[i].conditions);
		observed_drop_content(f->balancer);
		read_listener(f);
		answers_rules(parse(f, text.p), f->observed, f->balancer, STR(LS), &f->arena);
		const struct elb_listener *listener = &f->balancer->listeners.items[0];
		assert_int_equal(listener->rules.count, 1);
		assert_int_equal(listener->rules.items[0].priority, 1100);
		assert_str(listener->rules.items[0].arn, RULE);
		assert_int_equal(listener->rules.items[0].action.status, 503);
		const char *got = conditions_text(f, &listener->rules.items[0]);
		if (strcmp(got, CONDITIONS[i].want) != 0)
			fail_msg("%s: \"%s\"", CONDITIONS[i].name, got);
	}
}

#define RULE_MEMBER(arn, priority, more)                        \
	"<member><RuleArn>" arn "</RuleArn><Priority>" priority \
	"</Priority><Actions>" FIXED("") "</Actions>" more "</member>"

static void takes_pages_of_rules(void **fixture)
{
	struct fixture *f = *fixture;
	read_listener(f);
	struct str marker = answers_rules(
		parse(f, ANSWER("DescribeRules",
				 "<Rules>" RULE_MEMBER(RULE "2", "1200", "<Transforms/>")
					 RULE_MEMBER(RULE, "1100",
						 "<Transforms><member><Type>url-rewrite</Type>"
						 "</member></Transforms>") RULE_MEMBER("", "3", "")
						 RULE_MEMBER("arn:x", "0", "") RULE_MEMBER("arn:x",
							 "-1", "") "</Rules>"
								   "<NextMarker>n</NextMarker>")),
		f->observed, f->balancer, STR(LS), &f->arena);
	assert_str(marker, "n");
	marker = answers_rules(
		parse(f, ANSWER("DescribeRules",
				 "<Rules>" RULE_MEMBER(RULE "3", "1000", "") RULE_MEMBER(
					 RULE "9", "default", "<IsDefault>true</IsDefault>")
					 RULE_MEMBER(RULE "2", "1200", "") "</Rules>")),
		f->observed, f->balancer, STR(LS), &f->arena);
	assert_str(marker, NULL);
	const struct elb_listener *listener = &f->balancer->listeners.items[0];
	assert_int_equal(listener->rules.count, 3);
	assert_str(listener->rules.items[0].arn, RULE "3");
	assert_str(listener->rules.items[1].arn, RULE);
	assert_str(listener->rules.items[2].arn, RULE "2");
	assert_int_equal(listener->rules.items[1].action.type, ELB_ACTION_OTHER);
	assert_int_equal(listener->rules.items[2].action.type, ELB_FIXED_RESPONSE);
	assert_str(answers_rules(parse(f, ANSWER("DescribeRules", "")), f->observed, f->balancer,
			   STR("arn:gone"), &f->arena),
		NULL);
}

/* ---- tags ---- */

#define TAGGED(arn, tags) "<member><ResourceArn>" arn "</ResourceArn><Tags>" tags "</Tags></member>"
#define TAG(key, value)   "<member><Key>" key "</Key><Value>" value "</Value></member>"

static void takes_tags(void **fixture)
{
	struct fixture *f = *fixture;
	read_listener(f);
	answers_rules(
		parse(f, ANSWER("DescribeRules", "<Rules>" RULE_MEMBER(RULE, "1", "") RULE_MEMBER(
							 RULE "2", "2", "") "</Rules>")),
		f->observed, f->balancer, STR(LS), &f->arena);
	str_set(&f->balancer->applied, STR("old"));
	answers_tags(
		parse(f, ANSWER("DescribeTags",
				 "<TagDescriptions>" TAGGED(
					 LB, TAG("sluice.io/resource", "shop/web/alb")) TAGGED(TG,
					 TAG("x", "y") TAG("sluice.io/resource", "shop/web/pool/p")
						 TAG("sluice.io/applied", "9f86")) TAGGED(LS,
					 TAG("sluice.io/resource", "shop/web/listener/443"))
					 TAGGED(RULE "2", TAG("sluice.io/resource",
								  "shop/web/rule/2")) TAGGED(RULE,
						 "") TAGGED("arn:other",
						 TAG("a", "b")) "<member/></TagDescriptions>")),
		f->observed);
	assert_string_equal(f->balancer->identity, "shop/web/alb");
	assert_null(f->balancer->applied);
	assert_str(f->group->group.identity, "shop/web/pool/p");
	assert_str(f->group->group.applied, "9f86");
	const struct elb_listener *listener = &f->balancer->listeners.items[0];
	assert_str(listener->identity, "shop/web/listener/443");
	assert_str(listener->rules.items[0].identity, NULL);
	assert_str(listener->rules.items[1].identity, "shop/web/rule/2");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(takes_actions),
		TEST(takes_listeners),
		TEST(too_many_listeners_have_an_end),
		TEST(takes_certificates),
		TEST(takes_conditions),
		TEST(takes_pages_of_rules),
		TEST(takes_tags),
	};
	return cmocka_run_group_tests_name("elb-answers-content", tests, NULL, NULL);
}
