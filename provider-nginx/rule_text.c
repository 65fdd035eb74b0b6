// SPDX-License-Identifier: Apache-2.0
#include "provider-nginx/rule_text.h"

#include "common/cipher_names.h"
#include "provider-nginx/asking_text.h"
#include "provider-nginx/backend_text.h"
#include "provider-nginx/network_text.h"
#include "provider-nginx/piece_text.h"
#include "provider-proxy/backend_checks.h"

static void start(struct tree_text *tree, struct buf *text)
{
	buf_init(text, RULE_TEXT_LEN_MAX);
	*tree = (struct tree_text){.out = text};
}

/* ---- routes ---- */

static void add_condition(struct tree_text *tree, const struct condition *condition)
{
	static const char *const subjects[] = {[CONDITION_METHOD] = "method",
		[CONDITION_HEADER] = "header",
		[CONDITION_QUERY] = "query",
		[CONDITION_COOKIE] = "cookie"};
	static const char *const matches[] = {[CONDITION_EXACT] = "exact",
		[CONDITION_PRESENT] = "present",
		[CONDITION_REGEX] = "regex"};
	tree_open(tree, "if");
	tree_add(tree, str_from(subjects[condition->subject]));
	tree_add(tree, condition->name);
	tree_add(tree, str_from(matches[condition->match]));
	tree_add(tree, condition->value);
	tree_close(tree);
}

static void add_pools(struct tree_text *tree, const struct path_rule *rule)
{
	tree_open(tree, "pools");
	for (size_t i = 0; i < rule->pools.count; i++) {
		struct name pool = name_of(NAME_POOL, rule->pools.items[i].pool);
		tree_add(tree, name_str(&pool));
		tree_add_number(tree, rule->pools.items[i].weight);
	}
	tree_close(tree);
}

static void add_canary(struct tree_text *tree, const struct rule_canary *canary)
{
	struct name main = name_of(NAME_POOL, canary->main);
	struct name pool = name_of(NAME_POOL, canary->pool);
	tree_open(tree, "canary");
	tree_add(tree, name_str(&main));
	tree_add(tree, name_str(&pool));
	if (canary->loose)
		tree_add(tree, STR("loose"));
	tree_close(tree);
}

static void add_target(struct tree_text *tree, const struct route_rule *item)
{
	const struct path_rule *rule = item->rule;
	if (backend_has_cookie_path(rule))
		tree_add_pair(tree, "cookie_path", rule->cookie_path);
	if (rule->canary != NULL)
		add_canary(tree, rule->canary);
	if (item->pool.text[0] != 0)
		tree_add_pair(tree, "pool", name_str(&item->pool));
	if (rule->pools.count != 0)
		add_pools(tree, rule);
	if (rule->redirect != NULL) {
		tree_add_number_pair(tree, "redirect", rule->redirect->status);
		piece_text_add(tree, "location", rule->redirect->location.items,
			rule->redirect->location.count);
	}
	if (rule->answer != NULL) {
		tree_add_number_pair(tree, "answer", rule->answer->status);
		tree_add_pair(tree, "text", rule->answer->text);
	}
}

static void add_rule(struct tree_text *tree, const struct route_rule *item)
{
	const struct path_rule *rule = item->rule;
	tree_open(tree, NULL);
	if (item->has_to_match && str_is_empty(rule->regex)) {
		tree_add_pair(tree, "path", item->path);
		if (item->is_exact)
			tree_add_flag(tree, "exact");
	} else if (!str_is_empty(rule->regex)) {
		tree_add_pair(tree, "regex", rule->regex);
	}
	if (rule->match == PATH_PREFIX && str_is_empty(rule->regex))
		tree_add_number_pair(tree, "rest", item->path.len);
	for (size_t i = 0; i < rule->conditions.count; i++)
		add_condition(tree, &rule->conditions.items[i]);
	if (item->policy.text[0] != 0)
		tree_add_pair(tree, "policy", name_str(&item->policy));
	if (item->owner.len != 0)
		tree_add_pair(tree, "owner", item->owner);
	if (item->client.len != 0)
		tree_add_pair(tree, "client", item->client);
	if (item->is_closed)
		tree_add_flag(tree, "closed");
	else
		add_target(tree, item);
	tree_close(tree);
}

