// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/policies.h"

#include "common/must.h"
#include "provider-haproxy/policies_text.h"
#include "provider-proxy/checks.h"

#include <inttypes.h>
#include <stdio.h>

/* HAProxy keeps 1024 bytes (tune.maxrewrite) free for what it adds to an answer; the rest is for names, and for what it counts for each header. */
enum { ANSWER_TEXT_LEN_MAX = 640 };

/* ---- what a policy is ---- */

static bool has_room(const struct cors *cors)
{
	return cors->methods.len + cors->headers.len + cors->expose_headers.len <=
	       ANSWER_TEXT_LEN_MAX;
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

static struct str limits_text(struct arena *arena, const struct rate_limits *limits)
{
	struct str text = STR("");
	if (limits == NULL)
		return STR("||");
	for (size_t i = 0; i < limits->requests.count; i++) {
		const struct rate_limit *limit = &limits->requests.items[i];
		text = arena_printf(arena, "%.*s%s%" PRIu64 ";%" PRIu64 ";%" PRIu64, STR_FMT(text),
			i != 0 ? "&" : "", limit->requests, limit->interval_s, limit->burst);
	}
	return arena_printf(arena, "%.*s|%" PRIu64 "|%" PRIu64, STR_FMT(text), limits->concurrent,
		limits->status != 0 ? limits->status : 429);
}

static bool changes_request(const struct policy *policy)
{
	return policy->rewrite.count != 0 || policy->request_headers.count != 0;
}

static struct str flags_of(
	struct arena *arena, const struct policy *policy, const struct cors *cors)
{
	const struct source_access *access = policy->source_access;
	const struct rate_limits *limits = policy->rate_limits;
	return arena_printf(arena, "-%s%s%s%s%s%s%s%s%s%s%s%s",
		policy->https_redirect != 0 ? "s" : "", policy->https_without_slash ? "t" : "",
		policy->hsts != NULL ? "h" : "", cors != NULL && cors->any_origin ? "o" : "",
		cors != NULL && !cors->any_origin ? "c" : "",
		cors != NULL && cors->credentials ? "k" : "",
		access != NULL && access->deny.count != 0 ? "d" : "",
		access != NULL && access->allow.count != 0 ? "a" : "",
		limits != NULL && limits->requests.count != 0 ? "r" : "",
		limits != NULL && limits->concurrent != 0 ? "n" : "",
		changes_request(policy) ? "q" : "", policy->body_max_bytes != 0 ? "m" : "");
}

static struct str policy_text(
	struct arena *arena, const struct policy *policy, const struct cors *cors)
{
	struct str flags = flags_of(arena, policy, cors);
	struct str port = policy->https_port != 0
				  ? arena_printf(arena, ":%" PRIu64, policy->https_port)
				  : STR("");
	struct str hsts = hsts_text(arena, policy->hsts);
	struct str shared = cors_text(arena, cors);
	struct str path = policies_pieces(arena, policy->rewrite.items, policy->rewrite.count);
	struct str changes = policies_changes(
		arena, policy->request_headers.items, policy->request_headers.count);
	struct str limits = limits_text(arena, policy->rate_limits);
	uint64_t body = policy->body_max_bytes < INT64_MAX ? policy->body_max_bytes : INT64_MAX;
	return arena_printf(arena, "%.*s|%" PRIu64 "|%" PRIu64 "|%.*s|%.*s||%.*s|%.*s|%.*s|%.*s",
		STR_FMT(flags), body, policy->https_redirect, STR_FMT(port), STR_FMT(hsts),
		STR_FMT(shared), STR_FMT(path), STR_FMT(changes), STR_FMT(limits));
}

/* ---- its lists ---- */

struct list {
	struct row_draft *draft;
	const struct name *policy;
};

static void add(struct list *list, struct str key)
{
	row_draft_add(list->draft, ROW_RULE, key, STR("1"));
}

/* What the addresses of the network begin with. A length that is no multiple of four makes as many rows as there are last digits. */
static void add_network(struct list *list, const char *word, struct str network)
{
	struct arena *arena = list->draft->arena;
	struct check_cidr cidr;
	char digits[33];
	must(check_cidr(network, &cidr));
	for (unsigned i = 0; i < 16; i++)
		snprintf(digits + 2 * i, 3, "%02X", cidr.ip.bytes[i]);
	int whole = (int)cidr.bits / 4;
	unsigned rest = cidr.bits % 4;
	struct str key = arena_printf(arena, "%s:%s:%c%.*s", word, list->policy->text,
		cidr.ip.family == AF_INET ? '4' : '6', whole, digits);
	if (rest == 0) {
		add(list, key);
		return;
	}
	unsigned byte = cidr.ip.bytes[whole / 2];
	unsigned first = whole % 2 == 0 ? byte >> 4 : byte & 15;
	for (unsigned i = 0; i < 1U << (4 - rest); i++)
		add(list, arena_printf(arena, "%.*s%X", STR_FMT(key), first + i));
}

static void add_networks(struct list *list, const char *word, const struct str_list *networks)
{
	for (size_t i = 0; i < networks->count; i++)
		add_network(list, word, networks->items[i]);
}

static void add_origins(struct list *list, const struct cors *cors)
{
	for (size_t i = 0; i < cors->origins.count; i++)
		add(list, arena_printf(list->draft->arena, "cors:%s:%.*s/", list->policy->text,
				  STR_FMT(cors->origins.items[i])));
}

/* ---- policies ---- */

/* What of it HAProxy cannot do, though it protects; NULL: nothing. */
static const char *missing_guard(const struct policy *policy)
{
	return policy->basic_auth != NULL ? "passwords" : NULL;
}

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

static const char *missing_comfort(const struct policy *policy)
{
	return !are_kept_names(policy)
		       ? "headers of requests whose names have more than letters, digits and dashes"
	       : policy->response_headers.count != 0 ? "changes of the answer's headers"
	       : policy->timeouts != NULL            ? "timeouts"
						     : NULL;
}

static bool write_policy(void *ctx, const struct name *name, const struct policy *policy,
	struct row_draft *draft, struct str *ret_problem)
{
	struct arena *arena = draft->arena;
	struct list list = {draft, name};
	const struct source_access *access = policy->source_access;
	const struct cors *cors =
		policy->cors != NULL && has_room(policy->cors) ? policy->cors : NULL;
	const char *missing = missing_guard(policy);
	if (missing != NULL) {
		*ret_problem = arena_printf(arena, "HAProxy cannot do %s", missing);
		return false;
	}
	struct str text = policy_text(arena, policy, cors);
	if (text.len > POLICIES_TEXT_LEN_MAX) {
		*ret_problem = STR("they are too long for HAProxy");
		return false;
	}
	missing = missing_comfort(policy);
	if (missing != NULL)
		*ret_problem = arena_printf(arena, "HAProxy cannot do %s", missing);
	if (cors != policy->cors)
		*ret_problem = STR("the values of CORS are too long for HAProxy, and are left out");
	row_draft_add(draft, ROW_RULE, name_str(name), text);
	if (cors != NULL)
		add_origins(&list, cors);
	if (policy->rate_limits != NULL)
		add_networks(&list, "exempt", &policy->rate_limits->exempt);
	if (access != NULL) {
		add_networks(&list, "deny", &access->deny);
		add_networks(&list, "allow", &access->allow);
	}
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
	const char *policy = item->policy.text[0] != 0 ? item->policy.text : "none";
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
		return arena_printf(arena, "%s|x%s%.*s", policy, bar, STR_FMT(item->owner));
	return arena_printf(arena, "%s|%c|%.*s|%.*s%s%.*s", policy, letter, STR_FMT(skip),
		STR_FMT(text), bar, STR_FMT(item->owner));
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

static struct str route_text(struct row_draft *draft, const struct route *route)
{
	struct arena *arena = draft->arena;
	if (route->count == 1 && !depends(&route->rules[0]))
		return rule_text(draft, route, 0);
	struct str text = STR("none|c");
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
	return table == ROW_RULE &&
	       (name_is_one(NAME_ROUTE, key) || str_starts_with(key, STR("draw:")));
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

const struct route_writer policies_writer = {
	.write_route = write_route,
	.write_policy = write_policy,
};
