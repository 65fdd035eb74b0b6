// SPDX-License-Identifier: Apache-2.0
/* Security groups: EC2, whose lists have items instead of members. */
#include "provider-elb/answers.h"
#include "provider-elb/observed_texts.h"

static void take_sources(const struct xml *permission, const char *list, const char *member,
	struct observed_security_group *group)
{
	const struct xml *item = xml_child(xml_child(permission, list), "item");
	for (; item != NULL && group->permissions.count < ANSWERS_PERMISSIONS_MAX;
		item = xml_next(item)) {
		struct str source = answers_text(item, member);
		if (!str_is_empty(source))
			observed_add_permission(group, answers_number(permission, "fromPort"),
				answers_number(permission, "toPort"), source);
	}
}

void answers_take_security_group(
	const struct xml *xml, struct observed *observed, struct observed_security_group *group)
{
	observed_set_security_group_name(observed, group, answers_text(xml, "groupName"));
	observed_clear_permissions(group);
	const struct xml *permission = xml_child(xml_child(xml, "ipPermissions"), "item");
	for (; permission != NULL; permission = xml_next(permission)) {
		/* What somebody has allowed besides is none of ours. */
		if (!str_eq_c(xml_text(permission, "ipProtocol"), "tcp"))
			continue;
		take_sources(permission, "ipRanges", "cidrIp", group);
		take_sources(permission, "ipv6Ranges", "cidrIpv6", group);
		take_sources(permission, "groups", "groupId", group);
		take_sources(permission, "prefixListIds", "prefixListId", group);
	}
	group->has_permissions = true;
}

/* NULL: it is not ours. */
static struct observed_security_group *find(
	const struct xml *item, struct str cluster, struct observed *observed, struct arena *arena)
{
	const struct xml *tags = xml_child(xml_child(item, "tagSet"), "item");
	struct str id = answers_text(item, "groupId");
	struct str lb = answers_tag(tags, "key", "value", TAG_LB);
	struct str identity = answers_tag(tags, "key", "value", TAG_RESOURCE);
	if (!str_eq(answers_tag(tags, "key", "value", TAG_CLUSTER),
		    naming_tag_value(arena, cluster)) ||
		str_is_empty(id) || str_is_empty(lb))
		return NULL;
	struct observed_security_group *group = observed_add_security_group(observed, id, lb);
	str_set(&group->identity, identity);
	return group;
}

struct str answers_security_groups(const struct xml *xml, struct str cluster,
	struct observed *observed, uint64_t pass, struct arena *arena)
{
	const struct xml *item = xml_child(xml_child(xml, "securityGroupInfo"), "item");
	for (; item != NULL && observed_security_group_count(observed) < OBSERVED_MAX;
		item = xml_next(item)) {
		struct observed_security_group *group = find(item, cluster, observed, arena);
		if (group == NULL)
			continue;
		answers_take_security_group(item, observed, group);
		observed_see(observed, pass, &group->seen_in);
	}
	return answers_marker(xml, "nextToken", arena);
}
