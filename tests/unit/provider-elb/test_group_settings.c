// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/group_settings.h"

#include "tests/unit/provider-elb/wanted_fixture.h"

#define RUN(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

/* The group of the only pool, "p", on a balancer for requests or for connections. */
static const struct elb_group *group_of(struct fixture *f, enum elb_type type)
{
	f->lb.listeners.count = 0;
	f->host_count = 0;
	f->lb.default_pool = STR("p");
	fixture_listen(f, type == ELB_APPLICATION ? LISTENER_HTTPS : LISTENER_TCP, 443)->pool =
		STR("p");
	fixture_make(f);
	assert_int_equal(f->wanted.count, 1);
	assert_int_equal(f->wanted.balancers[0].type, type);
	assert_int_equal(f->wanted.balancers[0].groups.count, 1);
	return &f->wanted.balancers[0].groups.items[0];
}

static void the_protocol_is_the_pools(void **fixture)
{
	static struct pool_tls http2 = {.http2 = true, .verify = TLS_VERIFY_OFF};
	static struct pool_tls http1 = {.verify = TLS_VERIFY_OFF};
	static const struct {
		enum pool_protocol protocol;
		struct pool_tls *tls;
		enum elb_type type;
		const char *want;
	} cases[] = {
		{POOL_HTTP, NULL, ELB_APPLICATION, "HTTP HTTP1"},
		{POOL_H2C, NULL, ELB_APPLICATION, "HTTP HTTP2"},
		{POOL_HTTPS, NULL, ELB_APPLICATION, "HTTPS HTTP1"},
		{POOL_HTTPS, &http1, ELB_APPLICATION, "HTTPS HTTP1"},
		{POOL_HTTPS, &http2, ELB_APPLICATION, "HTTPS HTTP2"},
		{POOL_TCP, NULL, ELB_APPLICATION, "HTTP HTTP1"},
		{POOL_TCP, NULL, ELB_NETWORK, "TCP "},
		{POOL_HTTP, NULL, ELB_NETWORK, "TCP "},
		{POOL_HTTPS, NULL, ELB_NETWORK, "TCP "},
		{POOL_H2C, NULL, ELB_NETWORK, "TCP "},
	};
	struct fixture *f = *fixture;
	struct pool *pool = fixture_pool(f, "p");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[32];
		pool->protocol = cases[i].protocol;
		pool->tls = cases[i].tls;
		const struct elb_group *group = group_of(f, cases[i].type);
		snprintf(text, sizeof(text), "%.*s %.*s", STR_FMT(group->protocol),
			STR_FMT(group->version));
		assert_string_equal(text, cases[i].want);
		assert_int_equal(group->port, 80);
		assert_string_equal(group->identity.p, "default/web/pool/p");
		assert_string_equal(group->lb.p, "default/web");
		assert_true(str_eq(group->applied, wanted_group_digest(group, &f->arena)));
		assert_null(group->arn.p);
	}
}

static void what_tls_cannot_be_had_is_told(void **fixture)
{
	struct fixture *f = *fixture;
	struct pool_tls tls = {.verify = TLS_VERIFY_OFF, .server_name = STR("web.internal")};
	struct pool *pool = fixture_pool(f, "p");
	pool->protocol = POOL_HTTPS;
	pool->tls = &tls;
	group_of(f, ELB_APPLICATION);
	assert_string_equal(fixture_notices(f), "BackendTlsNotSupported@default/p: default/p");
	tls.server_name = STR_NONE;
	group_of(f, ELB_APPLICATION);
	assert_string_equal(fixture_notices(f), "");
	tls.client_chain = STR("chain");
	group_of(f, ELB_APPLICATION);
	assert_string_equal(fixture_notices(f), "BackendTlsNotSupported@default/p: default/p");
	/* What is passed through is not opened. */
	group_of(f, ELB_NETWORK);
	assert_string_equal(fixture_notices(f), "");
}

/* "HTTP /path 200-499 port interval/timeout healthy/unhealthy" */
static const char *check_of(struct fixture *f, const struct elb_group *group)
{
	const struct elb_health_check *c = &group->health_check;
	assert_false(c->is_grpc);
	return arena_printf(&f->arena, "%.*s %.*s %.*s %.*s %u/%u %u/%u", STR_FMT(c->protocol),
		STR_FMT(c->path), STR_FMT(c->matcher), STR_FMT(c->port), (unsigned)c->interval_s,
		(unsigned)c->timeout_s, (unsigned)c->healthy, (unsigned)c->unhealthy)
		.p;
}

