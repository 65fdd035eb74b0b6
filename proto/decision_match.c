// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_parts.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* ---- regular expressions ---- */

static pcre2_match_context *limits_new(void)
{
	pcre2_match_context *limits = pcre2_match_context_create(NULL);
	if (limits != NULL)
		pcre2_set_match_limit(limits, DECISION_MATCH_LIMIT);
	return limits;
}

static void take_groups(struct str text, const PCRE2_SIZE *ends, int count, struct str *ret_groups)
{
	for (int i = 0; i < count && i < REGEX_GROUPS_MAX; i++) {
		if (ends[2 * i] != PCRE2_UNSET)
			ret_groups[i] =
				(struct str){text.p + ends[2 * i], ends[2 * i + 1] - ends[2 * i]};
	}
}

/* `ret_groups`: NULL, or REGEX_GROUPS_MAX of them. One that does not compile, which the translator lets nobody have, matches nothing. */
static enum match_outcome search(struct str pattern, struct str text, struct str *ret_groups)
{
	static const char nothing[1];
	int error = 0;
	PCRE2_SIZE offset = 0;
	enum match_outcome outcome = MATCH_NO;
	if (text.p == NULL)
		text = (struct str){nothing, 0};
	pcre2_code *code =
		pcre2_compile((PCRE2_SPTR)pattern.p, pattern.len, 0, &error, &offset, NULL);
	if (code == NULL)
		return MATCH_NO;
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(code, NULL);
	pcre2_match_context *limits = limits_new();
	if (data != NULL && limits != NULL) {
		int count = pcre2_match(code, (PCRE2_SPTR)text.p, text.len, 0, 0, data, limits);
		outcome = count > 0                      ? MATCH_YES
			  : count == PCRE2_ERROR_NOMATCH ? MATCH_NO
							 : MATCH_LIMIT;
		if (count > 0 && ret_groups != NULL)
			take_groups(text, pcre2_get_ovector_pointer(data), count, ret_groups);
	}
	pcre2_match_context_free(limits);
	pcre2_match_data_free(data);
	pcre2_code_free(code);
	return outcome;
}

/* ---- conditions ---- */

static bool find_subject(
	const struct request_parts *parts, const struct condition *condition, struct str *ret_value)
{
	switch (condition->subject) {
	case CONDITION_METHOD:
		*ret_value = parts->request->method;
		return true;
	case CONDITION_HEADER:
		return request_header(parts, condition->name, ret_value);
	case CONDITION_COOKIE:
		return request_cookie(parts, condition->name, ret_value);
	case CONDITION_QUERY:
		if (!request_argument(parts, condition->name, ret_value))
			return false;
		*ret_value = request_decode_argument(*ret_value, parts->arena);
		return true;
	}
	return false;
}

static enum match_outcome holds(
	const struct request_parts *parts, const struct condition *condition)
{
	struct str value = STR_NONE;
	if (!find_subject(parts, condition, &value))
		return MATCH_NO;
	if (condition->match == CONDITION_REGEX)
		return search(condition->value, value, NULL);
	return condition->match == CONDITION_PRESENT || str_eq(value, condition->value) ? MATCH_YES
											: MATCH_NO;
}

static enum match_outcome all_hold(const struct request_parts *parts, const struct path_rule *rule)
{
	enum match_outcome outcome = MATCH_YES;
	for (size_t i = 0; i < rule->conditions.count && outcome == MATCH_YES; i++)
		outcome = holds(parts, &rule->conditions.items[i]);
	return outcome;
}

/* ---- rules ---- */

static bool has_path(struct request_parts *parts, const struct path_rule *rule)
{
	struct str stem = rule->path;
	struct str path = parts->matched;
	if (rule->match == PATH_EXACT)
		return str_eq(path, stem);
	if (str_ends_with(stem, STR("/")))
		stem.len--;
	if (!str_starts_with(path, stem) || (path.len != stem.len && path.p[stem.len] != '/'))
		return false;
	parts->rest = rule->match == PATH_PREFIX ? str_skip(path, stem.len) : STR_NONE;
	return true;
}

static enum match_outcome takes(struct request_parts *parts, const struct path_rule *rule)
{
	enum match_outcome outcome = MATCH_NO;
	parts->rest = STR_NONE;
	for (size_t i = 0; i < REGEX_GROUPS_MAX; i++)
		parts->groups[i] = STR_NONE;
	if (rule->tls_only && !parts->request->is_tls)
		return MATCH_NO;
	if (rule->regex.len != 0)
		outcome = search(rule->regex, parts->matched, parts->groups);
	else
		outcome = has_path(parts, rule) ? MATCH_YES : MATCH_NO;
	return outcome == MATCH_YES ? all_hold(parts, rule) : outcome;
}

enum match_outcome match_rules(struct request_parts *parts, const struct virtual_host *host,
	const struct path_rule **ret_rule)
{
	for (size_t i = 0; i < host->rules.count; i++) {
		enum match_outcome outcome = takes(parts, &host->rules.items[i]);
		if (outcome == MATCH_NO)
			continue;
		*ret_rule = &host->rules.items[i];
		return outcome;
	}
	return MATCH_NO;
}
