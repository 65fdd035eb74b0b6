// SPDX-License-Identifier: Apache-2.0
/* Listeners, their certificates and their rules. */
#include "provider-elb/answers.h"
#include "provider-elb/content.h"

#include <stdlib.h>

enum {
	FORWARD_GROUPS_MAX = 5,
	CONDITIONS_MAX = 16, /* of a rule: five values in all may stand in its conditions */
};

/* ---- actions ---- */

static int compare_forwards(const void *left, const void *right)
{
	return str_cmp(((const struct elb_forward *)left)->group,
		((const struct elb_forward *)right)->group);
}

static void push_forward(struct elb_action *action, struct str arn, uint64_t weight,
	const struct observed *observed, struct arena *arena)
{
	const struct observed_group *group = observed_find_group(observed, arn);
	bool is_known = group != NULL && !str_is_empty(group->group.name);
	struct elb_forward *forward = arena_push(arena, (void **)&action->groups.items,
		&action->groups.count, sizeof(struct elb_forward));
	*forward = (struct elb_forward){
		.group = arena_str(arena, is_known ? group->group.name : arn), .weight = weight};
}

/* The form with weights counts, and stands beside the short one when there is one group. */
static bool take_forward(const struct xml *xml, const struct observed *observed,
	struct arena *arena, struct elb_action *action)
{
	const struct xml *member = answers_members(xml, "ForwardConfig/TargetGroups");
	struct str only = answers_arn(xml, "TargetGroupArn");
	if (str_eq_c(xml_text(xml, "ForwardConfig/TargetGroupStickinessConfig/Enabled"), "true"))
		return false;
	if (member == NULL && only.p != NULL)
		push_forward(action, only, 1, observed, arena);
	for (; member != NULL; member = xml_next(member)) {
		struct str arn = answers_arn(member, "TargetGroupArn");
		int64_t weight = xml_number(member, "Weight");
		if (arn.p == NULL || action->groups.count == FORWARD_GROUPS_MAX)
			return false;
		push_forward(action, arn, weight >= 0 ? (uint64_t)weight : 1, observed, arena);
	}
	if (action->groups.count == 0)
		return false;
	qsort(action->groups.items, action->groups.count, sizeof(struct elb_forward),
		compare_forwards);
	return true;
}

static bool take_fixed_response(
	const struct xml *xml, struct arena *arena, struct elb_action *action)
{
	const struct xml *config = xml_child(xml, "FixedResponseConfig");
	struct str type = xml_text(config, "ContentType");
	struct str body = xml_text(config, "MessageBody");
	if (body.len > ANSWERS_TEXT_LEN_MAX ||
		(!str_is_empty(type) && !str_eq_c(type, "text/plain")))
		return false;
	action->status = answers_number(config, "StatusCode");
	action->body = content_copy_text(arena, body);
	return true;
}

/* AWS fills in what was left out. */
static bool is_default(const struct xml *config, const char *name, const char *value)
{
	struct str text = xml_text(config, name);
	return str_is_empty(text) || str_eq_c(text, value);
}

static bool take_redirect(const struct xml *xml, struct elb_action *action)
{
	const struct xml *config = xml_child(xml, "RedirectConfig");
	action->port = answers_number(config, "Port");
	return str_eq_c(xml_text(config, "Protocol"), "HTTPS") && action->port != 0 &&
	       str_eq_c(xml_text(config, "StatusCode"), "HTTP_301") &&
	       is_default(config, "Host", "#{host}") && is_default(config, "Path", "/#{path}") &&
	       is_default(config, "Query", "#{query}");
}

static bool take_known_action(const struct xml *xml, const struct observed *observed,
	struct arena *arena, struct elb_action *action)
{
	struct str type = xml_text(xml, "Type");
	if (str_eq_c(type, "forward")) {
		action->type = ELB_FORWARD;
		return take_forward(xml, observed, arena, action);
	}
	if (str_eq_c(type, "fixed-response")) {
		action->type = ELB_FIXED_RESPONSE;
		return take_fixed_response(xml, arena, action);
	}
	action->type = ELB_REDIRECT_HTTPS;
	return str_eq_c(type, "redirect") && take_redirect(xml, action);
}

void answers_take_action(const struct xml *actions, const struct observed *observed,
	struct arena *arena, struct elb_action *action)
{
	const struct xml *only = xml_child(actions, "member");
	*action = (struct elb_action){0};
	/* Ours have one: others authenticate first. */
	bool is_ours = only != NULL && xml_next(only) == NULL &&
		       take_known_action(only, observed, arena, action);
	/* The groups stay: they are in use. */
	if (!is_ours)
		action->type = ELB_ACTION_OTHER;
}

/* ---- listeners ---- */

static enum elb_protocol protocol_of(struct str text)
{
	if (str_eq_c(text, "HTTP"))
		return ELB_HTTP;
	if (str_eq_c(text, "HTTPS"))
		return ELB_HTTPS;
	return str_eq_c(text, "TCP") ? ELB_TCP : ELB_OTHER;
}

static void take_listener(const struct xml *xml, const struct observed *observed,
	struct arena *arena, struct elb_listener *listener)
{
	listener->arn = content_copy_text(arena, answers_arn(xml, "ListenerArn"));
	listener->port = answers_number(xml, "Port");
	listener->protocol = protocol_of(xml_text(xml, "Protocol"));
	answers_take_action(
		xml_child(xml, "DefaultActions"), observed, arena, &listener->default_action);
	if (listener->protocol != ELB_HTTPS)
		return;
	listener->ssl_policy = content_copy_text(arena, answers_text(xml, "SslPolicy"));
	listener->default_certificate = content_copy_text(
		arena, answers_arn(answers_members(xml, "Certificates"), "CertificateArn"));
}

