// SPDX-License-Identifier: Apache-2.0
/* A balancer with parts around it that say what a test has set, a translator that commits, and an AWS that answers call by call. */
#pragma once

#include "provider-elb/balancer.h"

#include "fake_client.h"
#include "provider-elb/balancer_state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../provider-common/stage.h"

#define ARN "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
#define LB  "default/web"

/* The parts around a balancer, which say what a test has set. */
struct fixture {
	struct calls calls;
	struct config options;
	struct settings settings;
	struct stage stage;
	struct observed *observed;
	struct balancer_context context;
	struct balancer *balancer;
	struct object *object;
	unsigned made; /* things in AWS */
	size_t gone;
};

static struct {
	bool has_network;
	bool has_certificates; /* what ACM has is known */
	uint64_t losses;
	uint64_t complete; /* number of the last list */
	size_t lists;
} around;

struct state *provider_state(struct provider *provider)
{
	return (struct state *)(void *)provider;
}

void provider_decode(
	struct provider *provider, const struct object *object, struct arena *arena, void *value)
{
	state_decode(provider_state(provider), object, arena, value);
}

void provider_status_changed(struct provider *provider, struct object *load_balancer)
{
}

void provider_event(struct provider *provider, const struct lb_event *event)
{
}

bool network_is_known(const struct network *network)
{
	return around.has_network;
}

void network_plan(const struct network *network, enum elb_type type, struct plan_network *ret_plan)
{
	static struct str subnets[] = {STR("subnet-1"), STR("subnet-2")};
	static struct str groups[] = {STR("sg-1")};
	*ret_plan = (struct plan_network){
		.vpc = STR("vpc-1"), .subnets = {subnets, 2}, .security_groups = {groups, 1}};
}

const char *network_problem(const struct network *network, enum elb_type type)
{
	return around.has_network ? NULL : "they were not asked for yet";
}

void network_refresh(struct network *network)
{
}

struct str certs_arn(const struct certs *certs, struct str id, bool *ret_is_refused)
{
	*ret_is_refused = false;
	return STR_NONE;
}

bool certs_are_known(const struct certs *certs)
{
	return around.has_certificates;
}

bool inventory_is_known(const struct inventory *inventory)
{
	return true;
}

const char *inventory_problem(const struct inventory *inventory)
{
	return NULL;
}

const char *inventory_missing_text(const struct inventory *inventory)
{
	return NULL;
}

uint64_t inventory_losses(const struct inventory *inventory)
{
	return around.losses;
}

uint64_t inventory_next_pass(const struct inventory *inventory)
{
	return around.complete + 2; /* one is under way */
}

uint64_t inventory_complete_pass(const struct inventory *inventory)
{
	return around.complete;
}

void inventory_list_now(struct inventory *inventory)
{
	around.lists++;
}

void inventory_poll(struct inventory *inventory)
{
}

void inventory_poll_gone(struct inventory *inventory, struct str arn)
{
}

static inline void on_gone(void *ctx, struct balancer *balancer)
{
	struct fixture *f = ctx;
	f->gone++;
	f->balancer = NULL;
	balancer_free(balancer);
}

static inline int set_up(void **ret_fixture)
{
	static const struct state_config state_config = {.want_touched = true};
	struct fixture *f = xcalloc(1, sizeof(*f));
	calls_init(&f->calls);
	memset(&around, 0, sizeof(around));
	around.has_network = around.has_certificates = true;
	f->options = (struct config){.replace_delay = 300, .tag_delay = 10};
	settings_init(&f->settings);
	f->settings.cluster = STR("demo");
	f->settings.scheme = STR("internet-facing");
	stage_init(&f->stage, &state_config);
	f->observed = observed_new();
	f->context = (struct balancer_context){.calls = &f->calls.context,
		.options = &f->options,
		.settings = &f->settings,
		.provider = (struct provider *)(void *)f->stage.state,
		.observed = f->observed,
		.on_gone = on_gone,
		.ctx = f};
	f->balancer = balancer_new(&f->context, STR(LB));
	*ret_fixture = f;
	return 0;
}

static inline int tear_down(void **fixture)
{
	struct fixture *f = *fixture;
	balancer_free(f->balancer);
	observed_free(f->observed);
	stage_fini(&f->stage);
	calls_fini(&f->calls);
	free(f);
	return 0;
}

/* ---- what the translator says ---- */

static inline void stage_balancer(struct fixture *f, bool is_absent)
{
	struct listener http = {.port = 80, .protocol = LISTENER_HTTP};
	struct load_balancer lb = make_load_balancer(LB, "web");
	lb.absent = is_absent;
	lb.listeners.items = &http;
	lb.listeners.count = !is_absent;
	stage_upsert(&f->stage, &lb);
}