static const char *write_route(void *ctx, const struct route *route, struct row_draft *draft)
{
	struct buf text;
	struct tree_text tree;
	(void)ctx;
	start(&tree, &text);
	tree_open(&tree, NULL);
	for (size_t i = 0; i < route->count; i++)
		add_rule(&tree, &route->rules[i]);
	tree_close(&tree);
	if (!tree.is_full)
		row_draft_add(draft, ROW_WHOLE,
			arena_printf(draft->arena, "route:%s", route->name.text),
			arena_str(draft->arena, buf_str(&text)));
	buf_fini(&text);
	return tree.is_full ? "the rules for its path are too long" : NULL;
}

/* ---- policies ---- */

static void add_texts(
	struct tree_text *tree, const char *word, const struct str *items, size_t count)
{
	if (count == 0)
		return;
	tree_open(tree, word);
	for (size_t i = 0; i < count; i++)
		tree_add(tree, items[i]);
	tree_close(tree);
}

static void add_text(struct tree_text *tree, const char *word, struct str text)
{
	if (!str_is_empty(text))
		tree_add_pair(tree, word, text);
}

static void add_number(struct tree_text *tree, const char *word, uint64_t number)
{
	if (number != 0)
		tree_add_number_pair(tree, word, number);
}

static void add_flag(struct tree_text *tree, const char *word, bool is_set)
{
	if (is_set)
		tree_add_flag(tree, word);
}

static void add_cors(struct tree_text *tree, const struct cors *cors)
{
	tree_open(tree, "cors");
	add_flag(tree, "any_origin", cors->any_origin);
	add_texts(tree, "origins", cors->origins.items, cors->origins.count);
	add_flag(tree, "credentials", cors->credentials);
	add_text(tree, "methods", cors->methods);
	add_text(tree, "headers", cors->headers);
	add_text(tree, "expose_headers", cors->expose_headers);
	add_number(tree, "max_age", cors->max_age_s);
	tree_close(tree);
}

static void add_hsts(struct tree_text *tree, const struct hsts *hsts)
{
	tree_open(tree, "hsts");
	tree_add_number_pair(tree, "max_age", hsts->max_age_s);
	add_flag(tree, "subdomains", hsts->subdomains);
	add_flag(tree, "preload", hsts->preload);
	tree_close(tree);
}

static void add_limits(struct tree_text *tree, const struct rate_limits *limits)
{
	tree_open(tree, "rate_limits");
	for (size_t i = 0; i < limits->requests.count; i++) {
		const struct rate_limit *limit = &limits->requests.items[i];
		tree_open(tree, "limit");
		tree_add_number(tree, limit->requests);
		tree_add_number(tree, limit->interval_s);
		tree_add_number(tree, limit->burst);
		tree_close(tree);
	}
	add_number(tree, "concurrent", limits->concurrent);
	network_text_add(tree, "exempt", limits->exempt.items, limits->exempt.count);
	tree_add_number_pair(tree, "status", limits->status != 0 ? limits->status : 429);
	tree_close(tree);
}

static void add_guards(struct tree_text *tree, const struct policy *policy)
{
	if (policy->rate_limits != NULL)
		add_limits(tree, policy->rate_limits);
	if (policy->source_access != NULL) {
		tree_open(tree, "source_access");
		network_text_add(tree, "deny", policy->source_access->deny.items,
			policy->source_access->deny.count);
		network_text_add(tree, "allow", policy->source_access->allow.items,
			policy->source_access->allow.count);
		tree_close(tree);
	}
	if (policy->basic_auth != NULL) {
		struct name users = name_of(NAME_USERS, policy->basic_auth->users);
		tree_open(tree, "basic_auth");
		tree_add_pair(tree, "realm", policy->basic_auth->realm);
		tree_add_pair(tree, "users", name_str(&users));
		tree_close(tree);
	}
	add_flag(tree, "satisfy_any", policy->satisfy_any);
}

