// SPDX-License-Identifier: Apache-2.0
/* The steps of a request, in the order of PROTOCOL.md, section 5.3: decision_make() at the end has them all. */
#include "proto/decision.h"

#include "proto/decision_answer.h"
#include "proto/decision_client.h"
#include "proto/decision_guard.h"
#include "proto/decision_making.h"
#include "proto/decision_others.h"
#include "proto/decision_parts.h"

/* ---- 1: the host and the rule ---- */

static const struct virtual_host *find_host(struct making *m, bool is_passthrough)
{
	const struct decision_objects *o = m->objects;
	struct str lb = m->load_balancer->key.id;
	struct str name = m->parts.host;
	const char *dot = str_find(name, '.');
	const struct virtual_host *host =
		name.len != 0 ? o->find_host(o->ctx, lb, name, is_passthrough) : NULL;
	if (host == NULL && dot != NULL)
		host = o->find_host(o->ctx, lb,
			arena_printf(
				m->arena, "*%.*s", STR_FMT(str_skip(name, (size_t)(dot - name.p)))),
			is_passthrough);
	return host != NULL ? host : o->find_host(o->ctx, lb, STR_NONE, is_passthrough);
}

static void take_pool(struct making *m, struct str id, uint64_t weight)
{
	struct decision_pool *pool = LIST_PUSH(m->arena, m->to->pools, struct decision_pool);
	*pool = (struct decision_pool){.id = id, .weight = weight};
	pool->active = making_count_active(m, id, &pool->pool);
}

static bool take_default(struct making *m)
{
	struct str id = m->load_balancer->default_pool;
	if (id.len == 0)
		return making_end(m,
			making_add_step(m, STEP_ROUTE,
				m->to->host == NULL ? "no virtual host has the host %.*s, and "
						      "there is no default pool"
						    : "no rule of the host %.*s takes the request, "
						      "and there is no default pool",
				STR_FMT(m->parts.host)),
			404);
	making_add_step(m, STEP_ROUTE, "no rule takes it: it goes to the default pool");
	return false;
}

static bool pass_through(struct making *m)
{
	m->to->host = m->parts.request->is_tls ? find_host(m, true) : NULL;
	if (m->to->host == NULL || m->to->host->rules.count == 0)
		return false;
	m->to->rule = &m->to->host->rules.items[0];
	m->to->is_passed_through = true;
	making_add_step(m, STEP_ROUTE, "TLS for this server name is passed through unopened");
	return true;
}

static void tell_rule(struct making *m)
{
	static const char *const matches[] = {"prefix", "prefix", "exact"};
	const struct path_rule *rule = m->to->rule;
	bool has_regex = rule->regex.len != 0;
	struct str host = m->to->host->host;
	making_add_step(m, STEP_ROUTE, "host %.*s, %s %.*s%s",
		STR_FMT(host.len != 0 ? host : STR("*")),
		has_regex ? "regular expression" : matches[rule->match],
		STR_FMT(has_regex ? rule->regex : rule->path),
		rule->conditions.count != 0 ? ", and its conditions hold" : "");
}

static bool route(struct making *m)
{
	const struct virtual_host *host = m->to->host = find_host(m, false);
	enum match_outcome outcome = MATCH_NO;
	m->parts.is_decoded = host != NULL && host->decoded;
	if (m->parts.is_decoded && !request_decode_path(m->parts.path, m->arena, &m->parts.matched))
		return making_end(m,
			making_add_step(m, STEP_ROUTE,
				"the path cannot be decoded, or leads above the root"),
			400);
	if (host != NULL)
		outcome = match_rules(&m->parts, host, &m->to->rule);
	if (outcome == MATCH_LIMIT) {
		struct decision_step *step = making_add_step(m, STEP_ROUTE,
			"a regular expression takes more than %d steps on it",
			DECISION_MATCH_LIMIT);
		m->to->rule = NULL;
		return making_end(m, step, 500);
	}
	if (outcome == MATCH_NO)
		return take_default(m);
	tell_rule(m);
	return false;
}

/* ---- 2 to 7 ---- */

