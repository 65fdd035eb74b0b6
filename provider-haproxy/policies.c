// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policies.h"

#include "provider-haproxy/certs.h"
#include "provider-haproxy/clients.h"
#include "provider-haproxy/policies_text.h"
#include "provider-haproxy/policy_kinds.h"
#include "provider-haproxy/policy_lists.h"
#include "provider-haproxy/policy_others.h"
#include "provider-haproxy/policy_rates.h"
#include "provider-haproxy/users.h"

#include <inttypes.h>
#include <stdio.h>

/* HAProxy keeps 3072 bytes (tune.maxrewrite) free for what it adds to an answer; the rest is for names, and for what it counts for each header. */
enum { ANSWER_TEXT_LEN_MAX = 2560 };
enum { CONNECT_TIMEOUT_MS = 5000 /* of every backend: defaults.cfg.tmpl */ };

/* Of a policy's row, from 1. */
enum { FIELD_LISTS = 6, FIELD_USERS = 23 };

/* ---- what a policy is ---- */

static size_t cors_len(const struct cors *cors)
{
	return cors->methods.len + cors->headers.len + cors->expose_headers.len;
}

static bool has_room(const struct cors *cors)
{
	return cors_len(cors) <= ANSWER_TEXT_LEN_MAX;
}

static struct str hsts_text(struct arena *arena, const struct hsts *hsts)
{
	if (hsts == NULL)
		return STR("");
	return policies_encode(
		arena, arena_printf(arena, "max-age=%" PRIu64 "%s%s", hsts->max_age_s,
			       hsts->subdomains ? "; includeSubDomains" : "",
			       hsts->preload ? "; preload" : ""));
}

static struct str cors_text(struct arena *arena, const struct cors *cors)
{
	if (cors == NULL)
		return STR("|||");
	struct str methods = policies_encode(arena, cors->methods);
	struct str headers = policies_encode(arena, cors->headers);
	struct str exposed = policies_encode(arena, cors->expose_headers);
	struct str age =
		cors->max_age_s != 0 ? arena_printf(arena, "%" PRIu64, cors->max_age_s) : STR("");
	return arena_printf(arena, "%.*s|%.*s|%.*s|%.*s", STR_FMT(methods), STR_FMT(headers),
		STR_FMT(exposed), STR_FMT(age));
}

/* 0: as usual. HAProxy has one time for both directions of a connection to an endpoint. */
static uint64_t server_timeout_ms(const struct timeouts *timeouts)
{
	enum { DEFAULT_MS = 60000 };
	if (timeouts == NULL)
		return 0;
	if (timeouts->read_ms != 0)
		return timeouts->read_ms;
	return timeouts->send_ms > DEFAULT_MS ? timeouts->send_ms : 0;
}

static struct str answer_text(struct arena *arena, const struct policy *policy)
{
	struct str locations = policies_text_changes(
		arena, policy->location_changes.items, policy->location_changes.count);
	struct str domains = policies_text_changes(
		arena, policy->cookie_domains.items, policy->cookie_domains.count);
	struct str paths = policies_text_changes(
		arena, policy->cookie_paths.items, policy->cookie_paths.count);
	struct str changes = policies_changes(
		arena, policy->response_headers.items, policy->response_headers.count);
	return arena_printf(arena, "%.*s|%.*s|%.*s|%.*s", STR_FMT(locations), STR_FMT(domains),
		STR_FMT(paths), STR_FMT(changes));
}

static bool changes_names(const struct policy *policy)
{
	return policy->location_changes.count + policy->cookie_domains.count +
		       policy->cookie_paths.count !=
	       0;
}

static bool changes_request(const struct policy *policy)
{
	return policy->rewrite.count != 0 || policy->request_headers.count != 0 ||
	       policy->fallback_headers.count != 0;
}

/* Whether a path is made of it and the expression alone, and nothing else is done that needs Lua: straight.cfg.tmpl does so for less. */
static bool changes_path_alone(const struct policy *policy)
{
	for (size_t i = 0; i < policy->rewrite.count; i++) {
		enum request_value value = policy->rewrite.items[i].value;
		if (value != REQUEST_TEXT && value != REQUEST_GROUP && value != REQUEST_PATH &&
			value != REQUEST_PATH_REST)
			return false;
	}
	return policy->request_headers.count + policy->fallback_headers.count == 0 &&
	       policy->basic_auth == NULL && policy->external_auth == NULL &&
	       policy->error_pages == NULL && policy->retries == NULL && policy->mirrors.count == 0;
}

