// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/view.h"

static const char *const protocols[] = {
	[ELB_HTTP] = "HTTP", [ELB_HTTPS] = "HTTPS", [ELB_TCP] = "TCP", [ELB_OTHER] = ""};

static void add_texts(struct json *object, const char *name, const struct str_list *texts)
{
	struct json *array = json_add_array(object, name);
	for (size_t i = 0; i < texts->count; i++)
		json_push_str(array, texts->items[i]);
}

static void add_tags(struct json *object, const struct view *view, struct str identity,
	struct str applied, struct arena *arena)
{
	struct json *tags = json_add_object(object, "Tags");
	json_add_str(tags, TAG_CLUSTER, naming_tag_value(arena, view->settings->cluster));
	json_add_str(tags, TAG_LB, naming_tag_value(arena, view->lb->key.id));
	json_add_str(tags, TAG_RESOURCE, identity);
	json_add_str(tags, TAG_OWNER,
		naming_tag_value(
			arena, arena_printf(arena, "%.*s/%.*s", STR_FMT(view->lb->namespace),
				       STR_FMT(view->lb->name))));
	if (applied.p != NULL)
		json_add_str(tags, TAG_APPLIED, applied);
}

/* ---- listeners ---- */

static void add_action(struct json *object, const char *name, const struct elb_action *action)
{
	struct json *shown = json_add_object(object, name);
	if (action->type == ELB_FORWARD) {
		struct json *groups = json_add_array(shown, "TargetGroups");
		for (size_t i = 0; i < action->groups.count; i++) {
			struct json *group = json_push_object(groups);
			json_add_str(group, "TargetGroup", action->groups.items[i].group);
			json_add_int(group, "Weight", (int64_t)action->groups.items[i].weight);
		}
		return;
	}
	struct json *answer = json_add_object(shown, "FixedResponseConfig");
	json_add_int(answer, "StatusCode", (int64_t)action->status);
	json_add_str(answer, "ContentType", STR("text/plain"));
	json_add_str(answer, "MessageBody", action->body);
}

static void add_conditions(struct json *object, const struct elb_rule *rule)
{
	struct json *conditions = json_add_array(object, "Conditions");
	for (size_t i = 0; i < rule->conditions.count; i++) {
		const struct elb_condition *condition = &rule->conditions.items[i];
		struct json *shown = json_push_object(conditions);
		json_add_str(shown, "Field",
			condition->field == ELB_FIELD_HOST ? STR("host-header")
							   : STR("path-pattern"));
		add_texts(
			shown, condition->is_regex ? "RegexValues" : "Values", &condition->values);
	}
}

static void add_rules(struct json *object, const struct view *view,
	const struct elb_listener *listener, struct arena *arena)
{
	struct json *rules = json_add_array(object, "Rules");
	for (size_t i = 0; i < listener->rules.count; i++) {
		const struct elb_rule *rule = &listener->rules.items[i];
		struct json *shown = json_push_object(rules);
		json_add_int(shown, "Priority", (int64_t)rule->priority);
		add_conditions(shown, rule);
		add_action(shown, "Action", &rule->action);
		add_tags(shown, view, rule->identity, STR_NONE, arena);
	}
}

static void add_listeners(struct json *object, const struct view *view,
	const struct wanted_balancer *balancer, struct arena *arena)
{
	struct json *listeners = json_add_array(object, "Listeners");
	for (size_t i = 0; i < balancer->listeners.count; i++) {
		const struct elb_listener *listener = &balancer->listeners.items[i];
		struct json *shown = json_push_object(listeners);
		json_add_int(shown, "Port", (int64_t)listener->port);
		json_add_str(shown, "Protocol", str_from(protocols[listener->protocol]));
		if (listener->protocol == ELB_HTTPS) {
			json_add_str(shown, "SslPolicy", listener->ssl_policy);
			json_add_str(shown, "DefaultCertificate", listener->default_certificate);
			add_texts(shown, "Certificates", &listener->certificates);
		}
		add_action(shown, "DefaultAction", &listener->default_action);
		add_rules(shown, view, listener, arena);
		add_tags(shown, view, listener->identity, STR_NONE, arena);
	}
}