/* Another request may take its place, which has a rule of its own. */
static bool check_client(struct making *m)
{
	if (client_check(m))
		return true;
	if (m->error_request == NULL)
		return false;
	m->to->rule = NULL;
	making_take_apart(m, m->error_request);
	return route(m);
}

static bool find_policy(struct making *m)
{
	const struct path_rule *rule = m->to->rule;
	if (rule == NULL || rule->policy.len == 0)
		return false;
	m->policy = m->objects->find(m->objects->ctx, LB_POLICY, rule->policy);
	m->to->policy = m->policy;
	const struct basic_auth *auth = m->policy != NULL ? m->policy->basic_auth : NULL;
	const struct users *users =
		auth != NULL ? m->objects->find(m->objects->ctx, LB_USERS, auth->users) : NULL;
	bool has_users = auth == NULL || (users != NULL && !users->missing);
	if (m->policy != NULL && has_users)
		return false;
	struct decision_step *step = making_add_step(m, STEP_POLICY, "%s: its rules are closed",
		m->policy == NULL ? "the policy does not exist" : "its users do not exist");
	step->policy = rule->policy;
	m->is_closed = true;
	return making_end(m, step, 503);
}

static bool limit_body(struct making *m)
{
	uint64_t max = m->policy != NULL ? m->policy->body_max_bytes : 0;
	if (max == 0)
		return false;
	bool is_over = m->parts.request->content_length > max;
	struct decision_step *step =
		making_add_step(m, STEP_BODY_LIMIT, "a body may have %llu bytes%s",
			(unsigned long long)max, is_over ? ": this one has more" : "");
	return is_over && making_end(m, step, 413);
}

static bool preflight(struct making *m)
{
	if (m->policy == NULL || m->policy->cors == NULL)
		return false;
	bool is_allowed = answer_allows_origin(&m->parts, m->policy->cors);
	if (!is_allowed || !str_eq(m->parts.request->method, STR("OPTIONS")))
		return false;
	return making_end(m,
		making_add_step(m, STEP_CORS_PREFLIGHT,
			"OPTIONS from an origin that is allowed is answered"),
		204);
}

static bool answer(struct making *m)
{
	const struct path_rule *rule = m->to->rule;
	if (rule != NULL && rule->redirect != NULL) {
		struct str location = pieces_value(&m->parts, PIECES_OF(rule->redirect->location));
		making_add_header(m, "Location", location);
		return making_end(m,
			making_add_step(m, STEP_REDIRECT, "redirect %llu to %.*s",
				(unsigned long long)rule->redirect->status, STR_FMT(location)),
			rule->redirect->status);
	}
	if (rule == NULL || rule->answer == NULL)
		return false;
	if (rule->answer->text.len != 0)
		making_add_header(m, "Content-Type", STR("text/plain"));
	m->to->body = rule->answer->text;
	return making_end(m,
		making_add_step(m, STEP_ANSWER, "it is answered with %llu",
			(unsigned long long)rule->answer->status),
		rule->answer->status);
}

static bool redirect_to_https(struct making *m)
{
	if (m->policy == NULL || m->policy->https_redirect == 0 || m->parts.is_https)
		return false;
	struct str target = pieces_target(&m->parts);
	if (m->policy->https_without_slash && target.len != 0 && target.p[target.len - 1] == '/')
		target.len--;
	struct str port =
		m->policy->https_port != 0
			? arena_printf(m->arena, ":%llu", (unsigned long long)m->policy->https_port)
			: STR_NONE;
	struct str location = arena_printf(m->arena, "https://%.*s%.*s%.*s",
		STR_FMT(m->parts.told_name), STR_FMT(port), STR_FMT(target));
	making_add_header(m, "Location", location);
	return making_end(m,
		making_add_step(m, STEP_HTTPS_REDIRECT, "redirect %llu to %.*s",
			(unsigned long long)m->policy->https_redirect, STR_FMT(location)),
		m->policy->https_redirect);
}

/* ---- 8: the pool ---- */