static void health_checks_are_the_settings_or_the_objects(void **fixture)
{
	static const struct {
		enum elb_type type;
		enum pool_protocol protocol;
		struct health_check check;
		const char *want;
		bool is_told;
	} cases[] = {
		{ELB_APPLICATION, POOL_HTTP, {STR("other"), .path = STR("/x")},
			"HTTP / 200-499 traffic-port 15/5 2/2", false},
		{ELB_APPLICATION, POOL_HTTPS, {STR("other"), .path = STR("/x")},
			"HTTPS / 200-499 traffic-port 15/5 2/2", false},
		{ELB_NETWORK, POOL_TCP, {STR("other"), .path = STR("/x")},
			"TCP   traffic-port 15/5 2/2", false},
		{ELB_APPLICATION, POOL_HTTP,
			{STR("p"), HEALTH_CHECK_HTTP, STR("/x?y=1"), 8081, 10000, 3000, 3, 4},
			"HTTP /x?y=1 200-499 8081 10/3 3/4", false},
		{ELB_APPLICATION, POOL_HTTPS, {STR("p"), HEALTH_CHECK_HTTP, STR("/x")},
			"HTTPS /x 200-499 traffic-port 15/5 2/2", false},
		{ELB_NETWORK, POOL_TCP, {STR("p"), HEALTH_CHECK_HTTP, STR("/x")},
			"HTTP /x 200-499 traffic-port 15/5 2/2", false},
		{ELB_NETWORK, POOL_TCP, {STR("p"), HEALTH_CHECK_TCP, .interval_ms = 30000},
			"TCP   traffic-port 30/5 2/2", false},
		/* A load balancer for requests has no check by connecting. */
		{ELB_APPLICATION, POOL_HTTP, {STR("p"), HEALTH_CHECK_TCP, .interval_ms = 30000},
			"HTTP / 200-499 traffic-port 30/5 2/2", true},
		{ELB_APPLICATION, POOL_HTTP, {STR("p"), HEALTH_CHECK_HTTP, STR("x")},
			"HTTP / 200-499 traffic-port 15/5 2/2", true},
		{ELB_APPLICATION, POOL_HTTP, {STR("p"), HEALTH_CHECK_HTTP},
			"HTTP / 200-499 traffic-port 15/5 2/2", true},
		{ELB_APPLICATION, POOL_HTTP, {STR("p"), HEALTH_CHECK_HTTP, STR("/a b")},
			"HTTP / 200-499 traffic-port 15/5 2/2", true},
		/* AWS's limits */
		{ELB_APPLICATION, POOL_HTTP,
			{STR("p"), HEALTH_CHECK_HTTP, STR("/"), 0, 2000, 1000, 1, 1},
			"HTTP / 200-499 traffic-port 5/2 2/2", true},
		{ELB_APPLICATION, POOL_HTTP,
			{STR("p"), HEALTH_CHECK_HTTP, STR("/"), 0, 301000, 121000, 11, 11},
			"HTTP / 200-499 traffic-port 300/120 10/10", true},
		{ELB_APPLICATION, POOL_HTTP,
			{STR("p"), HEALTH_CHECK_HTTP, STR("/"), 0, UINT32_MAX, UINT32_MAX,
				UINT32_MAX, UINT32_MAX},
			"HTTP / 200-499 traffic-port 300/120 10/10", true},
		{ELB_APPLICATION, POOL_HTTP,
			{STR("p"), HEALTH_CHECK_HTTP, STR("/"), 0, 6001, 2001, 2, 2},
			"HTTP / 200-499 traffic-port 7/3 2/2", true},
		{ELB_APPLICATION, POOL_HTTP,
			{STR("p"), HEALTH_CHECK_HTTP, STR("/"), 0, 10000, 10000, 2, 2},
			"HTTP / 200-499 traffic-port 10/9 2/2", true},
		/* The usual timeout is not what was asked for, so nobody hears of it. */
		{ELB_APPLICATION, POOL_HTTP,
			{STR("p"), HEALTH_CHECK_HTTP, STR("/"), 0, 5000, 0, 2, 2},
			"HTTP / 200-499 traffic-port 5/4 2/2", false},
	};
	struct fixture *f = *fixture;
	struct pool *pool = fixture_pool(f, "p");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct health_check check = cases[i].check;
		f->lb.health_checks.items = &check;
		f->lb.health_checks.count = 1;
		pool->protocol = cases[i].protocol;
		const struct elb_group *group = group_of(f, cases[i].type);
		assert_string_equal(check_of(f, group), cases[i].want);
		assert_string_equal(fixture_notices(f),
			cases[i].is_told ? "HealthCheckNotSupported@default/p: default/p" : "");
	}
}

static void a_check_is_for_services_of_the_balancers_namespace(void **fixture)
{
	struct fixture *f = *fixture;
	struct health_check check = {STR("p"), .path = STR("/x"), .type = HEALTH_CHECK_HTTP};
	f->lb.health_checks.items = &check;
	f->lb.health_checks.count = 1;
	struct pool *pool = fixture_pool(f, "p");
	pool->service.namespace = STR("other");
	assert_string_equal(
		check_of(f, group_of(f, ELB_APPLICATION)), "HTTP / 200-499 traffic-port 15/5 2/2");
}