static inline void stage_host(struct fixture *f, const char *path)
{
	struct path_rule rule = {
		.path = str_from(path), .match = PATH_PREFIX, .pool = STR("default/web")};
	struct virtual_host host = make_host("host", LB, &rule, 1);
	stage_upsert(&f->stage, &host);
}

static inline void stage_pool(struct fixture *f, const char *ip)
{
	struct pool_endpoint endpoint = {
		.ip = str_from(ip), .port = 8080, .active = true, .ready = true};
	struct pool pool = make_pool("default/web", 8080);
	pool.endpoints.items = &endpoint;
	pool.endpoints.count = 1;
	stage_upsert(&f->stage, &pool);
}

static inline void commit(struct fixture *f)
{
	struct state_commit told;
	state_commit(f->stage.state, &told);
	f->object = state_find(f->stage.state, LB_LOAD_BALANCER, STR(LB));
	balancer_want(f->balancer, f->object);
	state_commit_done(f->stage.state);
	fake_run(f->calls.loop);
}

static inline void want_web(struct fixture *f)
{
	stage_balancer(f, false);
	stage_host(f, "/foo");
	stage_pool(f, "10.0.0.1");
	commit(f);
}

static inline enum lb_state status(struct fixture *f, struct lb_status *ret_status)
{
	*ret_status = (struct lb_status){0};
	arena_reset(&f->stage.arena);
	assert_true(balancer_fill_status(f->balancer, &f->stage.arena, ret_status));
	return (enum lb_state)ret_status->state;
}

static inline void assert_status(struct fixture *f, enum lb_state want)
{
	struct lb_status got;
	assert_int_equal(status(f, &got), want);
}

/* ---- what AWS says ---- */

/* A parameter of the oldest call, as it stands there. */
static inline struct str parameter(const char *name)
{
	const char *at = strstr(fake.first->body, name);
	struct str value = {at != NULL ? at + strlen(name) : "", 0};
	while (value.p[value.len] != '\0' && value.p[value.len] != '&')
		value.len++;
	return value;
}

/* Each call succeeds; what is made has a new ARN. */
static inline void answer_well(struct fixture *f)
{
	char text[1024] = "";
	struct str name = parameter("Name=");
	unsigned number = ++f->made;
	if (strcmp(fake_action(), "CreateTargetGroup") == 0)
		snprintf(text, sizeof(text),
			"<TargetGroups><member><TargetGroupArn>" ARN
			"targetgroup/%.*s/%u</TargetGroupArn></member></TargetGroups>",
			STR_FMT(name), number);
	else if (strcmp(fake_action(), "CreateLoadBalancer") == 0)
		snprintf(text, sizeof(text),
			"<LoadBalancers><member><LoadBalancerArn>" ARN
			"loadbalancer/app/%.*s/%u</LoadBalancerArn><Type>application</Type>"
			"<DNSName>x%u.example</DNSName><SecurityGroups><member>sg-1</member>"
			"</SecurityGroups><State><Code>active</Code></State></member>"
			"</LoadBalancers>",
			STR_FMT(name), number, number);
	else if (strcmp(fake_action(), "CreateListener") == 0)
		snprintf(text, sizeof(text),
			"<Listeners><member><ListenerArn>" ARN
			"listener/app/x/1/%u</ListenerArn></member></Listeners>",
			number);
	else if (strcmp(fake_action(), "CreateRule") == 0)
		snprintf(text, sizeof(text),
			"<Rules><member><RuleArn>" ARN
			"listener-rule/app/x/1/1/%u</RuleArn></member></Rules>",
			number);
	fake_answer(text);
	fake_run(f->calls.loop);
}

static inline void run_until(struct fixture *f, const char *action)
{
	for (int i = 0; i < 100 && strcmp(fake_action(), action) != 0; i++) {
		if (fake.first == NULL)
			fake_wait(f->calls.loop, 11);
		else
			answer_well(f);
	}
	assert_string_equal(fake_action(), action);
}

/* Until nothing is under way, and nothing comes. */
static inline void run_all(struct fixture *f)
{
	for (int i = 0; i < 100 && fake.first != NULL; i++)
		answer_well(f);
	assert_null(fake.first);
}

static inline size_t count(const char *action)
{
	size_t found = 0;
	for (const char *at = fake.log; (at = strstr(at, action)) != NULL; at++)
		found++;
	return found;
}

static inline struct observed_balancer *find(struct fixture *f)
{
	return observed_next_balancer(f->observed, NULL);
}
