// SPDX-License-Identifier: Apache-2.0
#include "provider-proxy/policy_checks.h"

#include "common/ascii.h"
#include "provider-proxy/checks.h"

#include <stdio.h>
#include <string.h>

enum { TIMEOUT_MS_MAX = 24 * 3600 * 1000 };

bool check_token(struct str name)
{
	if (name.len == 0 || name.len > CHECK_HEADER_NAME_LEN_MAX)
		return false;
	return ascii_is_made_of(name, "!#$%&'*+-.^_`|~");
}

bool check_text(struct str text)
{
	bool has_ends = text.len != 0 && (text.p[0] == ' ' || text.p[text.len - 1] == ' ');
	return !has_ends && ascii_is_printable(text);
}

/* As written by somebody else, but for what could end a line. */
static bool has_control(struct str text)
{
	for (size_t i = 0; i < text.len; i++) {
		if ((uint8_t)text.p[i] < 0x20 || text.p[i] == 0x7f)
			return true;
	}
	return false;
}

bool check_origin(struct str origin)
{
	static const struct str separator = {"://", 3};
	if (str_eq_c(origin, "null"))
		return true;
	const char *at = origin.len > 3 ? memmem(origin.p, origin.len, "://", separator.len) : NULL;
	if (at == NULL || !check_token((struct str){origin.p, (size_t)(at - origin.p)}))
		return false;
	struct str host = str_skip(origin, (size_t)(at - origin.p) + separator.len);
	bool is_v6 = host.len > 0 && host.p[0] == '[';
	const char *end = is_v6 ? str_find(host, ']') : NULL;
	struct str rest = is_v6 && end != NULL ? str_skip(host, (size_t)(end - host.p) + 1) : host;
	const char *colon = str_find(rest, ':');
	int64_t port;
	if (colon != NULL) {
		if (!str_to_int(str_skip(rest, (size_t)(colon - rest.p) + 1), 1, 65535, &port))
			return false;
		host.len = (size_t)(colon - host.p);
	}
	struct check_ip ip;
	if (is_v6)
		return end == host.p + host.len - 1 && end - host.p > 1 &&
		       check_ip((struct str){host.p + 1, host.len - 2}, &ip);
	return check_host(host) || check_wildcard(host);
}

bool check_changeable_header(struct str name)
{
	static const char *const refused[] = {"connection", "content-length", "http2-settings",
		"keep-alive", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"};
	if (!check_token(name))
		return false;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		if (ascii_eq_nocase(name, str_from(refused[i])))
			return false;
	}
	return true;
}

static bool check_piece(const struct piece *piece)
{
	switch (piece->value) {
	case REQUEST_TEXT:
		return ascii_is_printable(piece->text);
	case REQUEST_GROUP:
		return piece->group <= 9;
	case REQUEST_HEADER:
	case REQUEST_COOKIE:
		return check_token(piece->text);
	case REQUEST_ARGUMENT:
		return piece->text.len != 0 && !has_control(piece->text);
	default:
		return true;
	}
}

bool check_pieces(const struct piece *pieces, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!check_piece(&pieces[i]))
			return false;
	}
	return true;
}

static bool is_redirect_status(uint64_t status)
{
	return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* ---- rules ---- */

static bool check_condition(const struct condition *condition)
{
	struct str name = condition->name;
	bool is_named = condition->subject != CONDITION_METHOD;
	bool is_good = !is_named ||
		       (condition->subject == CONDITION_QUERY ? name.len != 0 && !has_control(name)
							      : check_token(name));
	bool is_regex = condition->match == CONDITION_REGEX;
	return is_good && !has_control(condition->value) &&
	       (!is_regex || condition->value.len <= CHECK_REGEX_LEN_MAX);
}

const char *rule_problem(const struct path_rule *rule)
{
	for (size_t i = 0; i < rule->conditions.count; i++) {
		if (!check_condition(&rule->conditions.items[i]))
			return "a condition cannot be checked";
	}
	if (rule->regex.len > CHECK_REGEX_LEN_MAX || has_control(rule->regex))
		return "its regular expression cannot be used";
	const struct redirect *redirect = rule->redirect;
	if (redirect != NULL &&
		(!is_redirect_status(redirect->status) || redirect->location.count == 0 ||
			!check_pieces(redirect->location.items, redirect->location.count)))
		return "its redirect cannot be used";
	if (rule->answer != NULL && (rule->answer->status < 200 || rule->answer->status > 599))
		return "its answer has a status that cannot be sent";
	return NULL;
}

/* ---- policies ---- */

struct settling {
	struct arena *arena;
	struct str problem;
	bool is_closed;
};

static void leave_out(struct settling *settling, const char *what)
{
	if (settling->problem.p == NULL)
		settling->problem =
			arena_printf(settling->arena, "%s cannot be used, and is left out", what);
}

static void close_by(struct settling *settling, const char *what)
{
	settling->problem = arena_printf(
		settling->arena, "%s cannot be used: its requests are answered with 503", what);
	settling->is_closed = true;
}

static bool are_networks(const struct str *items, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct check_cidr cidr;
		if (!check_cidr(items[i], &cidr))
			return false;
	}
	return true;
}