/* "key=value ...", without what is always the same. */
static const char *attributes_of(struct fixture *f, const struct elb_group *group)
{
	f->len = 0;
	f->text[0] = '\0';
	for (size_t i = 0; i < group->attributes.count; i++) {
		const struct elb_attribute *a = &group->attributes.items[i];
		if (i != 0)
			assert_true(str_cmp(group->attributes.items[i - 1].key, a->key) < 0);
		fixture_print(
			f, "%s%.*s=%.*s", i == 0 ? "" : " ", STR_FMT(a->key), STR_FMT(a->value));
	}
	return f->text;
}

#define DELAY       "deregistration_delay.timeout_seconds=30 "
#define ROUND_ROBIN DELAY "load_balancing.algorithm.type=round_robin "
#define NETWORK     DELAY "load_balancing.cross_zone.enabled=true "
#define LB_COOKIE                                                                          \
	ROUND_ROBIN "stickiness.enabled=true stickiness.lb_cookie.duration_seconds=86400 " \
		    "stickiness.type=lb_cookie"

static void attributes_follow_algorithm_and_stickiness(void **fixture)
{
	static struct stickiness insert = {.mode = STICKINESS_INSERT};
	static struct stickiness named = {.name = STR("p"), .cookie = STR("SID")};
	static struct stickiness all = {.cookie = STR("SID"),
		.domain = STR(".a.com"),
		.indirect = true,
		.nocache = true,
		.postonly = true};
	static struct stickiness app = {.mode = STICKINESS_PREFIX, .cookie = STR("SID")};
	static struct stickiness rewrite = {.mode = STICKINESS_REWRITE, .cookie = STR("SID")};
	static struct stickiness nameless = {.mode = STICKINESS_REWRITE};
	static struct stickiness reserved = {.mode = STICKINESS_PREFIX, .cookie = STR("AWSALBX")};
	static const struct {
		enum elb_type type;
		enum pool_algorithm algorithm;
		struct stickiness *stickiness;
		const char *want;
		const char *notices;
	} cases[] = {
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, NULL,
			ROUND_ROBIN "stickiness.enabled=false", ""},
		{ELB_APPLICATION, ALGORITHM_LEAST_CONNECTIONS, NULL,
			DELAY "load_balancing.algorithm.type=least_outstanding_requests "
			      "stickiness.enabled=false",
			""},
		{ELB_APPLICATION, ALGORITHM_SOURCE, NULL, ROUND_ROBIN "stickiness.enabled=false",
			"AlgorithmNotSupported@default/p: default/p"},
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, &insert, LB_COOKIE, ""},
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, &named, LB_COOKIE,
			"StickinessNotSupported: the name of the cookie"},
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, &all, LB_COOKIE,
			"StickinessNotSupported: the name of the cookie, the domain, indirect, "
			"nocache, postonly"},
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, &app,
			ROUND_ROBIN "stickiness.app_cookie.cookie_name=SID "
				    "stickiness.app_cookie.duration_seconds=86400 "
				    "stickiness.enabled=true stickiness.type=app_cookie",
			""},
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, &rewrite,
			ROUND_ROBIN "stickiness.app_cookie.cookie_name=SID "
				    "stickiness.app_cookie.duration_seconds=86400 "
				    "stickiness.enabled=true stickiness.type=app_cookie",
			""},
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, &nameless, LB_COOKIE,
			"StickinessNotSupported: a cookie of the application, without a name that "
			"AWS takes"},
		{ELB_APPLICATION, ALGORITHM_ROUND_ROBIN, &reserved, LB_COOKIE,
			"StickinessNotSupported: the name of the cookie, a cookie of the "
			"application, "
			"without a name that AWS takes"},
		{ELB_NETWORK, ALGORITHM_ROUND_ROBIN, NULL, NETWORK "stickiness.enabled=false", ""},
		{ELB_NETWORK, ALGORITHM_LEAST_CONNECTIONS, NULL, NETWORK "stickiness.enabled=false",
			"AlgorithmNotSupported@default/p: default/p"},
		{ELB_NETWORK, ALGORITHM_SOURCE, NULL,
			NETWORK "stickiness.enabled=true stickiness.type=source_ip", ""},
		{ELB_NETWORK, ALGORITHM_ROUND_ROBIN, &insert, NETWORK "stickiness.enabled=false",
			"StickinessNotSupported: cookies over TCP"},
	};
	struct fixture *f = *fixture;
	struct pool *pool = fixture_pool(f, "p");
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pool->algorithm = cases[i].algorithm;
		f->lb.stickiness = cases[i].stickiness;
		const struct elb_group *group = group_of(f, cases[i].type);
		assert_string_equal(attributes_of(f, group), cases[i].want);
		assert_string_equal(fixture_notices(f), cases[i].notices);
	}
}

