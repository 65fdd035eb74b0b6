// SPDX-License-Identifier: Apache-2.0
/* Answers of AWS, each taken for one of every kind, into what is observed; and pages of the tagging API. What comes of them keeps its order and limits, and can be planned with. */
#include "common/must.h"
#include "provider-elb/arn.h"
#include "provider-elb/content.h"
#include "provider-elb/discovery.h"
#include "provider-elb/limits.h"
#include "provider-elb/requests.h"
#include "provider-elb/subnets.h"
#include "provider-elb/networks.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

#define ELB  "arn:aws:elasticloadbalancing:us-east-1:123456789012:"
#define LB   ELB "loadbalancer/app/sl-web/50dc"
#define TG   ELB "targetgroup/sl-pool/73e2"
#define LS   ELB "listener/app/sl-web/50dc/f2f7"
#define RULE ELB "listener-rule/app/sl-web/50dc/f2f7/9683"
#define CERT "arn:aws:acm:us-east-1:123456789012:certificate/a3e6"

struct world {
	struct arena arena;
	struct observed *observed;
	struct observed_balancer *balancer;
	struct observed_group *group;
	struct observed_security_group *security_group;
	struct elb_group wanted_group;
	struct elb_listener wanted_listener;
	struct elb_rule wanted_rule;
	struct wanted_balancer wanted;
	struct settings settings;
	struct plan_network network;
};

static void fill_content(struct world *world)
{
	struct observed_balancer *balancer = world->balancer;
	observed_drop_content(balancer);
	struct elb_listener *listener = content_push_listener(balancer);
	listener->arn = STR(LS);
	listener->port = 443;
	listener->protocol = ELB_HTTPS;
	struct elb_rule *rule = content_push_rule(balancer, listener);
	rule->arn = STR(RULE);
	rule->priority = 7;
	rule->identity = STR("rule");
	balancer->has_content = true;
}

static void world_init(struct world *world)
{
	*world = (struct world){0};
	arena_init(&world->arena);
	settings_init(&world->settings);
	world->observed = observed_new();
	world->balancer = observed_add_balancer(world->observed, STR(LB), STR("shop/web"));
	observed_set_balancer_name(world->observed, world->balancer, STR("sl-web"));
	world->group = observed_add_group(world->observed, STR(TG), STR("shop/web"));
	observed_set_group_name(world->observed, world->group, STR("sl-pool"));
	world->security_group =
		observed_add_security_group(world->observed, STR("sg-1"), STR("shop/web"));
	observed_set_security_group_name(world->observed, world->security_group, STR("sl-web"));
	world->wanted_group =
		(struct elb_group){.name = STR("sl-new"), .identity = STR("pool/new")};
	world->wanted_listener = (struct elb_listener){
		.identity = STR("443"), .port = 444, .default_action = {ELB_FIXED_RESPONSE}};
	world->wanted_rule = (struct elb_rule){
		.identity = STR("rule new"), .action = {ELB_FIXED_RESPONSE, .status = 404}};
	world->wanted = (struct wanted_balancer){
		.name = STR("sl-new"), .identity = STR("application"), .lb = STR("shop/web")};
	fill_content(world);
}

static void world_fini(struct world *world)
{
	observed_free(world->observed);
	arena_fini(&world->arena);
}

/* ---- what must be so, whatever came ---- */

static void check_rules(const struct elb_listener *listener)
{
	must(listener->rules.count <= CONTENT_RULES_MAX);
	for (size_t i = 0; i < listener->rules.count; i++) {
		const struct elb_rule *rule = &listener->rules.items[i];
		must(rule->arn.p != NULL);
		must(rule->action.groups.count <= 5);
		must(i == 0 || listener->rules.items[i - 1].priority <= rule->priority);
	}
}

static void check_targets(const struct observed_group *group)
{
	must(group->targets.count <= ANSWERS_TARGETS_MAX);
	for (size_t i = 1; i < group->targets.count; i++) {
		const struct elb_target *before = &group->targets.items[i - 1];
		const struct elb_target *target = &group->targets.items[i];
		int order = str_cmp(before->ip, target->ip);
		must(order < 0 || (order == 0 && before->port < target->port));
	}
}

static void check(const struct world *world)
{
	const struct observed_balancer *balancer = NULL;
	const struct observed_group *group = NULL;
	while ((balancer = observed_next_balancer(world->observed, balancer)) != NULL) {
		must(balancer->listeners.count <= CONTENT_LISTENERS_MAX);
		for (size_t i = 0; i < balancer->listeners.count; i++)
			check_rules(&balancer->listeners.items[i]);
	}
	while ((group = observed_next_group(world->observed, group)) != NULL)
		check_targets(group);
}

static struct plan_input input_of(struct world *world)
{
	return (struct plan_input){.settings = &world->settings,
		.network = &world->network,
		.observed = world->observed,
		.lb = STR("shop/web"),
		.now = 1000,
		.may_delete = true};
}

