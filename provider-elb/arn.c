// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/arn.h"

static const struct {
	struct str service;
	struct str prefix;
	enum arn_kind kind;
} KINDS[] = {
	{STR("elasticloadbalancing"), STR("loadbalancer/"), ARN_BALANCER},
	{STR("elasticloadbalancing"), STR("targetgroup/"), ARN_GROUP},
	{STR("elasticloadbalancing"), STR("listener/"), ARN_LISTENER},
	{STR("elasticloadbalancing"), STR("listener-rule/"), ARN_RULE},
	{STR("ec2"), STR("security-group/"), ARN_SECURITY_GROUP},
	{STR("acm"), STR("certificate/"), ARN_CERTIFICATE},
};

/* The part with that number, counted from 0: "arn", partition, service, region, account; the last one is all of the rest. */
static struct str part_of(struct str arn, unsigned number)
{
	for (unsigned i = 0; i < number; i++) {
		const char *colon = str_find(arn, ':');
		if (colon == NULL)
			return STR_NONE;
		arn = str_skip(arn, (size_t)(colon - arn.p) + 1);
	}
	const char *end = number < 5 ? str_find(arn, ':') : NULL;
	return end != NULL ? (struct str){arn.p, (size_t)(end - arn.p)} : arn;
}

enum arn_kind arn_kind(struct str arn)
{
	struct str service = part_of(arn, 2);
	struct str resource = part_of(arn, 5);
	for (size_t i = 0; i < sizeof(KINDS) / sizeof(KINDS[0]); i++) {
		if (str_starts_with(arn, STR("arn:")) && str_eq(service, KINDS[i].service) &&
			str_starts_with(resource, KINDS[i].prefix))
			return KINDS[i].kind;
	}
	return ARN_OTHER;
}

/* With another kind, and only the first `segments` of what follows it. */
static struct str parent_of(
	struct str arn, const char *kind, unsigned segments, struct arena *arena)
{
	struct str resource = part_of(arn, 5);
	struct str head = {arn.p, (size_t)(resource.p - arn.p)};
	const char *slash = str_find(resource, '/');
	struct str path = str_skip(resource, (size_t)(slash - resource.p) + 1);
	size_t len = 0;
	while (len < path.len && (path.p[len] != '/' || --segments != 0))
		len++;
	return arena_printf(arena, "%.*s%s/%.*s", STR_FMT(head), kind, (int)len, path.p);
}

struct str arn_of_balancer(struct str arn, struct arena *arena)
{
	enum arn_kind kind = arn_kind(arn);
	bool is_part = kind == ARN_LISTENER || kind == ARN_RULE;
	return is_part ? parent_of(arn, "loadbalancer", 3, arena) : STR_NONE;
}

struct str arn_of_listener(struct str arn, struct arena *arena)
{
	return arn_kind(arn) == ARN_RULE ? parent_of(arn, "listener", 4, arena) : STR_NONE;
}

struct str arn_security_group_id(struct str arn)
{
	return str_skip(part_of(arn, 5), sizeof("security-group/") - 1);
}
