// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/answers.h"
#include "provider-elb/observed_texts.h"

#include "common/ip.h"

#include <stdlib.h>

/* ---- target groups ---- */

static void take_health_check(const struct xml *xml, struct elb_health_check *to)
{
	struct str codes = answers_text(xml, "Matcher/GrpcCode");
	bool is_grpc = !str_is_empty(codes);
	struct elb_health_check check = {
		.protocol = answers_text(xml, "HealthCheckProtocol"),
		.path = answers_text(xml, "HealthCheckPath"),
		.port = answers_text(xml, "HealthCheckPort"),
		.matcher = is_grpc ? codes : answers_text(xml, "Matcher/HttpCode"),
		.is_grpc = is_grpc,
		.interval_s = answers_number(xml, "HealthCheckIntervalSeconds"),
		.timeout_s = answers_number(xml, "HealthCheckTimeoutSeconds"),
		.healthy = answers_number(xml, "HealthyThresholdCount"),
		.unhealthy = answers_number(xml, "UnhealthyThresholdCount"),
	};
	/* Those of a TCP check say nothing, whatever stands in them. */
	if (str_eq_c(check.protocol, "TCP")) {
		check.path = STR_NONE;
		check.matcher = STR_NONE;
		check.is_grpc = false;
	}
	observed_set_health_check(to, &check);
}

/* Which balancer uses it. Where the content of the one that did is known, that is newer than this page. */
static void take_user(
	const struct xml *xml, const struct observed *observed, struct observed_group *group)
{
	struct str arn = answers_arn(answers_members(xml, "LoadBalancerArns"), "");
	const struct observed_balancer *known =
		observed_find_balancer(observed, str_from(group->balancer_arn));
	if (known != NULL && known->has_content)
		return;
	str_set(&group->balancer_arn, arn);
	if (str_is_empty(arn)) {
		group->attached_at = 0;
		group->is_proven = false;
	}
}

void answers_take_group(
	const struct xml *xml, struct observed *observed, struct observed_group *group)
{
	struct elb_group *own = &group->group;
	struct str protocol = answers_text(xml, "Protocol");
	bool is_tcp = str_eq_c(protocol, "TCP");
	observed_set_group_name(observed, group, answers_text(xml, "TargetGroupName"));
	observed_set_text(&own->protocol, protocol);
	observed_set_text(&own->version, is_tcp ? STR_NONE : answers_text(xml, "ProtocolVersion"));
	own->port = answers_number(xml, "Port");
	own->is_ipv6 = str_eq_c(answers_text(xml, "IpAddressType"), "ipv6");
	take_health_check(xml, &own->health_check);
	take_user(xml, observed, group);
}

struct str answers_groups(const struct xml *xml, struct observed *observed, uint64_t pass,
	struct arena *arena, void (*on_other)(void *ctx, struct str arn, struct str name),
	void *ctx)
{
	const struct xml *result = answers_result(xml);
	const struct xml *member = answers_members(result, "TargetGroups");
	for (; member != NULL; member = xml_next(member)) {
		struct str arn = answers_arn(member, "TargetGroupArn");
		struct observed_group *group = observed_find_group(observed, arn);
		if (group == NULL && on_other != NULL && arn.p != NULL)
			on_other(ctx, arn, answers_text(member, "TargetGroupName"));
		/* on_other() may have had reason to add it. */
		if (group == NULL)
			group = observed_find_group(observed, arn);
		if (group == NULL)
			continue;
		answers_take_group(member, observed, group);
		observed_see(observed, pass, &group->seen_in);
	}
	return answers_marker(result, "NextMarker", arena);
}

/* ---- health ---- */

struct health {
	size_t all;
	size_t healthy;
	size_t initial; /* before their first checks have ended */
	size_t silent;  /* nothing came back at all */
};

/* "unavailable": health checks are turned off. */
static bool is_healthy(struct str state)
{
	return str_eq_c(state, "healthy") || str_eq_c(state, "unavailable");
}

