// SPDX-License-Identifier: Apache-2.0
/*
 * A load balancer as its plans see it, and what becomes of each step: AWS takes everything, and time passes when a plan wants that. What is wanted is said
 * in short texts; what was done is read from a journal.
 */
#pragma once

#include "common/buf.h"
#include "provider-elb/answers.h"
#include "provider-elb/compare.h"
#include "provider-elb/content.h"
#include "provider-elb/observed_texts.h"
#include "provider-elb/naming.h"
#include "provider-elb/plan.h"
#include "provider-elb/priorities.h"
#include "provider-elb/wanted_digest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#define WORLD_LB "default/shop"

enum { WORLD_PARTS_MAX = 48 };

struct world {
	struct arena arena; /* of what is wanted */
	struct arena step;
	struct load_balancer object;
	struct wanted wanted;
	struct wanted_balancer balancers[2];
	struct settings settings;
	struct plan_network network;
	struct plan_input input;
	struct plan plan;
	char journal[8192]; /* "create-rule a.example/x 15499; " */
	unsigned made;      /* numbers ARNs */
	unsigned steps;
	bool is_starved;                               /* targets are not registered */
	bool is_sick;                                  /* targets do not get healthy */
	bool is_stubborn;                              /* deleted balancers do not disappear */
	void (*check_step)(const struct world *world); /* before each step; NULL: none */
	void (*check)(const struct world *world);      /* after it */
};

static inline void *world_new(struct world *world, size_t count, size_t size)
{
	return arena_calloc(&world->arena, count, size);
}

static inline void world_init(struct world *world)
{
	static struct str subnets[] = {STR("subnet-1"), STR("subnet-2")};
	static struct str inbound[] = {STR("0.0.0.0/0")};
	*world = (struct world){0};
	arena_init(&world->arena);
	arena_init(&world->step);
	settings_init(&world->settings);
	world->network = (struct plan_network){
		.vpc = STR("vpc-1"), .subnets = {subnets, 2}, .inbound = {inbound, 1}};
	world->wanted.balancers = world->balancers;
	world->input = (struct plan_input){.object = &world->object,
		.wanted = &world->wanted,
		.settings = &world->settings,
		.network = &world->network,
		.observed = observed_new(),
		.lb = STR(WORLD_LB),
		.now = 1000,
		.replace_delay_s = 300,
		.tag_delay_s = 10,
		.may_delete = true};
}

static inline void world_fini(struct world *world)
{
	observed_free(world->input.observed);
	arena_fini(&world->arena);
	arena_fini(&world->step);
}

/* ---- what is wanted ---- */

static inline int world_group_cmp(const void *left, const void *right)
{
	const struct elb_group *a = left, *b = right;
	return str_cmp(a->name, b->name);
}

/* A pool may have a version behind '@', which makes another group of it. */
static inline struct elb_action world_action(
	struct world *world, struct wanted_balancer *balancer, struct str pool)
{
	struct elb_action action = {.type = ELB_FIXED_RESPONSE, .status = 404};
	if (str_is_empty(pool))
		return action;
	struct str name = arena_printf(&world->arena, "g-%.*s", STR_FMT(pool));
	const char *version = str_find(pool, '@');
	size_t len = version != NULL ? (size_t)(version - pool.p) : pool.len;
	action = (struct elb_action){.type = ELB_FORWARD};
	action.groups.items = world_new(world, 1, sizeof(struct elb_forward));
	action.groups.items[0] = (struct elb_forward){.group = name, .weight = 1};
	action.groups.count = 1;
	for (size_t i = 0; i < balancer->groups.count; i++) {
		if (str_eq(balancer->groups.items[i].name, name))
			return action;
	}
	balancer->groups.items[balancer->groups.count++] = (struct elb_group){.name = name,
		.identity = arena_printf(&world->arena, "i-%.*s", (int)len, pool.p),
		.lb = STR(WORLD_LB)};
	qsort(balancer->groups.items, balancer->groups.count, sizeof(struct elb_group),
		world_group_cmp);
	return action;
}

static inline struct str world_part(struct str *text, char end)
{
	const char *at = str_find(*text, end);
	struct str part = *text;
	if (at != NULL)
		part.len = (size_t)(at - text->p);
	*text = str_skip(*text, part.len + 1);
	return part;
}

