// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/answers.h"
#include "provider-elb/arn.h"
#include "provider-elb/content.h"
#include "provider-elb/observed_texts.h"

/* Where the last thing was found: they are asked for in the order in which they are kept. */
struct place {
	struct elb_listener *listener;
	size_t rule;
};

static struct str tag(const struct xml *description, const char *key)
{
	return answers_tag(answers_members(description, "Tags"), "Key", "Value", key);
}

static void take_listener_tags(const struct xml *description, struct str arn,
	struct observed *observed, struct arena *arena)
{
	struct observed_balancer *balancer =
		observed_find_balancer(observed, arn_of_balancer(arn, arena));
	struct elb_listener *listener =
		balancer != NULL ? content_find_listener(balancer, arn) : NULL;
	if (listener != NULL)
		listener->identity =
			content_copy_text(&balancer->content, tag(description, TAG_RESOURCE));
}

static void take_rule_tags(const struct xml *description, struct str arn, struct observed *observed,
	struct place *place, struct arena *arena)
{
	struct observed_balancer *balancer =
		observed_find_balancer(observed, arn_of_balancer(arn, arena));
	struct elb_listener *listener =
		balancer != NULL ? content_find_listener(balancer, arn_of_listener(arn, arena))
				 : NULL;
	if (listener == NULL)
		return;
	if (listener != place->listener)
		*place = (struct place){.listener = listener};
	struct elb_rule *rule = content_find_rule(listener, arn, &place->rule);
	if (rule != NULL)
		rule->identity =
			content_copy_text(&balancer->content, tag(description, TAG_RESOURCE));
}

static void take_balancer_tags(
	const struct xml *description, struct str arn, struct observed *observed)
{
	struct observed_balancer *balancer = observed_find_balancer(observed, arn);
	if (balancer == NULL)
		return;
	str_set(&balancer->identity, tag(description, TAG_RESOURCE));
	str_set(&balancer->applied, tag(description, TAG_APPLIED));
}

static void take_group_tags(
	const struct xml *description, struct str arn, struct observed *observed)
{
	struct observed_group *group = observed_find_group(observed, arn);
	if (group == NULL)
		return;
	observed_set_text(&group->group.identity, tag(description, TAG_RESOURCE));
	observed_set_text(&group->group.applied, tag(description, TAG_APPLIED));
}

void answers_tags(const struct xml *xml, struct observed *observed)
{
	const struct xml *description = answers_members(answers_result(xml), "TagDescriptions");
	struct place place = {0};
	struct arena arena;
	arena_init(&arena);
	for (; description != NULL; description = xml_next(description)) {
		struct str arn = answers_arn(description, "ResourceArn");
		enum arn_kind kind = arn_kind(arn);
		if (kind == ARN_BALANCER)
			take_balancer_tags(description, arn, observed);
		else if (kind == ARN_GROUP)
			take_group_tags(description, arn, observed);
		else if (kind == ARN_LISTENER)
			take_listener_tags(description, arn, observed, &arena);
		else if (kind == ARN_RULE)
			take_rule_tags(description, arn, observed, &place, &arena);
	}
	arena_fini(&arena);
}