/* ---- target groups ---- */

static void add_check(struct json *object, const struct elb_health_check *check)
{
	struct json *shown = json_add_object(object, "HealthCheck");
	json_add_str(shown, "Protocol", check->protocol);
	json_add_str(shown, "Port", check->port);
	if (check->path.p != NULL)
		json_add_str(shown, "Path", check->path);
	if (check->matcher.p != NULL)
		json_add_str(shown, check->is_grpc ? "GrpcCode" : "HttpCode", check->matcher);
	json_add_int(shown, "IntervalSeconds", (int64_t)check->interval_s);
	json_add_int(shown, "TimeoutSeconds", (int64_t)check->timeout_s);
	json_add_int(shown, "HealthyThresholdCount", (int64_t)check->healthy);
	json_add_int(shown, "UnhealthyThresholdCount", (int64_t)check->unhealthy);
}

static void add_targets(struct json *object, const struct elb_target_list *targets)
{
	struct json *shown = json_add_array(object, "Targets");
	for (size_t i = 0; i < targets->count; i++) {
		struct json *target = json_push_object(shown);
		json_add_str(target, "Id", targets->items[i].ip);
		json_add_int(target, "Port", (int64_t)targets->items[i].port);
		if (targets->items[i].is_elsewhere)
			json_add_str(target, "AvailabilityZone", STR("all"));
	}
}

static void add_group(struct json *array, const struct view *view, const struct elb_group *group,
	const struct elb_target_list *targets, struct arena *arena)
{
	struct json *shown = json_push_object(array);
	json_add_str(shown, "Name", group->name);
	json_add_str(shown, "Pool", group->pool);
	json_add_str(shown, "Protocol", group->protocol);
	if (group->version.p != NULL)
		json_add_str(shown, "ProtocolVersion", group->version);
	json_add_int(shown, "Port", (int64_t)group->port);
	json_add_str(shown, "TargetType", STR("ip"));
	json_add_str(shown, "IpAddressType", group->is_ipv6 ? STR("ipv6") : STR("ipv4"));
	add_check(shown, &group->health_check);
	struct json *attributes = json_add_object(shown, "Attributes");
	for (size_t i = 0; i < group->attributes.count; i++)
		json_add_str(attributes, group->attributes.items[i].key.p,
			group->attributes.items[i].value);
	add_targets(shown, targets);
	add_tags(shown, view, group->identity, group->applied, arena);
}

static void add_balancer(
	struct json *array, const struct view *view, size_t index, struct arena *arena)
{
	const struct wanted_balancer *balancer = &view->wanted->balancers[index];
	struct json *shown = json_push_object(array);
	json_add_str(shown, "Name", balancer->name);
	json_add_str(shown, "Type",
		balancer->type == ELB_APPLICATION ? STR("application") : STR("network"));
	json_add_str(shown, "Scheme", view->settings->scheme);
	json_add_str(shown, "IpAddressType", view->settings->ip_address_type);
	add_listeners(shown, view, balancer, arena);
	struct json *groups = json_add_array(shown, "TargetGroups");
	for (size_t i = 0; i < balancer->groups.count; i++)
		add_group(
			groups, view, &balancer->groups.items[i], &view->targets[index][i], arena);
	add_tags(shown, view, balancer->identity, balancer->digest, arena);
}

struct json *view_json(const struct view *view)
{
	struct json *document = json_new_object();
	struct arena arena;
	arena_init(&arena);
	struct json *balancers = json_add_array(document, "LoadBalancers");
	for (size_t i = 0; i < view->wanted->count; i++)
		add_balancer(balancers, view, i, &arena);
	arena_fini(&arena);
	return document;
}