/* Those without an active endpoint have one that stands in for them, if there is one. */
static void take_fallback(struct making *m)
{
	struct str id = m->policy != NULL ? m->policy->fallback_pool : STR_NONE;
	const struct pool *pool = NULL;
	size_t active = id.len != 0 ? making_count_active(m, id, &pool) : 0;
	for (size_t i = 0; active != 0 && i < m->to->pools.count; i++) {
		struct decision_pool *at = &m->to->pools.items[i];
		if (at->active == 0)
			*at = (struct decision_pool){id, at->weight, pool, active, true};
	}
}

/* What pieces say of the Service, if there is one only. */
static void note_service(struct making *m)
{
	const struct decision_pool *chosen = NULL;
	for (size_t i = 0; i < m->to->pools.count; i++) {
		if (m->to->pools.items[i].weight == 0)
			continue;
		if (chosen != NULL)
			return;
		chosen = &m->to->pools.items[i];
	}
	if (chosen == NULL || chosen->pool == NULL)
		return;
	m->parts.service = chosen->pool->service.name;
	m->parts.service_port =
		arena_printf(m->arena, "%llu", (unsigned long long)chosen->pool->port);
}

static void collect_pools(struct making *m)
{
	const struct path_rule *rule = m->to->rule;
	if (rule == NULL) {
		take_pool(m, m->load_balancer->default_pool, 1);
		return;
	}
	if (rule->pool.len != 0)
		take_pool(m, rule->pool, 1);
	for (size_t i = 0; i < rule->pools.count; i++)
		take_pool(m, rule->pools.items[i].pool, rule->pools.items[i].weight);
}

static bool choose_pool(struct making *m)
{
	uint64_t sum = 0;
	bool has_active = false;
	collect_pools(m);
	take_fallback(m);
	note_service(m);
	for (size_t i = 0; i < m->to->pools.count; i++) {
		const struct decision_pool *pool = &m->to->pools.items[i];
		sum += pool->weight;
		has_active |= pool->weight != 0 && pool->active != 0;
	}
	if (sum == 0)
		return making_end(m, making_add_step(m, STEP_POOL, "all weights are 0"), 503);
	for (size_t i = 0; i < m->to->pools.count; i++) {
		const struct decision_pool *pool = &m->to->pools.items[i];
		making_add_step(m, STEP_POOL, "pool %.*s, %llu of %llu%s", STR_FMT(pool->id),
			(unsigned long long)pool->weight, (unsigned long long)sum,
			pool->active == 0
				? ": it has no active endpoint, so that is answered with 503"
			: pool->is_fallback ? ", which stands in for one without active endpoints, "
					      "and gets the path as it was sent"
					    : "");
	}
	return !has_active && making_end(m, &m->to->steps.items[m->to->steps.count - 1], 503);
}

/* ---- 13 to 16: the backend ---- */

static void make_changes(struct making *m, const struct header_change *items, size_t count,
	enum decision_step_kind kind, struct decision_changes *to)
{
	static const char *const words[] = {"is set to ", "gets another line: ", "is removed"};
	for (size_t i = 0; i < count; i++) {
		const struct header_change *change = &items[i];
		struct str value = change->action != HEADER_REMOVE
					   ? pieces_value(&m->parts, PIECES_OF(change->value))
					   : STR_NONE;
		making_add_step(m, kind, "%.*s %s%.*s", STR_FMT(change->name),
			words[change->action], STR_FMT(value));
		*LIST_PUSH(m->arena, *to, struct decision_change) =
			(struct decision_change){change->action, change->name, value};
	}
}

/* Where only some of several have no endpoints, what the others are asked is told. */
static bool is_fallback_alone(const struct decision *to)
{
	for (size_t i = 0; i < to->pools.count; i++) {
		if (to->pools.items[i].weight != 0 && !to->pools.items[i].is_fallback)
			return false;
	}
	return to->pools.count != 0;
}