/* Nothing is wanted any more: whatever was learnt, there is a next step. */
static void plan(struct world *world)
{
	struct plan_input input = input_of(world);
	struct plan plan;
	plan_next(&input, &world->arena, &plan);
	(void)plan_subject(&plan);
	check(world);
}

/* ---- lists ---- */

static void on_other(void *ctx, struct str arn, struct str name)
{
	must(arn.len <= ANSWERS_ARN_LEN_MAX);
	(void)discovery_is_our_name(name);
	(void)arn_kind(arn);
}

static void take_lists(struct world *world, const struct xml *xml)
{
	struct arena *arena = &world->arena;
	struct observed *observed = world->observed;
	discovery_take_tags(xml, STR("demo"), observed);
	answers_balancers(xml, observed, 1, arena, on_other, NULL);
	answers_groups(xml, observed, 1, arena, on_other, NULL);
	answers_security_groups(xml, STR("demo"), observed, 1, arena);
	answers_tags(xml, observed);
	check(world);
	observed_drop_content(world->balancer);
	answers_listeners(xml, observed, world->balancer, arena);
	for (size_t i = 0; i < world->balancer->listeners.count; i++) {
		struct str arn = world->balancer->listeners.items[i].arn;
		answers_rules(xml, observed, world->balancer, arn, arena);
		answers_certificates(xml, world->balancer, arn, arena);
	}
	answers_tags(xml, observed);
	world->balancer->has_content = true;
	must(answers_health_only(xml) == answers_health(xml, world->group));
	plan(world);
}

static void take_network(struct world *world, const struct xml *xml)
{
	struct subnet_list subnets = {0};
	struct subnet_zone_list zones = {0};
	struct subnets_wish wish = {.tag = SUBNETS_TAG_PUBLIC};
	struct subnets_choice choice;
	struct networks *networks = networks_new();
	(void)limits_read(xml, &world->settings);
	(void)subnets_read(xml, STR("demo"), &world->arena, &subnets);
	subnets_read_zones(xml, &world->arena, &zones);
	(void)subnets_read_networks(xml, networks, &world->arena);
	wish.zones = zones;
	subnets_choose(&wish, &subnets, &world->arena, &choice);
	must(choice.ids.count <= subnets.count);
	networks_free(networks);
}

/* ---- steps ---- */

static void take_step(struct world *world, const struct xml *xml, enum plan_step step)
{
	struct plan_priority move = {STR(RULE), 9};
	struct elb_listener *listener = &world->balancer->listeners.items[0];
	struct plan_input input = input_of(world);
	struct plan done = {.step = step,
		.wanted = &world->wanted,
		.balancer = world->balancer,
		.group = world->group,
		.security_group = world->security_group,
		.wanted_group = &world->wanted_group,
		.wanted_listener = &world->wanted_listener,
		.listener = listener,
		.wanted_rule = &world->wanted_rule,
		.rule = &listener->rules.items[0],
		.priority = 3,
		.priorities = &move,
		.priority_count = 1,
		.permission = {.from = 80, .to = 80, .source = (char *)(uintptr_t) "10.0.0.0/8"},
		.certificate = STR(CERT),
		.tag_value = STR("9f86")};
	(void)answers_step(xml, &input, &done, &world->arena);
}

/* Each in a world of its own: some of them take away what the next would need. */
static void take_steps(const struct xml *xml)
{
	for (int step = PLAN_READ_SECURITY_GROUP; step < PLAN_FORGET; step++) {
		struct world world;
		world_init(&world);
		take_step(&world, xml, (enum plan_step)step);
		plan(&world);
		world_fini(&world);
	}
}

static void read_xml(struct str text)
{
	struct arena arena;
	struct world world;
	const char *problem = NULL;
	arena_init(&arena);
	const struct xml *xml = xml_parse(text, &arena, &problem);
	world_init(&world);
	take_lists(&world, xml);
	take_network(&world, xml);
	world_fini(&world);
	take_steps(xml);
	arena_fini(&arena);
}

static void on_certificate(void *ctx, struct str arn, const struct discovery_tags *tags)
{
	must(arn.len <= ANSWERS_ARN_LEN_MAX && tags->resource.len <= TAG_VALUE_LEN_MAX);
}

static void read_json(struct str text)
{
	struct world world;
	struct str token = STR_NONE;
	struct str *lbs = NULL;
	struct json *json = json_parse(text, NULL, NULL);
	world_init(&world);
	(void)discovery_take(
		json, STR("demo"), world.observed, &world.arena, on_certificate, NULL, &token);
	size_t count = observed_load_balancers(world.observed, &world.arena, &lbs);
	for (size_t i = 1; i < count; i++)
		must(str_cmp(lbs[i - 1], lbs[i]) < 0);
	(void)observed_forget_unseen(world.observed, 1, NULL, NULL);
	must(observed_balancer_count(world.observed) == 0);
	world_fini(&world);
	json_free(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct str text = {(const char *)data, len};
	read_xml(text);
	read_json(text);
	return 0;
}
