// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/discovery.h"

#include "common/must.h"
#include "provider-elb/answers.h"
#include "provider-elb/arn.h"
#include "provider-elb/observed_texts.h"

#include <errno.h>

enum {
	PAGE_SIZE = 100, /* the most that it gives */
	BODY_LEN_MAX = 64 * 1024,
	TOKEN_LEN_MAX = 16 * 1024,
	TAGS_MAX = 100, /* of one resource: AWS allows 50 */
};

void discovery_request(
	struct str cluster, struct str token, struct arena *arena, struct request *ret_request)
{
	static const char *const types[] = {"elasticloadbalancing:loadbalancer",
		"elasticloadbalancing:targetgroup", "ec2:security-group", "acm:certificate"};
	struct json *body = json_new_object();
	struct json *filter = json_push_object(json_add_array(body, "TagFilters"));
	json_add_str(filter, "Key", STR(TAG_CLUSTER));
	json_push_str(json_add_array(filter, "Values"), naming_tag_value(arena, cluster));
	struct json *filters = json_add_array(body, "ResourceTypeFilters");
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		json_push_str(filters, str_from(types[i]));
	json_add_int(body, "ResourcesPerPage", PAGE_SIZE);
	if (!str_is_empty(token))
		json_add_str(body, "PaginationToken", token);
	struct buf text;
	buf_init(&text, BODY_LEN_MAX);
	must(json_print(body, &text) == 0);
	*ret_request = (struct request){.service = AWS_TAGGING,
		.action = "GetResources",
		.body = arena_str(arena, buf_str(&text))};
	buf_fini(&text);
	json_free(body);
}

/* ---- what a resource's tags say ---- */

struct found {
	struct str cluster;
	struct str lb;
	struct discovery_tags tags;
};

static void note_tag(struct found *found, struct str key, struct str value)
{
	if (value.len > TAG_VALUE_LEN_MAX)
		return;
	if (str_eq_c(key, TAG_CLUSTER))
		found->cluster = value;
	else if (str_eq_c(key, TAG_LB))
		found->lb = value;
	else if (str_eq_c(key, TAG_RESOURCE))
		found->tags.resource = value;
	else if (str_eq_c(key, TAG_OWNER))
		found->tags.owner = value;
	else if (str_eq_c(key, TAG_APPLIED))
		found->tags.applied = value;
}

/* The list is older than what we know from our own writes: of what is confirmed it has nothing new to say. */
static void add_balancer(struct observed *observed, struct str arn, const struct found *found)
{
	if (observed_balancer_count(observed) >= OBSERVED_MAX)
		return;
	struct observed_balancer *balancer = observed_add_balancer(observed, arn, found->lb);
	if (balancer->name != NULL)
		return;
	str_set(&balancer->identity, found->tags.resource);
	str_set(&balancer->applied, found->tags.applied);
}

static void add_group(struct observed *observed, struct str arn, const struct found *found)
{
	if (observed_group_count(observed) >= OBSERVED_MAX)
		return;
	struct observed_group *group = observed_add_group(observed, arn, found->lb);
	if (!str_is_empty(group->group.name))
		return;
	observed_set_text(&group->group.identity, found->tags.resource);
	observed_set_text(&group->group.applied, found->tags.applied);
}

static void add_security_group(struct observed *observed, struct str arn, const struct found *found)
{
	struct str id = arn_security_group_id(arn);
	if (str_is_empty(id) || observed_security_group_count(observed) >= OBSERVED_MAX)
		return;
	struct observed_security_group *group =
		observed_add_security_group(observed, id, found->lb);
	if (group->name == NULL)
		str_set(&group->identity, found->tags.resource);
}

static void add(struct observed *observed, struct str arn, const struct found *found)
{
	enum arn_kind kind = arn_kind(arn);
	if (str_is_empty(found->lb) || arn.len > ANSWERS_ARN_LEN_MAX)
		return;
	if (kind == ARN_BALANCER)
		add_balancer(observed, arn, found);
	else if (kind == ARN_GROUP)
		add_group(observed, arn, found);
	else if (kind == ARN_SECURITY_GROUP)
		add_security_group(observed, arn, found);
}

/* ---- the tagging API ---- */

static void note_tags(struct found *found, const struct json *tags)
{
	size_t count = 0;
	for (const struct json *tag = json_first(tags); tag != NULL && count < TAGS_MAX;
		tag = json_next(tag), count++)
		note_tag(found, json_text(json_get(tag, "Key")), json_text(json_get(tag, "Value")));
}

int discovery_take(const struct json *json, struct str cluster, struct observed *observed,
	struct arena *arena,
	void (*on_certificate)(void *ctx, struct str arn, const struct discovery_tags *tags),
	void *ctx, struct str *ret_token)
{
	const struct json *list = json_get(json, "ResourceTagMappingList");
	struct str token = json_text(json_get(json, "PaginationToken"));
	struct str ours = naming_tag_value(arena, cluster);
	if (!json_is_object(json) || !(json_is_array(list) || json_is_absent(list)) ||
		token.len > TOKEN_LEN_MAX)
		return -EBADMSG;
	for (const struct json *item = json_first(list); item != NULL; item = json_next(item)) {
		struct found found = {0};
		struct str arn = json_text(json_get(item, "ResourceARN"));
		note_tags(&found, json_get(item, "Tags"));
		if (!str_eq(found.cluster, ours))
			continue;
		if (arn_kind(arn) != ARN_CERTIFICATE)
			add(observed, arn, &found);
		else if (on_certificate != NULL && arn.len <= ANSWERS_ARN_LEN_MAX)
			on_certificate(ctx, arn, &found.tags);
	}
	*ret_token = !str_is_empty(token) ? arena_str(arena, token) : STR_NONE;
	return 0;
}

/* ---- DescribeTags ---- */

void discovery_take_tags(const struct xml *xml, struct str cluster, struct observed *observed)
{
	const struct xml *description = answers_members(answers_result(xml), "TagDescriptions");
	struct arena arena;
	arena_init(&arena);
	struct str ours = naming_tag_value(&arena, cluster);
	for (; description != NULL; description = xml_next(description)) {
		struct found found = {0};
		const struct xml *tag = answers_members(description, "Tags");
		for (size_t i = 0; tag != NULL && i < TAGS_MAX; tag = xml_next(tag), i++)
			note_tag(&found, xml_text(tag, "Key"), xml_text(tag, "Value"));
		if (str_eq(found.cluster, ours))
			add(observed, answers_arn(description, "ResourceArn"), &found);
	}
	arena_fini(&arena);
}

bool discovery_is_our_name(struct str name)
{
	return str_starts_with(name, STR("sl-")) && name.len <= NAME_LEN_MAX;
}
