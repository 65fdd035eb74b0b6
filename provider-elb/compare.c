// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/compare.h"

static bool forwards_eq(const struct elb_action *a, const struct elb_action *b)
{
	if (a->groups.count != b->groups.count)
		return false;
	for (size_t i = 0; i < a->groups.count; i++) {
		const struct elb_forward *left = &a->groups.items[i], *right = &b->groups.items[i];
		if (!str_eq(left->group, right->group))
			return false;
		if (a->groups.count > 1 && left->weight != right->weight)
			return false;
	}
	return true;
}

bool compare_action(const struct elb_action *a, const struct elb_action *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case ELB_FORWARD:
		return forwards_eq(a, b);
	case ELB_FIXED_RESPONSE:
		return a->status == b->status && str_eq(a->body, b->body);
	case ELB_REDIRECT_HTTPS:
		return a->port == b->port;
	case ELB_ACTION_OTHER:
		break;
	}
	return false;
}

bool compare_health_check(const struct elb_health_check *a, const struct elb_health_check *b)
{
	return str_eq(a->protocol, b->protocol) && str_eq(a->path, b->path) &&
	       str_eq(a->port, b->port) && str_eq(a->matcher, b->matcher) &&
	       (str_is_empty(a->matcher) || a->is_grpc == b->is_grpc) &&
	       a->interval_s == b->interval_s && a->timeout_s == b->timeout_s &&
	       a->healthy == b->healthy && a->unhealthy == b->unhealthy;
}

bool compare_attributes(const struct elb_group *wanted, const struct elb_group *known)
{
	size_t at = 0;
	for (size_t i = 0; i < wanted->attributes.count; i++) {
		const struct elb_attribute *attribute = &wanted->attributes.items[i];
		while (at < known->attributes.count &&
			str_cmp(known->attributes.items[at].key, attribute->key) < 0)
			at++;
		if (at == known->attributes.count ||
			!str_eq(known->attributes.items[at].key, attribute->key) ||
			!str_eq(known->attributes.items[at].value, attribute->value))
			return false;
	}
	return true;
}

bool compare_listener_settings(const struct elb_listener *a, const struct elb_listener *b)
{
	if (a->protocol != b->protocol)
		return false;
	return a->protocol != ELB_HTTPS ||
	       (str_eq(a->ssl_policy, b->ssl_policy) &&
		       str_eq(a->default_certificate, b->default_certificate));
}

/* ---- conditions ---- */

static int number_cmp(size_t a, size_t b)
{
	return (a > b) - (a < b);
}

/* The least value that is greater than `after`, or the least of all when `after` is absent; absent: there is none. Lists are of five values at most, so that this is
 * better than sorting them. */
static struct str next_value(const struct str_list *values, struct str after)
{
	struct str next = STR_NONE;
	for (size_t i = 0; i < values->count; i++) {
		struct str value = values->items[i];
		if ((after.p == NULL || str_cmp(value, after) > 0) &&
			(next.p == NULL || str_cmp(value, next) < 0))
			next = value;
	}
	return next;
}

static int values_cmp(const struct str_list *a, const struct str_list *b)
{
	struct str left = STR_NONE, right = STR_NONE;
	int order = number_cmp(a->count, b->count);
	if (order != 0 || str_list_eq(a, b))
		return order;
	do {
		left = next_value(a, left);
		right = next_value(b, right);
		order = str_cmp(left, right);
	} while (order == 0 && left.p != NULL && right.p != NULL);
	return order;
}

static int condition_cmp(const struct elb_condition *a, const struct elb_condition *b)
{
	int order = number_cmp(a->field, b->field);
	if (order == 0)
		order = number_cmp(a->is_regex, b->is_regex);
	return order != 0 ? order : values_cmp(&a->values, &b->values);
}

/* As next_value(). Two conditions of a rule that are equal count once. */
static const struct elb_condition *next_condition(
	const struct elb_rule *rule, const struct elb_condition *after)
{
	const struct elb_condition *next = NULL;
	for (size_t i = 0; i < rule->conditions.count; i++) {
		const struct elb_condition *condition = &rule->conditions.items[i];
		if ((after == NULL || condition_cmp(condition, after) > 0) &&
			(next == NULL || condition_cmp(condition, next) < 0))
			next = condition;
	}
	return next;
}

int compare_conditions(const struct elb_rule *a, const struct elb_rule *b)
{
	const struct elb_condition *left = NULL, *right = NULL;
	int order = number_cmp(a->conditions.count, b->conditions.count);
	while (order == 0) {
		left = next_condition(a, left);
		right = next_condition(b, right);
		if (left == NULL || right == NULL)
			return (left != NULL) - (right != NULL);
		order = condition_cmp(left, right);
	}
	return order;
}