/* "*.a.example/x=pool" */
static inline void world_rule(struct world *world, struct wanted_balancer *balancer,
	struct elb_listener *listener, struct str text)
{
	struct str where = world_part(&text, '='), rest = where;
	struct str host = world_part(&rest, '/');
	struct elb_rule *rule = &listener->rules.items[listener->rules.count++];
	struct elb_condition *conditions = world_new(world, 2, sizeof(*conditions));
	*rule = (struct elb_rule){
		.identity = arena_printf(&world->arena, "rule %.*s", STR_FMT(where)),
		.where = where,
		.action = world_action(world, balancer, text)};
	rule->band = str_is_empty(host)                ? BAND_ANY
		     : str_starts_with(host, STR("*")) ? BAND_WILDCARD
						       : BAND_EXACT;
	rule->conditions.items = conditions;
	for (int i = str_is_empty(host) ? 1 : 0; i < 2; i++) {
		struct elb_condition *condition = &conditions[rule->conditions.count++];
		condition->field = i == 0 ? ELB_FIELD_HOST : ELB_FIELD_PATH;
		condition->values.items = world_new(world, 1, sizeof(struct str));
		condition->values.items[0] = i == 0 ? host : str_skip(where, host.len);
		condition->values.count = 1;
	}
}

/* "80 default: host/path=pool host/path=pool"; "443s" is HTTPS, "443t" TCP. */
static inline void world_listener(
	struct world *world, struct wanted_balancer *balancer, struct str text)
{
	struct str head = world_part(&text, ':');
	struct elb_listener *listener = &balancer->listeners.items[balancer->listeners.count++];
	char *kind;
	*listener = (struct elb_listener){.port = strtoul(head.p, &kind, 10),
		.protocol = *kind == 's'   ? ELB_HTTPS
			    : *kind == 't' ? ELB_TCP
					   : ELB_HTTP};
	listener->identity = arena_printf(&world->arena, "listener %zu", (size_t)listener->port);
	if (listener->protocol == ELB_HTTPS) {
		listener->ssl_policy = STR("policy");
		listener->default_certificate = STR("cert-1");
	}
	world_part(&head, ' ');
	listener->default_action = world_action(world, balancer, head);
	listener->rules.items = world_new(world, WORLD_PARTS_MAX, sizeof(struct elb_rule));
	while (!str_is_empty(text)) {
		struct str rule = world_part(&text, ' ');
		if (!str_is_empty(rule))
			world_rule(world, balancer, listener, rule);
	}
}

/* Listeners, with ';' between them, of an application load balancer; a name that begins with "n" makes it a network one. */
static inline struct wanted_balancer *world_want_balancer(
	struct world *world, size_t which, const char *name, const char *listeners)
{
	struct wanted_balancer *balancer = &world->balancers[which];
	struct str text = arena_str(&world->arena, str_from(listeners));
	uint64_t hash = 1469598103934665603u;
	for (size_t i = 0; i < text.len; i++)
		hash = (hash ^ (unsigned char)text.p[i]) * 1099511628211u;
	*balancer = (struct wanted_balancer){.type = *name == 'n' ? ELB_NETWORK : ELB_APPLICATION,
		.lb = STR(WORLD_LB),
		.name = arena_str(&world->arena, str_from(name)),
		.identity = *name == 'n' ? STR("nlb") : STR("alb"),
		.digest = arena_printf(&world->arena, "%016llx", (unsigned long long)hash)};
	balancer->groups.items = world_new(world, WORLD_PARTS_MAX, sizeof(struct elb_group));
	balancer->listeners.items = world_new(world, 4, sizeof(struct elb_listener));
	while (!str_is_empty(text))
		world_listener(world, balancer, str_trim(world_part(&text, ';')));
	world->wanted.count = which + 1;
	return balancer;
}

static inline struct wanted_balancer *world_want(struct world *world, const char *listeners)
{
	return world_want_balancer(world, 0, "alb", listeners);
}

/* ---- the journal ---- */

[[gnu::format(printf, 2, 3)]] static inline void world_note(
	struct world *world, const char *format, ...)
{
	size_t used = strlen(world->journal);
	va_list args;
	va_start(args, format);
	vsnprintf(world->journal + used, sizeof(world->journal) - used, format, args);
	va_end(args);
}

static inline void world_note_action(struct world *world, const struct elb_action *action)
{
	if (action->type != ELB_FORWARD)
		world_note(world, " %zu", (size_t)action->status);
	for (size_t i = 0; i < action->groups.count; i++)
		world_note(world, " %.*s:%zu", STR_FMT(action->groups.items[i].group),
			(size_t)action->groups.items[i].weight);
}