static void the_family_is_that_of_most_endpoints(void **fixture)
{
	static const struct {
		const char *type;
		size_t ipv4, ipv6;
		bool is_ipv6;
		const char *notices;
	} cases[] = {
		{"dualstack", 0, 0, false, ""},
		{"dualstack", 1, 0, false, ""},
		{"dualstack", 0, 1, true, ""},
		/* Both families of a Service, one known before the other. */
		{"dualstack", 1, 1, false, "EndpointsOfTwoFamilies@default/p: default/p"},
		{"dualstack", 3, 4, false, "EndpointsOfTwoFamilies@default/p: default/p"},
		{"dualstack", 1, 3, true, "EndpointsOfTwoFamilies@default/p: default/p"},
		{"dualstack-without-public-ipv4", 0, 1, true, ""},
		{"ipv4", 0, 1, false, "EndpointsNotReachable@default/p: default/p"},
		{"ipv4", 1, 3, false, "EndpointsOfTwoFamilies@default/p: default/p"},
	};
	struct fixture *f = *fixture;
	struct pool *pool = fixture_pool(f, "p");
	static struct pool_endpoint endpoints[8]; /* the pool keeps them */
	pool->endpoints.items = endpoints;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		pool->endpoints.count = 0;
		for (size_t k = 0; k < cases[i].ipv4; k++)
			endpoints[pool->endpoints.count++] = (struct pool_endpoint){
				.ip = STR("10.0.0.1"), .port = 80 + k, .active = true};
		for (size_t k = 0; k < cases[i].ipv6; k++)
			endpoints[pool->endpoints.count++] = (struct pool_endpoint){
				.ip = STR("2600::1"), .port = 80 + k, .active = true};
		f->settings.ip_address_type = str_from(cases[i].type);
		assert_int_equal(group_of(f, ELB_APPLICATION)->is_ipv6, cases[i].is_ipv6);
		assert_string_equal(fixture_notices(f), cases[i].notices);
	}
}

static void endpoints_that_cannot_be_targets_are_told(void **fixture)
{
	struct fixture *f = *fixture;
	struct pool_endpoint endpoint = {.ip = STR("169.254.169.254"), .port = 80, .active = true};
	struct pool *pool = fixture_pool(f, "p");
	pool->endpoints.items = &endpoint;
	pool->endpoints.count = 1;
	group_of(f, ELB_APPLICATION);
	assert_string_equal(fixture_notices(f), "EndpointsNotReachable@default/p: default/p");
}

/* Each case changes one thing. */
static void the_digest_is_of_what_is_changed_in_place(void **fixture)
{
	struct fixture *f = *fixture;
	struct elb_group group = *group_of(f, ELB_APPLICATION);
	struct str first = group.applied;
	assert_string_equal(first.p, "165d7b67a65c54a3");
	struct elb_group other = group;
	other.name = STR("x");
	other.arn = STR("x");
	other.identity = STR("x");
	other.pool = STR("x");
	assert_true(str_eq(first, wanted_group_digest(&other, &f->arena)));
#define DIFFERS(member, value)                                                       \
	do {                                                                         \
		other = group;                                                       \
		other.member = (value);                                              \
		assert_false(str_eq(first, wanted_group_digest(&other, &f->arena))); \
	} while (0)
	DIFFERS(health_check.protocol, STR("HTTPS"));
	DIFFERS(health_check.path, STR("/x"));
	DIFFERS(health_check.port, STR("80"));
	DIFFERS(health_check.matcher, STR("200"));
	DIFFERS(health_check.is_grpc, true);
	DIFFERS(health_check.interval_s, 16);
	DIFFERS(health_check.timeout_s, 6);
	DIFFERS(health_check.healthy, 3);
	DIFFERS(health_check.unhealthy, 3);
	DIFFERS(attributes.count, group.attributes.count - 1);
	group.attributes.items[0].value = STR("31");
	assert_false(str_eq(first, wanted_group_digest(&group, &f->arena)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RUN(the_protocol_is_the_pools),
		RUN(what_tls_cannot_be_had_is_told),
		RUN(health_checks_are_the_settings_or_the_objects),
		RUN(a_check_is_for_services_of_the_balancers_namespace),
		RUN(attributes_follow_algorithm_and_stickiness),
		RUN(the_family_is_that_of_most_endpoints),
		RUN(endpoints_that_cannot_be_targets_are_told),
		RUN(the_digest_is_of_what_is_changed_in_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