static const char *change_flag(const struct policy *policy)
{
	if (!changes_request(policy))
		return "";
	return changes_path_alone(policy) ? "R" : "q";
}

static struct str flags_of(
	struct arena *arena, const struct policy *policy, const struct cors *cors)
{
	const struct source_access *access = policy->source_access;
	const struct rate_limits *limits = policy->rate_limits;
	bool is_asked = policy->external_auth != NULL || policy->basic_auth != NULL;
	return arena_printf(arena, "-%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s%s",
		policy->https_redirect != 0 ? "s" : "", policy->https_without_slash ? "t" : "",
		policy->hsts != NULL ? "h" : "", cors != NULL && cors->any_origin ? "o" : "",
		cors != NULL && !cors->any_origin ? "c" : "",
		cors != NULL && cors->credentials ? "k" : "",
		access != NULL && access->deny.count != 0 ? "d" : "",
		access != NULL && access->allow.count != 0 ? "a" : "", policy_rates_flags(limits),
		limits != NULL && limits->concurrent != 0 ? "n" : "", change_flag(policy),
		policy->body_max_bytes != 0 ? "m" : "", changes_names(policy) ? "l" : "",
		policy->response_headers.count != 0 ? "p" : "",
		server_timeout_ms(policy->timeouts) != 0 ? "w" : "",
		!str_is_empty(policy->fallback_pool) ? "f" : "",
		policy->external_auth != NULL ? "x" : "", policy->basic_auth != NULL ? "u" : "",
		is_asked && policy->satisfy_any ? "y" : "", policy->error_pages != NULL ? "g" : "",
		policy->mirrors.count != 0 ? "j" : "",
		policy_others_name_service(policy) ? "v" : "",
		policy_others_retries(arena, policy->retries).len != 0 ? "e" : "",
		policy_others_sends_once(policy->retries) ? "z" : "");
}

/* The dash keeps a realm from being taken for a name. */
static struct str passwords_text(struct arena *arena, const struct basic_auth *auth)
{
	if (auth == NULL)
		return STR("|");
	struct name users = name_of(NAME_USERS, auth->users);
	struct str realm = policies_encode(arena, auth->realm);
	return arena_printf(arena, "%s|-%.*s", users.text, STR_FMT(realm));
}

static struct str policy_text(struct arena *arena, const struct policy *policy,
	const struct cors *cors, const struct name *lists)
{
	struct str flags = flags_of(arena, policy, cors);
	struct str kind = policy_kinds_of(arena, policy, flags);
	struct str port = policy->https_port != 0
				  ? arena_printf(arena, ":%" PRIu64, policy->https_port)
				  : STR("");
	struct str hsts = hsts_text(arena, policy->hsts);
	struct str shared = cors_text(arena, cors);
	struct str path = policies_pieces(arena, policy->rewrite.items, policy->rewrite.count);
	struct str changes = policies_changes(
		arena, policy->request_headers.items, policy->request_headers.count);
	struct str limits = policy_rates_text(arena, policy->rate_limits);
	struct str answer = answer_text(arena, policy);
	struct str fallback = policies_pool_name(arena, policy->fallback_pool);
	struct str fallback_changes = policies_changes(
		arena, policy->fallback_headers.items, policy->fallback_headers.count);
	struct str passwords = passwords_text(arena, policy->basic_auth);
	struct str pages = policy_others_pages(arena, policy->error_pages);
	struct str retries = policy_others_retries(arena, policy->retries);
	struct str mirrors = policy_others_mirrors(arena, policy);
	uint64_t timeout = server_timeout_ms(policy->timeouts);
	uint64_t body = policy->body_max_bytes < INT64_MAX ? policy->body_max_bytes : INT64_MAX;
	return arena_printf(arena,
		"%.*s%.*s|%" PRIu64 "|%" PRIu64 "|%.*s|%.*s|%s|%.*s|%.*s|%.*s|%.*s|%.*s|%" PRIu64
		"|%.*s|%.*s|%.*s|%.*s|%.*s%.*s",
		STR_FMT(kind), STR_FMT(flags), body, policy->https_redirect, STR_FMT(port),
		STR_FMT(hsts), lists->text, STR_FMT(shared), STR_FMT(path), STR_FMT(changes),
		STR_FMT(limits), STR_FMT(answer), timeout, STR_FMT(fallback),
		STR_FMT(fallback_changes), STR_FMT(passwords), STR_FMT(pages), STR_FMT(retries),
		STR_FMT(mirrors));
}

