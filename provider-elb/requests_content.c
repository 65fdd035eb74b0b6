// SPDX-License-Identifier: Apache-2.0
/* Requests for listeners, their certificates and their rules. */
#include "provider-elb/compare.h"
#include "provider-elb/requests_parts.h"

#include "common/must.h"

/* Room for one more rule in a call that moves very many: what no longer fits is moved by the next plan. */
enum { PRIORITY_LEN_MAX = 4 * ANSWERS_ARN_LEN_MAX };

/* A name that is not known is a group that is gone, or the ARN of one that is not ours: AWS refuses the one by its name and knows the other. */
static struct str group_arn(const struct plan_input *input, struct str name)
{
	const struct observed_group *group = observed_find_group_name(input->observed, name);
	return group != NULL ? group->group.arn : name;
}

/* `list` is "Actions" or "DefaultActions". There is always one action. */
static void add_forward(struct params *params, const char *list, const struct elb_action *action,
	const struct plan_input *input)
{
	params_add(params, STR("forward"), "%s.member.1.Type", list);
	for (size_t i = 0; i < action->groups.count; i++) {
		const struct elb_forward *forward = &action->groups.items[i];
		params_add(params, group_arn(input, forward->group),
			"%s.member.1.ForwardConfig.TargetGroups.member.%zu.TargetGroupArn", list,
			i + 1);
		params_add_number(params, forward->weight,
			"%s.member.1.ForwardConfig.TargetGroups.member.%zu.Weight", list, i + 1);
	}
}

static void add_fixed_response(
	struct params *params, const char *list, const struct elb_action *action)
{
	params_add(params, STR("fixed-response"), "%s.member.1.Type", list);
	params_add_number(
		params, action->status, "%s.member.1.FixedResponseConfig.StatusCode", list);
	params_add(params, STR("text/plain"), "%s.member.1.FixedResponseConfig.ContentType", list);
	if (!str_is_empty(action->body))
		params_add(
			params, action->body, "%s.member.1.FixedResponseConfig.MessageBody", list);
}

static void add_redirect(struct params *params, const char *list, const struct elb_action *action)
{
	params_add(params, STR("redirect"), "%s.member.1.Type", list);
	params_add(params, STR("HTTPS"), "%s.member.1.RedirectConfig.Protocol", list);
	params_add_number(params, action->port, "%s.member.1.RedirectConfig.Port", list);
	params_add(params, STR("HTTP_301"), "%s.member.1.RedirectConfig.StatusCode", list);
}

static void add_action(struct params *params, const char *list, const struct elb_action *action,
	const struct plan_input *input)
{
	must(action->type != ELB_ACTION_OTHER);
	if (action->type == ELB_FORWARD)
		add_forward(params, list, action, input);
	else if (action->type == ELB_FIXED_RESPONSE)
		add_fixed_response(params, list, action);
	else
		add_redirect(params, list, action);
}

static void add_conditions(struct params *params, const struct elb_rule *rule)
{
	for (size_t i = 0; i < rule->conditions.count; i++) {
		const struct elb_condition *condition = &rule->conditions.items[i];
		bool is_host = condition->field == ELB_FIELD_HOST;
		must(condition->field != ELB_FIELD_OTHER);
		params_add(params, is_host ? STR("host-header") : STR("path-pattern"),
			"Conditions.member.%zu.Field", i + 1);
		for (size_t k = 0; k < condition->values.count; k++)
			params_add(params, condition->values.items[k],
				"Conditions.member.%zu.%s.%s.member.%zu", i + 1,
				is_host ? "HostHeaderConfig" : "PathPatternConfig",
				condition->is_regex ? "RegexValues" : "Values", k + 1);
	}
}

static const char *protocol_text(enum elb_protocol protocol)
{
	static const char *const texts[] = {
		[ELB_HTTP] = "HTTP", [ELB_HTTPS] = "HTTPS", [ELB_TCP] = "TCP"};
	must(protocol != ELB_OTHER);
	return texts[protocol];
}

static void add_tls(struct params *params, const struct elb_listener *listener)
{
	if (listener->protocol != ELB_HTTPS)
		return;
	params_add(params, listener->ssl_policy, "SslPolicy");
	params_add(params, listener->default_certificate, "Certificates.member.1.CertificateArn");
}

static void create_listener(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	const struct elb_listener *listener = plan->wanted_listener;
	params_add(params, str_from(plan->balancer->arn), "LoadBalancerArn");
	params_add(params, str_from(protocol_text(listener->protocol)), "Protocol");
	params_add_number(params, listener->port, "Port");
	add_tls(params, listener);
	add_action(params, "DefaultActions",
		plan->action != NULL ? plan->action : &listener->default_action, input);
	requests_add_tags(params, input, plan, listener->identity, arena);
}