static inline void world_note_content_step(struct world *world)
{
	static const char *const names[PLAN_STEP_COUNT] = {
		[PLAN_CREATE_LISTENER] = "create-listener",
		[PLAN_MODIFY_LISTENER] = "modify-listener",
		[PLAN_DELETE_LISTENER] = "delete-listener",
		[PLAN_ADD_CERTIFICATE] = "add-certificate",
		[PLAN_REMOVE_CERTIFICATE] = "remove-certificate",
		[PLAN_SET_PRIORITIES] = "set-priorities",
		[PLAN_MODIFY_RULE] = "modify-rule",
		[PLAN_CREATE_RULE] = "create-rule",
		[PLAN_DELETE_RULE] = "delete-rule",
	};
	const struct plan *plan = &world->plan;
	world_note(world, "%s", names[plan->step]);
	if (plan->wanted_rule != NULL || plan->rule != NULL)
		world_note(world, " %.*s",
			STR_FMT((plan->wanted_rule != NULL ? plan->wanted_rule : plan->rule)
					->identity));
	else
		world_note(world, " %zu",
			(size_t)(plan->wanted_listener != NULL ? plan->wanted_listener
							       : plan->listener)
				->port);
	if (plan->action != NULL)
		world_note_action(world, plan->action);
	if (plan->certificate.p != NULL)
		world_note(world, " %.*s", STR_FMT(plan->certificate));
	if (plan->step == PLAN_SET_PRIORITIES)
		world_note(world, " %zu", plan->priority_count);
}

static inline void world_note_step(struct world *world)
{
	static const char *const names[PLAN_STEP_COUNT] = {
		[PLAN_READ_LISTENERS] = "read-listeners",
		[PLAN_READ_SECURITY_GROUP] = "read-security-group",
		[PLAN_READ_GROUP_HEALTH] = "read-health",
		[PLAN_CREATE_GROUP] = "create-group",
		[PLAN_MODIFY_GROUP] = "modify-group",
		[PLAN_MODIFY_GROUP_ATTRIBUTES] = "modify-attributes",
		[PLAN_TAG_GROUP] = "tag-group",
		[PLAN_CREATE_SECURITY_GROUP] = "create-security-group",
		[PLAN_AUTHORIZE] = "authorize",
		[PLAN_REVOKE] = "revoke",
		[PLAN_CREATE_BALANCER] = "create-balancer",
		[PLAN_SET_SECURITY_GROUPS] = "set-security-groups",
		[PLAN_TAG_BALANCER] = "tag",
		[PLAN_DELETE_BALANCER] = "delete-balancer",
		[PLAN_DELETE_GROUP] = "delete-group",
		[PLAN_DELETE_SECURITY_GROUP] = "delete-security-group",
		[PLAN_FORGET] = "forget",
	};
	const struct plan *plan = &world->plan;
	if (names[plan->step] == NULL) {
		world_note_content_step(world);
	} else {
		world_note(world, "%s", names[plan->step]);
		if (plan->wanted_group != NULL)
			world_note(world, " %.*s", STR_FMT(plan->wanted_group->name));
		else if (plan->group != NULL)
			world_note(world, " %.*s", STR_FMT(plan->group->group.name));
		if (plan->step == PLAN_AUTHORIZE || plan->step == PLAN_REVOKE)
			world_note(world, " %zu", (size_t)plan->permission.from);
		if (plan->step == PLAN_DELETE_BALANCER)
			world_note(world, " %s", plan->balancer->name);
		if (plan->step == PLAN_CREATE_BALANCER)
			world_note(world, " %.*s", STR_FMT(plan->wanted->name));
		if (str_eq_c(plan->tag_value, TAG_CHANGING))
			world_note(world, " changing");
	}
	world_note(world, "; ");
}

/* ---- what becomes of a step ---- */

static inline void world_answer(struct world *world)
{
	struct plan *plan = &world->plan;
	unsigned n = ++world->made;
	struct str text = arena_printf(&world->step,
		"<R><groupId>sg-%03u</groupId><XResult>"
		"<TargetGroups><member><TargetGroupArn>arn:g%03u</TargetGroupArn></member></"
		"TargetGroups>"
		"<LoadBalancers><member><LoadBalancerArn>arn:b%03u</LoadBalancerArn><DNSName>x</"
		"DNSName>"
		"<State><Code>provisioning</Code></State><Type>%s</Type><SecurityGroups>",
		n, n, n,
		plan->wanted != NULL && plan->wanted->type == ELB_NETWORK ? "network"
									  : "application");
	for (size_t i = 0; i < plan->security_groups.count; i++)
		text = arena_printf(&world->step, "%.*s<member>%.*s</member>", STR_FMT(text),
			STR_FMT(plan->security_groups.items[i]));
	text = arena_printf(&world->step,
		"%.*s</SecurityGroups></member></LoadBalancers>"
		"<Listeners><member><ListenerArn>arn:l%03u</ListenerArn></member></Listeners>"
		"<Rules><member><RuleArn>arn:r%03u</RuleArn></member></Rules></XResult></R>",
		STR_FMT(text), n, n);
	const char *problem = NULL;
	const struct xml *xml = xml_parse(text, &world->step, &problem);
	assert_non_null(xml);
	assert_int_equal(answers_step(xml, &world->input, plan, &world->step), 0);
}

