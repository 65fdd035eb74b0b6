// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/wanted_digest.h"

#include "provider-common/digest.h"
#include "provider-elb/naming.h"

struct str wanted_group_digest(const struct elb_group *group, struct arena *arena)
{
	const struct elb_health_check *check = &group->health_check;
	struct digest digest;
	digest_begin(&digest);
	digest_add_str(&digest, check->protocol);
	digest_add_str(&digest, check->path);
	digest_add_str(&digest, check->port);
	digest_add_str(&digest, check->matcher);
	digest_add_int(&digest, check->is_grpc);
	digest_add_int(&digest, check->interval_s);
	digest_add_int(&digest, check->timeout_s);
	digest_add_int(&digest, check->healthy);
	digest_add_int(&digest, check->unhealthy);
	digest_add_int(&digest, group->attributes.count);
	for (size_t i = 0; i < group->attributes.count; i++) {
		digest_add_str(&digest, group->attributes.items[i].key);
		digest_add_str(&digest, group->attributes.items[i].value);
	}
	return digest_end_text(&digest, DIGEST_APPLIED_LEN, arena);
}

static void add_texts(struct digest *digest, const struct str_list *texts)
{
	digest_add_int(digest, texts->count);
	for (size_t i = 0; i < texts->count; i++)
		digest_add_str(digest, texts->items[i]);
}

static void add_action(struct digest *digest, const struct elb_action *action)
{
	digest_add_int(digest, action->type);
	digest_add_int(digest, action->groups.count);
	for (size_t i = 0; i < action->groups.count; i++) {
		digest_add_str(digest, action->groups.items[i].group);
		digest_add_int(digest, action->groups.items[i].weight);
	}
	digest_add_int(digest, action->status);
	digest_add_str(digest, action->body);
	digest_add_int(digest, action->port);
}

static void add_rule(struct digest *digest, const struct elb_rule *rule)
{
	digest_add_str(digest, rule->identity);
	digest_add_int(digest, rule->band);
	digest_add_int(digest, rule->conditions.count);
	for (size_t i = 0; i < rule->conditions.count; i++) {
		const struct elb_condition *condition = &rule->conditions.items[i];
		digest_add_int(digest, condition->field);
		digest_add_int(digest, condition->is_regex);
		add_texts(digest, &condition->values);
	}
	add_action(digest, &rule->action);
}

static void add_listener(struct digest *digest, const struct elb_listener *listener)
{
	digest_add_str(digest, listener->identity);
	digest_add_int(digest, listener->port);
	digest_add_int(digest, listener->protocol);
	digest_add_str(digest, listener->ssl_policy);
	digest_add_str(digest, listener->default_certificate);
	add_texts(digest, &listener->certificates);
	add_action(digest, &listener->default_action);
	digest_add_int(digest, listener->rules.count);
	for (size_t i = 0; i < listener->rules.count; i++)
		add_rule(digest, &listener->rules.items[i]);
}

struct str wanted_balancer_digest(const struct wanted_balancer *balancer, struct arena *arena)
{
	struct digest digest;
	digest_begin(&digest);
	digest_add_int(&digest, balancer->type);
	digest_add_str(&digest, balancer->identity);
	digest_add_str(&digest, balancer->name);
	digest_add_str(&digest, balancer->owner);
	digest_add_int(&digest, balancer->waits_for_certificates);
	digest_add_int(&digest, balancer->listeners.count);
	for (size_t i = 0; i < balancer->listeners.count; i++)
		add_listener(&digest, &balancer->listeners.items[i]);
	digest_add_int(&digest, balancer->groups.count);
	for (size_t i = 0; i < balancer->groups.count; i++)
		digest_add_str(&digest, balancer->groups.items[i].name);
	return digest_end_text(&digest, DIGEST_APPLIED_LEN, arena);
}