static void modify_listener(
	struct params *params, const struct plan_input *input, const struct plan *plan)
{
	const struct elb_listener *listener = plan->wanted_listener;
	params_add(params, plan->listener->arn, "ListenerArn");
	if (listener->port != plan->listener->port)
		params_add_number(params, listener->port, "Port");
	params_add(params, str_from(protocol_text(listener->protocol)), "Protocol");
	add_tls(params, listener);
	add_action(params, "DefaultActions",
		plan->action != NULL ? plan->action : &listener->default_action, input);
}

static void create_rule(struct params *params, const struct plan_input *input,
	const struct plan *plan, struct arena *arena)
{
	const struct elb_rule *rule = plan->wanted_rule;
	params_add(params, plan->listener->arn, "ListenerArn");
	params_add_number(params, plan->priority, "Priority");
	add_conditions(params, rule);
	add_action(params, "Actions", plan->action != NULL ? plan->action : &rule->action, input);
	requests_add_tags(params, input, plan, rule->identity, arena);
}

static void modify_rule(
	struct params *params, const struct plan_input *input, const struct plan *plan)
{
	const struct elb_rule *rule = plan->wanted_rule;
	params_add(params, plan->rule->arn, "RuleArn");
	/* What is not given stays. */
	if (compare_conditions(rule, plan->rule) != 0)
		add_conditions(params, rule);
	add_action(params, "Actions", plan->action != NULL ? plan->action : &rule->action, input);
	/* Somebody may have added one by hand. */
	if (plan->rule->action.type == ELB_ACTION_OTHER)
		params_add(params, STR("true"), "ResetTransforms");
}

static void set_priorities(struct params *params, const struct plan *plan)
{
	for (size_t i = 0; i < plan->priority_count; i++) {
		if (buf_len(&params->body) > PARAMS_LEN_MAX - PRIORITY_LEN_MAX)
			return;
		params_add(params, plan->priorities[i].rule, "RulePriorities.member.%zu.RuleArn",
			i + 1);
		params_add_number(params, plan->priorities[i].priority,
			"RulePriorities.member.%zu.Priority", i + 1);
	}
}

static void change_certificate(struct params *params, const struct plan *plan)
{
	params_add(params, plan->listener->arn, "ListenerArn");
	params_add(params, plan->certificate, "Certificates.member.1.CertificateArn");
}

static const char *action_of(enum plan_step step)
{
	switch (step) {
	case PLAN_CREATE_LISTENER:
		return "CreateListener";
	case PLAN_MODIFY_LISTENER:
		return "ModifyListener";
	case PLAN_DELETE_LISTENER:
		return "DeleteListener";
	case PLAN_ADD_CERTIFICATE:
		return "AddListenerCertificates";
	case PLAN_REMOVE_CERTIFICATE:
		return "RemoveListenerCertificates";
	case PLAN_SET_PRIORITIES:
		return "SetRulePriorities";
	case PLAN_MODIFY_RULE:
		return "ModifyRule";
	case PLAN_CREATE_RULE:
		return "CreateRule";
	case PLAN_DELETE_RULE:
		return "DeleteRule";
	default:
		return NULL;
	}
}

bool requests_content_step(const struct plan_input *input, const struct plan *plan,
	struct arena *arena, struct request *ret_request)
{
	const char *action = action_of(plan->step);
	struct params params;
	if (action == NULL)
		return false;
	params_begin(&params, AWS_ELB, action);
	if (plan->step == PLAN_CREATE_LISTENER)
		create_listener(&params, input, plan, arena);
	else if (plan->step == PLAN_MODIFY_LISTENER)
		modify_listener(&params, input, plan);
	else if (plan->step == PLAN_DELETE_LISTENER)
		params_add(&params, plan->listener->arn, "ListenerArn");
	else if (plan->step == PLAN_SET_PRIORITIES)
		set_priorities(&params, plan);
	else if (plan->step == PLAN_MODIFY_RULE)
		modify_rule(&params, input, plan);
	else if (plan->step == PLAN_CREATE_RULE)
		create_rule(&params, input, plan, arena);
	else if (plan->step == PLAN_DELETE_RULE)
		params_add(&params, plan->rule->arn, "RuleArn");
	else
		change_certificate(&params, plan);
	requests_end(&params, AWS_ELB, action, true, arena, ret_request);
	return true;
}