static void ask_backend(struct making *m)
{
	const struct policy *policy = m->policy;
	struct decision *to = m->to;
	to->target = pieces_target(&m->parts);
	to->host_header = m->parts.told_host;
	bool is_fallback = is_fallback_alone(to);
	if (policy != NULL && policy->rewrite.count != 0 && !is_fallback) {
		struct str path = pieces_path(&m->parts, PIECES_OF(policy->rewrite));
		struct str arguments = pieces_arguments(&m->parts);
		to->target = arena_printf(m->arena, "%.*s%.*s", STR_FMT(path), STR_FMT(arguments));
		making_add_step(
			m, STEP_REWRITE, "the backend is asked for %.*s", STR_FMT(to->target));
	}
	others_copy_headers(m);
	if (policy != NULL)
		make_changes(m, policy->request_headers.items, policy->request_headers.count,
			STEP_REQUEST_HEADERS, &to->request_changes);
	if (policy != NULL && is_fallback)
		make_changes(m, policy->fallback_headers.items, policy->fallback_headers.count,
			STEP_REQUEST_HEADERS, &to->request_changes);
	to->request_headers =
		decision_apply(&m->parts.request->headers, &to->request_changes, m->arena);
	for (size_t i = 0; i < to->request_changes.count; i++) {
		const struct decision_change *change = &to->request_changes.items[i];
		if (change->action == HEADER_SET && ascii_eq_nocase(change->name, STR("host")))
			to->host_header = change->value;
	}
}

static void tell_retries(struct making *m, const struct retries *retries)
{
	making_add_step(m, STEP_RETRIES,
		"another endpoint is asked%s%s%s%s; endpoints in all %llu, milliseconds %llu (0: "
		"any "
		"number)%s",
		retries->on_error ? " after errors" : "",
		retries->on_timeout ? " after time-outs" : "",
		retries->on_invalid ? " after answers that are none" : "",
		retries->statuses.count != 0 ? " after some statuses" : "",
		(unsigned long long)retries->tries, (unsigned long long)retries->timeout_ms,
		retries->unsafe ? "; whatever the method is" : "");
}

static const char *version_word(uint64_t version)
{
	return version == 13 ? "TLS 1.3" : version == 12 ? "TLS 1.2" : "the provider's own";
}

/* Only what is not the provider's own. */
static void tell_tls(struct making *m)
{
	for (size_t i = 0; i < m->to->pools.count; i++) {
		const struct pool *pool = m->to->pools.items[i].pool;
		const struct pool_tls *tls = pool != NULL ? pool->tls : NULL;
		if (tls == NULL ||
			(!tls->nameless && tls->min_version == 0 && tls->max_version == 0 &&
				tls->ciphers.count == 0 && tls->max_depth == 0))
			continue;
		making_add_step(m, STEP_BACKEND_TLS,
			"%.*s: %s server name is sent; from %s to %s; ciphers of its own %zu, "
			"authorities between %llu (0: as the provider has them)",
			STR_FMT(m->to->pools.items[i].id), tls->nameless ? "no" : "the",
			version_word(tls->min_version), version_word(tls->max_version),
			tls->ciphers.count, (unsigned long long)tls->max_depth);
	}
}

/* How the backend is asked, which changes nothing of what it is asked. */
static void tell_asking(struct making *m)
{
	static const char *const connections[] = {[CONNECTION_OWN] = "the provider's own",
		[CONNECTION_CLOSE] = "close",
		[CONNECTION_KEEP] = "keep-alive"};
	const struct policy *policy = m->policy;
	tell_tls(m);
	if (policy == NULL)
		return;
	if (policy->timeouts != NULL)
		making_add_step(m, STEP_TIMEOUTS,
			"milliseconds to connect %llu, to send %llu, to read %llu (0: as the "
			"provider has them)",
			(unsigned long long)policy->timeouts->connect_ms,
			(unsigned long long)policy->timeouts->send_ms,
			(unsigned long long)policy->timeouts->read_ms);
	if (policy->retries != NULL)
		tell_retries(m, policy->retries);
	if (policy->backend_http != NULL)
		making_add_step(m, STEP_BACKEND_HTTP, "HTTP/1.%d; Connection is %s",
			policy->backend_http->version_1_0 ? 0 : 1,
			connections[policy->backend_http->connection]);
	if (policy->buffering != NULL)
		making_add_step(m, STEP_BUFFERING, "%s; %s",
			policy->buffering->request ? "the request is read whole before it is sent"
						   : "the request is sent while it comes",
			policy->buffering->response
				? "the answer is read as fast as it comes"
				: "the answer is read as fast as the client takes it");
}