static bool is_registered(const struct xml *xml)
{
	struct str state = answers_text(xml, "TargetHealth/State");
	struct str reason = answers_text(xml, "TargetHealth/Reason");
	bool is_gone = str_eq_c(state, "unused") && str_eq_c(reason, "Target.NotRegistered");
	return !is_gone && !str_eq_c(state, "draining");
}

static void take_target(const struct xml *xml, struct elb_target_list *targets, struct arena *arena)
{
	char ip[INET6_ADDRSTRLEN];
	if (!is_registered(xml) || !ip_canonical(answers_text(xml, "Target/Id"), ip))
		return;
	struct elb_target *target = arena_push(
		arena, (void **)&targets->items, &targets->count, sizeof(struct elb_target));
	*target = (struct elb_target){.ip = arena_str(arena, str_from(ip)),
		.port = answers_number(xml, "Target/Port"),
		.is_elsewhere = str_eq_c(xml_text(xml, "Target/AvailabilityZone"), "all")};
}

static void count_state(const struct xml *xml, struct health *health)
{
	struct str state = answers_text(xml, "TargetHealth/State");
	if (!is_registered(xml))
		return;
	health->all++;
	health->healthy += is_healthy(state);
	health->initial += str_eq_c(state, "initial");
	health->silent += str_eq_c(state, "unhealthy") &&
			  str_eq_c(answers_text(xml, "TargetHealth/Reason"), "Target.Timeout");
}

static int compare_targets(const void *left, const void *right)
{
	return observed_compare_targets(left, right);
}

static void sort_targets(struct elb_target_list *targets)
{
	size_t kept = 0;
	if (targets->count == 0)
		return;
	qsort(targets->items, targets->count, sizeof(*targets->items), compare_targets);
	for (size_t i = 0; i < targets->count; i++) {
		const struct elb_target *target = &targets->items[i];
		if (kept == 0 || observed_compare_targets(&targets->items[kept - 1], target) != 0)
			targets->items[kept++] = *target;
	}
	targets->count = kept;
}

static const struct xml *first_target(const struct xml *xml)
{
	return answers_members(answers_result(xml), "TargetHealthDescriptions");
}

static struct health count_states(const struct xml *xml)
{
	struct health health = {0};
	for (const struct xml *member = first_target(xml); member != NULL;
		member = xml_next(member))
		count_state(member, &health);
	return health;
}

enum requests_health answers_health_only(const struct xml *xml)
{
	struct health health = count_states(xml);
	if (health.all == 0)
		return HEALTH_NONE;
	if (health.healthy != 0)
		return HEALTH_HEALTHY;
	return health.silent == health.all ? HEALTH_UNREACHABLE : HEALTH_WAITING;
}

enum requests_health answers_health(const struct xml *xml, struct observed_group *group)
{
	struct elb_target_list targets = {0};
	struct arena arena;
	arena_init(&arena);
	const struct xml *member = first_target(xml);
	for (; member != NULL && targets.count < ANSWERS_TARGETS_MAX; member = xml_next(member))
		take_target(member, &targets, &arena);
	sort_targets(&targets);
	observed_set_targets(group, &targets);
	group->has_targets = true;
	arena_fini(&arena);
	return answers_health_only(xml);
}

struct elb_target_list answers_proven(const struct xml *xml, struct arena *arena)
{
	struct elb_target_list targets = {0};
	struct health health = count_states(xml);
	bool all_serve = health.healthy == 0 && health.initial == 0;
	const struct xml *member = first_target(xml);
	for (; member != NULL && targets.count < ANSWERS_TARGETS_MAX; member = xml_next(member)) {
		if (all_serve || is_healthy(answers_text(member, "TargetHealth/State")))
			take_target(member, &targets, arena);
	}
	sort_targets(&targets);
	return targets;
}