static bool are_limits(const struct rate_limits *limits)
{
	for (size_t i = 0; i < limits->requests.count; i++) {
		const struct rate_limit *limit = &limits->requests.items[i];
		if (limit->requests == 0 || limit->interval_s == 0 || limit->interval_s > 3600)
			return false;
	}
	return limits->status == 0 || (limits->status >= 400 && limits->status <= 599);
}

static bool check_realm(struct str realm)
{
	for (size_t i = 0; i < realm.len; i++) {
		char c = realm.p[i];
		if (c < 0x20 || c > 0x7e || c == '"' || c == '\\')
			return false;
	}
	return realm.len <= 256;
}

static void settle_guards(struct settling *settling, const struct policy *policy)
{
	const struct source_access *access = policy->source_access;
	const struct rate_limits *limits = policy->rate_limits;
	if (access != NULL && (!are_networks(access->allow.items, access->allow.count) ||
				      !are_networks(access->deny.items, access->deny.count)))
		close_by(settling, "a network that is let in or refused");
	if (limits != NULL &&
		(!are_limits(limits) || !are_networks(limits->exempt.items, limits->exempt.count)))
		close_by(settling, "a rate limit");
	if (policy->basic_auth != NULL && (!check_realm(policy->basic_auth->realm) ||
						  str_is_empty(policy->basic_auth->users)))
		close_by(settling, "the realm of the passwords");
}

static void settle_cors(struct settling *settling, struct policy *policy)
{
	struct cors *cors = policy->cors;
	if (cors == NULL)
		return;
	bool are_texts = check_text(cors->methods) && check_text(cors->headers) &&
			 check_text(cors->expose_headers);
	struct cors *copy = arena_calloc(settling->arena, 1, sizeof(*copy));
	*copy = *cors;
	copy->origins.items =
		arena_calloc(settling->arena, cors->origins.count + 1, sizeof(struct str));
	copy->origins.count = 0;
	for (size_t i = 0; i < cors->origins.count; i++) {
		if (check_origin(cors->origins.items[i]))
			copy->origins.items[copy->origins.count++] = cors->origins.items[i];
		else
			leave_out(settling, "an allowed origin");
	}
	policy->cors = are_texts ? copy : NULL;
	if (!are_texts)
		leave_out(settling, "a value of CORS");
}

static size_t keep_changes(struct settling *settling, const struct header_change *items,
	size_t count, struct header_change **ret_items)
{
	struct header_change *kept = arena_calloc(settling->arena, count + 1, sizeof(*kept));
	size_t kept_count = 0;
	for (size_t i = 0; i < count; i++) {
		if (check_changeable_header(items[i].name) &&
			check_pieces(items[i].value.items, items[i].value.count))
			kept[kept_count++] = items[i];
		else
			leave_out(settling, "a change of a header");
	}
	*ret_items = kept;
	return kept_count;
}

static uint64_t cut_ms(uint64_t value)
{
	return value < TIMEOUT_MS_MAX ? value : TIMEOUT_MS_MAX;
}

static void settle_times(struct settling *settling, struct policy *policy)
{
	if (policy->timeouts == NULL)
		return;
	struct timeouts *copy = arena_calloc(settling->arena, 1, sizeof(*copy));
	copy->connect_ms = cut_ms(policy->timeouts->connect_ms);
	copy->send_ms = cut_ms(policy->timeouts->send_ms);
	copy->read_ms = cut_ms(policy->timeouts->read_ms);
	policy->timeouts = copy;
}

bool policy_settle(struct policy *policy, struct arena *arena, struct str *ret_problem)
{
	struct settling settling = {.arena = arena};
	if (policy->https_redirect != 0 && !is_redirect_status(policy->https_redirect)) {
		policy->https_redirect = 308;
		leave_out(&settling, "the status of the redirect to HTTPS");
	}
	if (policy->https_port > 65535)
		policy->https_port = 0;
	settle_cors(&settling, policy);
	if (!check_pieces(policy->rewrite.items, policy->rewrite.count)) {
		policy->rewrite.count = 0;
		leave_out(&settling, "the rewriting of the path");
	}
	policy->request_headers.count = keep_changes(&settling, policy->request_headers.items,
		policy->request_headers.count, &policy->request_headers.items);
	policy->response_headers.count = keep_changes(&settling, policy->response_headers.items,
		policy->response_headers.count, &policy->response_headers.items);
	settle_times(&settling, policy);
	settle_guards(&settling, policy);
	*ret_problem = settling.problem;
	return !settling.is_closed;
}