/* ---- 18: the answer ---- */

/* `reply`: NULL: nobody can tell. */
static void rewrite_answer(struct making *m, const struct decision_reply *reply)
{
	const struct policy *policy = m->policy;
	if (policy->location_changes.count != 0)
		making_add_step(m, STEP_LOCATION_REWRITE,
			"a Location of the backend becomes one of outside");
	if (policy->cookie_domains.count + policy->cookie_paths.count != 0)
		making_add_step(m, STEP_COOKIE_REWRITE,
			"cookies of the backend get domains and paths of outside");
	if (reply != NULL)
		answer_rewrite(&m->parts, policy, &reply->headers, &m->to->response_changes);
}

static void finish_answer(struct making *m)
{
	const struct policy *policy = m->policy;
	struct decision *to = m->to;
	struct decision_reply reply = {0};
	if (policy == NULL || m->is_closed)
		return;
	if (m->is_replaced && policy->error_pages->bare)
		return;
	bool is_of_backend = to->status == 0 && to->page_of == 0;
	if (is_of_backend)
		rewrite_answer(m, others_ask_backend(m, &reply) ? &reply : NULL);
	others_add_cookies(m, &reply);
	make_changes(m, policy->response_headers.items, policy->response_headers.count,
		STEP_RESPONSE_HEADERS, &to->response_changes);
	if (policy->hsts != NULL && m->parts.request->is_tls) {
		struct str value = answer_hsts(policy->hsts, m->arena);
		making_add_step(m, STEP_HSTS, "Strict-Transport-Security is %.*s", STR_FMT(value));
		*LIST_PUSH(m->arena, to->response_changes, struct decision_change) =
			(struct decision_change){
				HEADER_SET, STR("Strict-Transport-Security"), value};
	}
	if (policy->cors != NULL) {
		bool is_allowed = answer_allows_origin(&m->parts, policy->cors);
		making_add_step(m, STEP_CORS_HEADERS,
			is_allowed ? "the origin is allowed"
				   : "the origin is not allowed: nothing is said to it");
		if (is_allowed)
			answer_add_cors(&m->parts, policy->cors, &to->response_changes);
	}
	if (policy->bandwidth != NULL)
		making_add_step(m, STEP_BANDWIDTH,
			"after %llu bytes it is sent with %llu bytes a second",
			(unsigned long long)policy->bandwidth->after_bytes,
			(unsigned long long)policy->bandwidth->bytes_per_s);
	to->headers = decision_apply(&to->headers, &to->response_changes, m->arena);
}

void decision_make(const struct decision_objects *objects,
	const struct load_balancer *load_balancer, const struct decision_request *request,
	struct arena *arena, struct decision *ret_decision)
{
	static bool (*const steps[])(struct making *) = {check_client, find_policy, limit_body,
		preflight, answer, redirect_to_https, choose_pool};
	struct making m = {.objects = objects,
		.load_balancer = load_balancer,
		.arena = arena,
		.to = ret_decision};
	*ret_decision = (struct decision){0};
	making_take_apart(&m, request);
	if (pass_through(&m)) {
		collect_pools(&m);
		return;
	}
	if (front_refuses(&m.parts, load_balancer)) {
		struct decision_step *step = making_add_step(&m, STEP_ROUTE,
			"%.*s, which names the client, is there several times: refused",
			STR_FMT(load_balancer->forwarding->client_header));
		making_end(&m, step, 400);
		return;
	}
	if (route(&m))
		return;
	client_tell_handshake(&m);
	bool is_answered = false;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !is_answered; i++)
		is_answered = steps[i](&m);
	if (!is_answered) {
		guard_limit_rate(&m);
		is_answered = guard_check(&m);
	}
	if (!is_answered) {
		ask_backend(&m);
		others_mirror(&m);
		tell_asking(&m);
	}
	others_answer_error(&m);
	finish_answer(&m);
	if (m.to->rule != NULL && m.to->rule->unlogged)
		making_add_step(&m, STEP_ACCESS_LOG, "an access log has no line for it");
}