static inline void world_take_step(struct world *world)
{
	struct plan *plan = &world->plan;
	switch (plan->step) {
	case PLAN_READ_LISTENERS:
		plan->balancer->has_content = true;
		break;
	case PLAN_READ_SECURITY_GROUP:
		plan->security_group->has_permissions = true;
		break;
	case PLAN_READ_GROUP_HEALTH:
		plan->group->health_read_at = world->input.now;
		plan->group->is_proven |= !world->is_sick;
		break;
	default:
		world_answer(world);
		break;
	}
}

/* What AWS and the others do meanwhile; false: nothing. */
static inline bool world_pass_time(struct world *world, double delay_s)
{
	struct observed *observed = world->input.observed;
	struct observed_balancer *next, *balancer = observed_next_balancer(observed, NULL);
	bool is_changed = delay_s > 0;
	world->input.now += delay_s;
	for (; balancer != NULL; balancer = next) {
		next = observed_next_balancer(observed, balancer);
		if (balancer->is_leaving && !world->is_stubborn) {
			observed_forget_balancer(observed, balancer);
			is_changed = true;
		} else if (balancer->state == ELB_PROVISIONING) {
			balancer->state = ELB_ACTIVE;
			is_changed = true;
		}
	}
	struct observed_group *group = observed_next_group(observed, NULL);
	for (; group != NULL; group = observed_next_group(observed, group)) {
		if (world->is_starved || group->is_supplied)
			continue;
		struct elb_target target = {.ip = STR("10.0.0.1"), .port = 80};
		observed_add_target(group, &target);
		group->has_targets = group->is_supplied = true;
		is_changed = true;
	}
	return is_changed;
}

static inline void world_note_settled(struct world *world)
{
	struct plan_input *input = &world->input;
	struct observed_balancer *balancer = observed_next_balancer(input->observed, NULL);
	if (!world->plan.is_settled)
		input->settled_since = 0;
	else if (input->settled_since <= 0)
		input->settled_since = input->now;
	for (; balancer != NULL && world->plan.is_settled;
		balancer = observed_next_balancer(input->observed, balancer)) {
		if (balancer->replaced_at <= 0 &&
			!str_eq_c(world->balancers[0].name, balancer->name))
			balancer->replaced_at = input->now;
	}
}

/* Tests change the settings of groups. */
static inline void world_digest_groups(struct world *world)
{
	for (size_t i = 0; i < world->wanted.count; i++) {
		struct wanted_balancer *balancer = &world->balancers[i];
		for (size_t k = 0; k < balancer->groups.count; k++)
			balancer->groups.items[k].applied =
				wanted_group_digest(&balancer->groups.items[k], &world->arena);
	}
}

static inline void world_plan(struct world *world)
{
	arena_reset(&world->step);
	world_digest_groups(world);
	plan_next(&world->input, &world->step, &world->plan);
	world_note_settled(world);
}

/* One plan, and what it leads to. False: it is over. */
static inline bool world_step(struct world *world)
{
	world_plan(world);
	assert_true(++world->steps < 5000);
	if (world->plan.step == PLAN_NOTHING)
		return world_pass_time(world, 0);
	if (world->plan.step == PLAN_LATER)
		return world->plan.delay_s < 1000 && world_pass_time(world, world->plan.delay_s);
	world_note_step(world);
	if (world->plan.step == PLAN_FORGET)
		return false;
	if (world->check_step != NULL)
		world->check_step(world);
	world_take_step(world);
	if (world->check != NULL)
		world->check(world);
	return true;
}

/* Until nothing is to be done any more; `journal` is what was done, NULL: whatever. */
static inline void world_run(struct world *world, const char *journal)
{
	world->journal[0] = '\0';
	while (world_step(world))
		continue;
	if (journal != NULL)
		assert_string_equal(world->journal, journal);
}

/* Another life, which knows only what a first look at AWS shows. */
static inline void world_restart(struct world *world)
{
	struct observed *observed = world->input.observed;
	struct observed_balancer *balancer = observed_next_balancer(observed, NULL);
	struct observed_group *group = observed_next_group(observed, NULL);
	struct observed_security_group *security_group =
		observed_next_security_group(observed, NULL);
	world->input.settled_since = world->input.failed_since = 0;
	for (; balancer != NULL; balancer = observed_next_balancer(observed, balancer)) {
		balancer->has_content = balancer->is_leaving = false;
		balancer->replaced_at = 0;
	}
	for (; group != NULL; group = observed_next_group(observed, group)) {
		group->is_supplied = group->is_proven = group->has_targets = false;
		group->health_read_at = 0;
		observed_set_attributes(group, &(struct elb_group){0});
	}
	for (; security_group != NULL;
		security_group = observed_next_security_group(observed, security_group))
		security_group->has_permissions = false;
}