static void add_policy(struct tree_text *tree, const struct policy *policy)
{
	add_number(tree, "body_max_bytes", policy->body_max_bytes);
	if (policy->cors != NULL)
		add_cors(tree, policy->cors);
	add_number(tree, "https_redirect", policy->https_redirect);
	add_number(tree, "https_port", policy->https_port);
	add_flag(tree, "https_without_slash", policy->https_without_slash);
	if (policy->hsts != NULL)
		add_hsts(tree, policy->hsts);
	add_guards(tree, policy);
	if (policy->rewrite.count != 0)
		piece_text_add(tree, "rewrite", policy->rewrite.items, policy->rewrite.count);
	piece_text_add_changes(tree, "request_headers", policy->request_headers.items,
		policy->request_headers.count);
	piece_text_add_changes(tree, "response_headers", policy->response_headers.items,
		policy->response_headers.count);
	if (policy->timeouts == NULL)
		return;
	tree_open(tree, "timeouts");
	add_number(tree, "connect", policy->timeouts->connect_ms);
	add_number(tree, "send", policy->timeouts->send_ms);
	add_number(tree, "read", policy->timeouts->read_ms);
	tree_close(tree);
}

static bool write_policy(void *ctx, const struct name *name, const struct policy *policy,
	struct row_draft *draft, struct str *ret_problem)
{
	struct buf text;
	struct tree_text tree;
	start(&tree, &text);
	tree_open(&tree, NULL);
	add_policy(&tree, policy);
	asking_text_add_policy(&tree, policy);
	if (!backend_text_add_policy(&tree, policy, ctx))
		*ret_problem = STR("nginx can ask another endpoint at an answer of 403, 404, 429, "
				   "500, 502, 503 "
				   "or 504 only; other statuses are left out");
	tree_close(&tree);
	if (tree.is_full)
		*ret_problem =
			STR("they are too long for this proxy: its requests are answered with 503");
	else
		row_draft_add(draft, ROW_WHOLE, arena_printf(draft->arena, "policy:%s", name->text),
			arena_str(draft->arena, buf_str(&text)));
	buf_fini(&text);
	return !tree.is_full;
}

static const char *write_client(
	void *ctx, struct str key, const struct client_tls *client, struct row_draft *draft)
{
	struct buf text;
	struct tree_text tree;
	(void)ctx;
	start(&tree, &text);
	asking_text_client(&tree, client);
	if (!tree.is_full)
		row_draft_add(draft, ROW_WHOLE,
			arena_printf(draft->arena, "client:%.*s", STR_FMT(key)),
			arena_str(draft->arena, buf_str(&text)));
	buf_fini(&text);
	return tree.is_full ? "the authorities of its clients' certificates are too long" : NULL;
}

/* A sign for the order and the ciphers, which handshakes.lua reads; without any the provider's own ones count. */
static void write_handshake(
	struct str key, const struct host_handshake *handshake, struct row_draft *draft)
{
	const struct cipher_names names = {handshake->ciphers.items, handshake->ciphers.count};
	struct str ciphers = cipher_names_join(&names, draft->arena);
	bool is_of_client = handshake->order == CIPHER_ORDER_CLIENT ||
			    (handshake->order == CIPHER_ORDER_OWN && names.count == 0);
	row_draft_add(draft, ROW_WHOLE, arena_printf(draft->arena, "handshake:%.*s", STR_FMT(key)),
		arena_printf(draft->arena, "%c%.*s", is_of_client ? 'c' : 's', STR_FMT(ciphers)));
}

const struct route_writer rule_text_writer = {
	NULL, write_route, write_policy, write_client, write_handshake};

/* ---- users ---- */

bool rule_text_users(const struct users *users, struct buf *out)
{
	struct tree_text tree = {.out = out};
	tree_open(&tree, NULL);
	for (size_t i = 0; i < users->users.count; i++) {
		tree_add(&tree, users->users.items[i].name);
		tree_add(&tree, users->users.items[i].hash);
	}
	tree_close(&tree);
	return !tree.is_full;
}