struct str answers_listeners(const struct xml *xml, struct observed *observed,
	struct observed_balancer *balancer, struct arena *arena)
{
	const struct xml *result = answers_result(xml);
	const struct xml *member = answers_members(result, "Listeners");
	bool has_room = true;
	for (; member != NULL && has_room; member = xml_next(member)) {
		if (answers_arn(member, "ListenerArn").p == NULL)
			continue;
		struct elb_listener *listener = content_push_listener(balancer);
		has_room = listener != NULL;
		if (has_room)
			take_listener(member, observed, &balancer->content, listener);
	}
	content_sort_listeners(balancer);
	return has_room ? answers_marker(result, "NextMarker", arena) : STR_NONE;
}

struct str answers_certificates(const struct xml *xml, struct observed_balancer *balancer,
	struct str listener_arn, struct arena *arena)
{
	const struct xml *result = answers_result(xml);
	const struct xml *member = answers_members(result, "Certificates");
	struct elb_listener *listener = content_find_listener(balancer, listener_arn);
	if (listener == NULL)
		return STR_NONE;
	for (; member != NULL; member = xml_next(member)) {
		struct str arn = answers_arn(member, "CertificateArn");
		/* The default one is listed once more when it is among the further ones, too. */
		if (arn.p != NULL && !str_eq_c(xml_text(member, "IsDefault"), "true"))
			content_add_certificate(balancer, listener, arn);
	}
	bool has_room = listener->certificates.count < CONTENT_CERTIFICATES_MAX;
	return has_room ? answers_marker(result, "NextMarker", arena) : STR_NONE;
}

/* ---- rules ---- */

/* False: it is none of ours. */
static bool take_values(const struct xml *xml, const char *config_name, struct arena *arena,
	struct elb_condition *condition)
{
	const struct xml *config = xml_child(xml, config_name);
	const struct xml *regexes = answers_members(config, "RegexValues");
	const struct xml *values = answers_members(config, "Values");
	if (values != NULL && regexes != NULL)
		return false;
	condition->is_regex = regexes != NULL;
	if (regexes != NULL)
		values = regexes;
	/* The old form has them beside the field. */
	else if (values == NULL)
		values = answers_members(xml, "Values");
	struct str_list list = answers_list(values, "", arena);
	content_copy_list(arena, &condition->values, &list);
	return list.count != 0;
}

static void take_condition(
	const struct xml *xml, struct arena *arena, struct elb_condition *condition)
{
	struct str field = xml_text(xml, "Field");
	bool is_host = str_eq_c(field, "host-header");
	const char *config = is_host ? "HostHeaderConfig" : "PathPatternConfig";
	bool is_ours = (is_host || str_eq_c(field, "path-pattern")) &&
		       take_values(xml, config, arena, condition);
	condition->field = is_host ? ELB_FIELD_HOST : ELB_FIELD_PATH;
	if (!is_ours)
		*condition = (struct elb_condition){.field = ELB_FIELD_OTHER};
	for (size_t i = 0; is_host && !condition->is_regex && i < condition->values.count; i++)
		condition->values.items[i] = answers_lower(condition->values.items[i], arena);
}

static int compare_conditions(const void *left, const void *right)
{
	enum elb_field a = ((const struct elb_condition *)left)->field;
	enum elb_field b = ((const struct elb_condition *)right)->field;
	return (a > b) - (a < b);
}

static void take_conditions(const struct xml *xml, struct arena *arena, struct elb_rule *rule)
{
	const struct xml *member = answers_members(xml, "Conditions");
	for (; member != NULL && rule->conditions.count < CONDITIONS_MAX; member = xml_next(member))
		take_condition(member, arena,
			arena_push(arena, (void **)&rule->conditions.items, &rule->conditions.count,
				sizeof(struct elb_condition)));
	if (rule->conditions.count != 0)
		qsort(rule->conditions.items, rule->conditions.count, sizeof(struct elb_condition),
			compare_conditions);
}

static void take_rule(const struct xml *xml, const struct observed *observed, struct arena *arena,
	struct elb_rule *rule)
{
	rule->arn = content_copy_text(arena, answers_arn(xml, "RuleArn"));
	rule->priority = answers_number(xml, "Priority");
	take_conditions(xml, arena, rule);
	answers_take_action(xml_child(xml, "Actions"), observed, arena, &rule->action);
	/* Nothing of ours rewrites a request. */
	if (answers_members(xml, "Transforms") != NULL)
		rule->action.type = ELB_ACTION_OTHER;
}

struct str answers_rules(const struct xml *xml, struct observed *observed,
	struct observed_balancer *balancer, struct str listener_arn, struct arena *arena)
{
	const struct xml *result = answers_result(xml);
	const struct xml *member = answers_members(result, "Rules");
	struct elb_listener *listener = content_find_listener(balancer, listener_arn);
	bool has_room = listener != NULL;
	for (; member != NULL && has_room; member = xml_next(member)) {
		/* The default one ("default") is told as the listener's default action. */
		bool is_rule = answers_number(member, "Priority") != 0 &&
			       answers_arn(member, "RuleArn").p != NULL;
		if (!is_rule)
			continue;
		struct elb_rule *rule = content_push_rule(balancer, listener);
		has_room = rule != NULL;
		if (has_room)
			take_rule(member, observed, &balancer->content, rule);
	}
	if (listener != NULL)
		content_sort_rules(listener);
	return has_room ? answers_marker(result, "NextMarker", arena) : STR_NONE;
}
