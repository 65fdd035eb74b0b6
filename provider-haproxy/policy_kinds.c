// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policy_kinds.h"

#include <string.h>

static bool is_usual_limit(const struct rate_limits *limits)
{
	bool is_usual_status =
		limits->status == 0 || limits->status == 429 || limits->status == 503;
	return is_usual_status && limits->exempt.count == 0;
}

/* '0': its path is something else. */
static char group_digit(const struct policy *policy)
{
	const struct piece *pieces = policy->rewrite.items;
	bool is_slash_and_group = policy->rewrite.count == 2 && pieces[0].value == REQUEST_TEXT &&
				  str_eq_c(pieces[0].text, "/") &&
				  pieces[1].value == REQUEST_GROUP &&
				  (pieces[1].group == 1 || pieces[1].group == 2);
	return is_slash_and_group ? (char)('0' + pieces[1].group) : '0';
}

/* Of the flags that say nothing of HTTPS. '0': none. */
static char kind_digit(const struct policy *policy, const char *rest)
{
	if (strcmp(rest, "") == 0)
		return '3';
	if (strcmp(rest, "a") == 0)
		return '4';
	if (strcmp(rest, "b") == 0)
		return is_usual_limit(policy->rate_limits) ? '5' : '0';
	if (strcmp(rest, "R") == 0)
		return group_digit(policy);
	if (strcmp(rest, "o") == 0 || strcmp(rest, "c") == 0 || strcmp(rest, "ok") == 0 ||
		strcmp(rest, "ck") == 0)
		return '6';
	return '0';
}

struct str policy_kinds_of(struct arena *arena, const struct policy *policy, struct str flags)
{
	enum { FLAGS_MAX = 3 };
	char rest[FLAGS_MAX + 1] = "";
	size_t len = 0;
	uint64_t status = policy->https_redirect;
	if (status != 0 && (policy->https_without_slash || (status != 308 && status != 301)))
		return STR("");
	for (size_t i = 1; i < flags.len; i++) {
		if (flags.p[i] == 's' || flags.p[i] == 'h' || flags.p[i] == 't')
			continue;
		if (len == FLAGS_MAX)
			return STR("");
		rest[len++] = flags.p[i];
	}
	char kind = kind_digit(policy, rest);
	if (kind == '0')
		return STR("");
	return arena_printf(arena, "%c%c%c", kind,
		status == 308   ? '8'
		: status == 301 ? '1'
				: '0',
		policy->hsts != NULL ? '1' : '0');
}