/* ---- policies ---- */

/* HAProxy takes away other names than these (http-restrict-req-hdr-names), so that nobody sends what is told apart from them by one endpoint only. */
static bool is_kept_name(struct str name)
{
	for (size_t i = 0; i < name.len; i++) {
		char c = name.p[i];
		if ((c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			c != '-')
			return false;
	}
	return true;
}

static bool are_kept_names(const struct policy *policy)
{
	for (size_t i = 0; i < policy->request_headers.count; i++) {
		if (!is_kept_name(policy->request_headers.items[i].name))
			return false;
	}
	return true;
}

/* The one that every backend has is the usual one of Ingresses of ingress-nginx, too. */
static bool has_connect_timeout(const struct timeouts *timeouts)
{
	return timeouts != NULL && timeouts->connect_ms != 0 &&
	       timeouts->connect_ms != CONNECT_TIMEOUT_MS;
}

static bool has_two_timeouts(const struct timeouts *timeouts)
{
	return timeouts != NULL && timeouts->send_ms != 0 &&
	       timeouts->send_ms != server_timeout_ms(timeouts);
}

/* Texts that are there whatever the request is; what is made of it has to fit in the rest, see policies.lua. */
static bool have_room(const struct policy *policy)
{
	const struct cors *cors = policy->cors;
	size_t len = cors != NULL && has_room(cors) ? cors_len(cors) : 0;
	for (size_t i = 0; i < policy->response_headers.count; i++) {
		const struct header_change *change = &policy->response_headers.items[i];
		len += change->name.len;
		for (size_t k = 0; k < change->value.count; k++)
			len += change->value.items[k].text.len;
	}
	return policy->response_headers.count == 0 || len <= ANSWER_TEXT_LEN_MAX;
}

static const char *missing_comfort(const struct policy *policy)
{
	return !are_kept_names(policy)
		       ? "headers of requests whose names have more than letters, digits and dashes"
	       : has_connect_timeout(policy->timeouts)
		       ? "a timeout of its own for connecting to endpoints"
	       : has_two_timeouts(policy->timeouts)
		       ? "a timeout for sending that is not the one for reading"
	       : policy->retries != NULL && !policy->retries->on_error
		       ? "without another endpoint where one cannot be connected to"
	       : !have_room(policy) ? "all headers of the answer, which have too many bytes"
				    : NULL;
}

static bool write_policy(void *ctx, const struct name *name, const struct policy *policy,
	struct row_draft *draft, struct str *ret_problem)
{
	struct arena *arena = draft->arena;
	struct policies_needs *needs = ctx;
	const struct cors *cors =
		policy->cors != NULL && has_room(policy->cors) ? policy->cors : NULL;
	struct policy_lists lists = policy_lists_of(arena, name, policy, cors);
	struct str text = policy_text(arena, policy, cors, &lists.name);
	if (text.len > POLICIES_TEXT_LEN_MAX || lists.auth.len > POLICIES_TEXT_LEN_MAX) {
		*ret_problem = STR("they are too long for HAProxy");
		return false;
	}
	const char *missing = missing_comfort(policy);
	if (missing != NULL)
		*ret_problem = arena_printf(arena, "HAProxy cannot do %s", missing);
	if (cors != policy->cors)
		*ret_problem = STR("the values of CORS are too long for HAProxy, and are left out");
	if (needs != NULL && policy_others_name_service(policy))
		needs->services = true;
	policy_lists_add(&lists, draft);
	row_draft_add(draft, ROW_RULE, name_str(name), text);
	return true;
}

/* ---- routes ---- */

/* Rows for the numbers from `at` to below `end`: what blocks of them, each as large as can be, begin with. */
static void add_draws(
	struct row_draft *draft, struct str key, uint64_t at, uint64_t end, const struct name *pool)
{
	struct arena *arena = draft->arena;
	while (at < end) {
		unsigned digits = 0;
		while (digits < 8 && at % (16ULL << 4 * digits) == 0 &&
			at + (16ULL << 4 * digits) <= end)
			digits++;
		struct str number = arena_printf(arena, "%016" PRIX64, at);
		number.len -= digits;
		row_draft_add(draft, ROW_RULE,
			arena_printf(arena, "%.*s%.*s", STR_FMT(key), STR_FMT(number)),
			arena_str(arena, name_str(pool)));
		at += 1ULL << 4 * digits;
	}
}

static struct str weights_text(struct row_draft *draft, const struct path_rule *rule,
	const struct name *route, size_t number)
{
	uint64_t sum = 0;
	struct arena *arena = draft->arena;
	struct str key = arena_printf(arena, "draw:%s:%zu:", route->text, number);
	for (size_t i = 0; i < rule->pools.count; i++) {
		struct name pool = name_of(NAME_POOL, rule->pools.items[i].pool);
		uint64_t end = sum + rule->pools.items[i].weight;
		add_draws(draft, key, sum, end, &pool);
		sum = end;
	}
	return sum != 0 ? arena_printf(arena, "%" PRIu64 "|%zu", sum, number) : STR_NONE;
}

static bool is_literal(const struct redirect *redirect)
{
	return redirect->location.count == 1 && redirect->location.items[0].value == REQUEST_TEXT;
}

static struct str redirect_text(struct arena *arena, const struct redirect *redirect)
{
	struct str location = is_literal(redirect)
				      ? policies_encode(arena, redirect->location.items[0].text)
				      : policies_pieces(arena, redirect->location.items,
						redirect->location.count);
	return arena_printf(arena, "%" PRIu64 "|%.*s", redirect->status, STR_FMT(location));
}

/* What the rule leads to. */
static struct str rule_text(struct row_draft *draft, const struct route *route, size_t index)
{
	struct arena *arena = draft->arena;
	const struct route_rule *item = &route->rules[index];
	const struct path_rule *rule = item->rule;
	bool has_rest = rule->match == PATH_PREFIX && str_is_empty(rule->regex);
	const char *name = item->policy.text[0] != 0 ? item->policy.text : "none";
	struct str policy = arena_printf(
		arena, "%s%s%.*s", name, item->client.len != 0 ? "@" : "", STR_FMT(item->client));
	struct str skip = has_rest ? arena_printf(arena, "%zu", item->path.len) : STR("");
	struct str text = STR_NONE;
	char letter = 'p';
	if (item->is_closed) {
		text = STR_NONE;
	} else if (item->pool.text[0] != 0) {
		text = arena_str(arena, name_str(&item->pool));
	} else if (rule->pools.count != 0) {
		letter = 'w';
		text = weights_text(draft, rule, &route->name, index);
	} else if (rule->redirect != NULL) {
		letter = is_literal(rule->redirect) ? 'r' : 'l';
		text = redirect_text(arena, rule->redirect);
	} else if (rule->answer != NULL) {
		struct str body = policies_encode(arena, rule->answer->text);
		letter = 'a';
		text = arena_printf(arena, "%" PRIu64 "|%.*s", rule->answer->status, STR_FMT(body));
	}
	/* Absent when nobody asks for it. */
	const char *bar = item->owner.p != NULL ? "|" : "";
	if (text.p == NULL)
		return arena_printf(
			arena, "%.*s|x%s%.*s", STR_FMT(policy), bar, STR_FMT(item->owner));
	return arena_printf(arena, "%.*s|%c|%.*s|%.*s%s%.*s", STR_FMT(policy), letter,
		STR_FMT(skip), STR_FMT(text), bar, STR_FMT(item->owner));
}

/* Whether it may not match, although its path was found. */
static bool depends(const struct route_rule *item)
{
	return item->has_to_match || item->rule->conditions.count != 0;
}

static struct str conditions_text(
	struct arena *arena, const struct route_rule *item, bool is_decoded)
{
	const struct path_rule *rule = item->rule;
	struct str rest =
		policies_conditions(arena, rule->conditions.items, rule->conditions.count);
	bool is_regex = !str_is_empty(rule->regex);
	if (!item->has_to_match)
		return rest;
	struct str path = policies_encode(arena, is_regex ? rule->regex : item->path);
	return arena_printf(arena, "%c%c;%.*s%s%.*s", is_decoded ? 'd' : 'p',
		is_regex         ? 'r'
		: item->is_exact ? 'e'
				 : 'b',
		STR_FMT(path), rest.len != 0 ? "&" : "", STR_FMT(rest));
}

static bool need_more_than_path(const struct route *route)
{
	for (size_t i = 0; i < route->count; i++) {
		if (route->rules[i].rule->conditions.count != 0)
			return true;
	}
	return route->is_decoded;
}

static struct str route_text(struct row_draft *draft, const struct route *route)
{
	struct arena *arena = draft->arena;
	if (route->count == 1 && !depends(&route->rules[0]))
		return rule_text(draft, route, 0);
	struct str text = need_more_than_path(route) ? STR("none|c") : STR("none|m");
	for (size_t i = 0; i < route->count && text.len <= POLICIES_TEXT_LEN_MAX; i++) {
		const struct route_rule *item = &route->rules[i];
		struct str conditions = conditions_text(arena, item, route->is_decoded);
		struct str way = policies_encode(arena, rule_text(draft, route, i));
		text = arena_printf(
			arena, "%.*s|%.*s|%.*s", STR_FMT(text), STR_FMT(conditions), STR_FMT(way));
	}
	return text;
}

static const char *write_route(void *ctx, const struct route *route, struct row_draft *draft)
{
	size_t count = draft->count;
	struct str text = route_text(draft, route);
	if (text.len > POLICIES_TEXT_LEN_MAX) {
		draft->count = count;
		return "what it says is too long for HAProxy";
	}
	row_draft_add(draft, ROW_RULE, arena_str(draft->arena, name_str(&route->name)), text);
	return NULL;
}

bool policies_stays(enum row_table table, struct str key)
{
	/* Names of routes, and keys of lists, which have a word and a colon. */
	return table == ROW_RULE && !name_is_one(NAME_POLICY, key) && !users_are_of(key);
}

/* The name of that letter with which a field of the policy's row begins, counted from 1; STR_NONE: there is none. */
static struct str name_in_field(struct str key, struct str value, int number, char letter)
{
	if (!name_is_one(NAME_POLICY, key))
		return STR_NONE;
	for (int field = 1; field < number; field++) {
		const char *bar = str_find(value, '|');
		if (bar == NULL)
			return STR_NONE;
		value = str_skip(value, (size_t)(bar - value.p) + 1);
	}
	value.len = value.len < NAME_LEN ? value.len : NAME_LEN;
	return name_is_one(letter, value) ? value : STR_NONE;
}

struct str policies_lists_of(struct arena *arena, struct str key, struct str value)
{
	struct str name = name_in_field(key, value, FIELD_LISTS, NAME_LISTS);
	return name.p != NULL ? policy_lists_key(arena, name) : STR_NONE;
}

struct str policies_users_of(struct arena *arena, struct str key, struct str value)
{
	struct str name = name_in_field(key, value, FIELD_USERS, NAME_USERS);
	return name.p != NULL ? users_key(arena, name) : STR_NONE;
}

bool policies_any_pool(struct str value, bool (*holds)(void *ctx, struct str pool_name), void *ctx)
{
	for (size_t i = 0; i + NAME_LEN <= value.len; i++) {
		struct str name = {value.p + i, NAME_LEN};
		/* Alone, or behind a bar, which is encoded where it is in a way of several. */
		bool is_field = i == 0 || value.p[i - 1] == '|' || value.p[i - 1] == 'C';
		if (is_field && name_is_one(NAME_POOL, name) && holds(ctx, name))
			return true;
	}
	return false;
}

/* Before the rows are there: nobody who needs a certificate is to come without having been asked for it. */
static const char *write_client(
	void *ctx, struct str key, const struct client_tls *client, struct row_draft *draft)
{
	const struct policies_needs *needs = ctx;
	const char *problem = clients_write(key, client, draft);
	if (problem == NULL && needs != NULL && needs->certs != NULL && !client->unasked)
		certs_ask(needs->certs, key, true);
	return problem;
}

const struct route_writer policies_writer = {
	.write_route = write_route,
	.write_policy = write_policy,
	.write_client = write_client,
};
