// SPDX-License-Identifier: Apache-2.0
/*
 * What an Ingress asks for its requests: read by its dialect, less what its load balancer cannot do.
 */
#include "translator/plan_maker.h"

#include "translator/dialects/ingress_nginx.h"
#include "translator/dialects/sluice.h"
#include "translator/keys.h"
#include "translator/policy_words.h"

#include <stddef.h>

/* The members of a policy that a word stands for. */
static const struct {
	enum policy_bit word;
	size_t offset;
	size_t size;
} members[] = {
#define MEMBER(word_, member_)                                         \
	{                                                              \
		POLICY_##word_, offsetof(struct policy, member_),      \
			sizeof(((const struct policy *)NULL)->member_) \
	}
	MEMBER(BODY_LIMIT, body_max_bytes),
	MEMBER(CORS, cors),
	MEMBER(HTTPS_REDIRECT, https_redirect),
	MEMBER(HTTPS_REDIRECT, https_port),
	MEMBER(HSTS, hsts),
	MEMBER(RATE_LIMIT, rate_limits),
	MEMBER(SOURCE_ACCESS, source_access),
	MEMBER(BASIC_AUTH, basic_auth),
	MEMBER(REWRITE, rewrite),
	MEMBER(REQUEST_HEADERS, request_headers),
	MEMBER(RESPONSE_HEADERS, response_headers),
	MEMBER(TIMEOUTS, timeouts),
	MEMBER(EXTERNAL_AUTH, external_auth),
	MEMBER(MIRROR, mirrors),
	MEMBER(ERROR_PAGES, error_pages),
	MEMBER(FALLBACK_POOL, fallback_pool),
	MEMBER(FALLBACK_POOL, fallback_headers),
	MEMBER(RETRIES, retries),
	MEMBER(BUFFERING, buffering),
	MEMBER(BANDWIDTH, bandwidth),
	MEMBER(BACKEND_HTTP, backend_http),
	MEMBER(LOCATION_REWRITE, location_changes),
	MEMBER(COOKIE_REWRITE, cookie_domains),
	MEMBER(COOKIE_REWRITE, cookie_paths),
#undef MEMBER
};

static void drop_members(struct policy *policy, enum policy_bit word)
{
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (members[i].word == word)
			memset((char *)policy + members[i].offset, 0, members[i].size);
	}
}

static bool asks_anything(const struct policy *p)
{
	return p->body_max_bytes != 0 || p->cors != NULL || p->https_redirect != 0 ||
	       p->hsts != NULL || p->rate_limits != NULL || p->source_access != NULL ||
	       p->basic_auth != NULL || p->rewrite.count != 0 || p->request_headers.count != 0 ||
	       p->response_headers.count != 0 || p->timeouts != NULL || p->external_auth != NULL ||
	       p->mirrors.count != 0 || p->error_pages != NULL || p->fallback_pool.len != 0 ||
	       p->retries != NULL || p->buffering != NULL || p->bandwidth != NULL ||
	       p->backend_http != NULL || p->location_changes.count != 0 ||
	       p->cookie_domains.count != 0 || p->cookie_paths.count != 0;
}

/* ---- what cannot be had ---- */

/* Clients without a good certificate get the usual answer then. */
static void drop_client_page(struct route_settings *route, struct arena *arena)
{
	if (route->client == NULL)
		return;
	struct client_wish *copy = arena_alloc(arena, sizeof(*copy));
	*copy = *route->client;
	copy->error_path = STR_NONE;
	route->client = copy;
}

/* Who would have answered by himself does not, and without him the errors stay. */
static void drop_error_answers(struct policy *policy)
{
	struct error_pages *pages = policy->error_pages;
	if (pages == NULL)
		return;
	pages->missing_status = 0;
	pages->bare = false;
	if (str_is_empty(pages->pool))
		policy->error_pages = NULL;
}

static void refuse(const struct plan_maker *m, const struct route_asked *asked, const char *cannot)
{
	struct route_settings *route = &m->plan->route;
	bool closes = policy_closes(asked->word);
	const char *effect = "it is not heeded";
	if (closes) {
		route->is_closed = true;
		effect = route->canary != NULL ? "this canary gets no requests"
					       : "requests are answered with 503";
	}
	drop_members(&route->policy, asked->word);
	if (asked->word == POLICY_ERROR_ANSWERS)
		drop_error_answers(&route->policy);
	route->is_decoded &= asked->word != POLICY_DECODED_PATHS;
	route->is_unlogged &= asked->word != POLICY_ACCESS_LOG;
	if (asked->word == POLICY_HASH_BALANCE)
		route->hash = NULL;
	if (asked->word == POLICY_CLIENT_TLS)
		route->client = NULL;
	if (asked->word == POLICY_CLIENT_TLS_PAGE)
		drop_client_page(route, m->arena);
	if (asked->word == POLICY_HOST_HANDSHAKE)
		route->handshake = NULL;
	/* Nobody asked for what a dialect does by itself. */
	if (asked->field != NULL)
		diag_add(m->diags, &m->plan->self, "NotSupported", asked->field, "%s: %s", effect,
			cannot);
}

static void refuse_all(const struct plan_maker *m)
{
	const struct route_settings *route = &m->plan->route;
	for (size_t i = 0; i < route->asked.count; i++) {
		if (m->plan->is_passthrough)
			refuse(m, &route->asked.items[i],
				"TLS that is passed through is not opened");
		else if ((m->context->cannot.policies & route->asked.items[i].word) != 0)
			refuse(m, &route->asked.items[i],
				"this kind of load balancer cannot do it");
		/* A Secret that client-tls names would be taken for one whose certificate is shown, and its key sent. */
		else if ((route->asked.items[i].word &
				 (POLICY_CLIENT_TLS | POLICY_HOST_HANDSHAKE)) != 0 &&
			 m->context->grouping != GROUPING_MERGED)
			refuse(m, &route->asked.items[i],
				"only load balancers that a class shares can do it");
	}
}

/* ---- the whole ---- */

static void settle_users(const struct plan_maker *m)
{
	struct route_settings *route = &m->plan->route;
	if (route->policy.basic_auth == NULL || str_is_empty(route->users_secret))
		return;
	struct str id = key_join(m->arena, m->plan->self.namespace, '/', route->users_secret);
	if (route->users_are_keys)
		id = arena_printf(m->arena, "%.*s" PLAN_USERS_OF_KEYS, STR_FMT(id));
	route->policy.basic_auth->users = id;
	m->plan->users = id;
}

/* Of a closed one nothing else matters but where its rules are, and of a canary nothing but what it takes and by what its endpoints are chosen. */
static void keep_what_counts(struct route_settings *route)
{
	if (route->is_closed)
		*route = (struct route_settings){.is_closed = true,
			.canary = route->canary,
			.has_regex = route->has_regex,
			.is_decoded = route->is_decoded,
			.is_unlogged = route->is_unlogged};
	else if (route->canary != NULL)
		*route = (struct route_settings){.canary = route->canary,
			.has_regex = route->has_regex,
			.hash = route->hash,
			.prefers_fastest = route->prefers_fastest};
}

void plan_keep_paths(const struct plan *plan, struct arena *arena, struct policy *policy)
{
	const struct policy *all = &plan->route.policy;
	size_t count = all->request_headers.count;
	drop_members(policy, POLICY_REWRITE);
	policy->request_headers.items = arena_calloc(arena, count, sizeof(struct header_change));
	policy->request_headers.count = 0;
	for (size_t i = 0; i < count; i++) {
		const struct header_change *change = &all->request_headers.items[i];
		if (!str_eq(change->name, plan->route.rewrite_header))
			policy->request_headers.items[policy->request_headers.count++] = *change;
	}
}

/* Paths that are not rewritten have a policy of their own for that. */
static void make_kept_route(const struct plan_maker *m, const struct claim_route *usual)
{
	struct policy policy = m->plan->route.policy;
	if (str_is_empty(m->plan->route.kept_path) || policy.rewrite.count == 0)
		return;
	struct claim_route *copy = arena_alloc(m->arena, sizeof(*copy));
	*copy = *usual;
	copy->policy = STR_NONE;
	plan_keep_paths(m->plan, m->arena, &policy);
	if (asks_anything(&policy))
		copy->policy = m->plan->kept_policy =
			arena_printf(m->arena, "%.*s" PLAN_KEPT_PATHS, STR_FMT(m->plan->policy));
	m->plan->kept_route = copy;
}

/* What the cookie of its sessions does not say itself. */
static bool has_cookie_path(const struct plan *plan)
{
	const struct stickiness *stickiness = plan->values.stickiness;
	return stickiness != NULL && stickiness->affinity != NULL &&
	       str_is_empty(stickiness->affinity->path) && plan->route.canary == NULL &&
	       plan->scope == BALANCER_OF_CLASS && !plan->is_passthrough && !plan->route.is_closed;
}

static void make_claim_route(const struct plan_maker *m)
{
	const struct route_settings *route = &m->plan->route;
	struct claim_route made = {
		.policy = m->plan->policy,
		.app_root = route->app_root,
		.tls_redirect = route->tls_redirect,
		.has_tls = route->has_tls,
		.redirect = route->redirect,
		.answer = route->answer,
		.canary = route->canary,
		.client = route->client,
		.handshake = route->handshake,
		.is_regex = route->has_regex && !route->is_closed && route->canary == NULL,
		.is_decoded = route->is_decoded,
		.is_closed = route->is_closed,
		.is_unlogged = route->is_unlogged,
		.has_cookie_path = has_cookie_path(m->plan),
	};
	bool is_needed = !str_is_empty(made.policy) || made.redirect != NULL ||
			 made.answer != NULL || made.canary != NULL || made.client != NULL ||
			 made.handshake != NULL || made.is_regex || made.is_decoded ||
			 made.is_closed || made.is_unlogged || made.has_cookie_path ||
			 made.app_root != NULL || made.tls_redirect.status != 0 || made.has_tls;
	if (!is_needed)
		return;
	struct claim_route *copy = arena_alloc(m->arena, sizeof(*copy));
	*copy = made;
	m->plan->claim_route = copy;
	make_kept_route(m, copy);
}

void plan_read_route(const struct plan_maker *m)
{
	struct plan *plan = m->plan;
	struct dialect dialect = {
		m->ingress, plan->self, m->arena, m->diags, &plan->route, m->context->egress_hosts};
	if (m->ingress->annotations.count == 0 && m->nginx == NULL)
		return;
	if (!sluice_read_route(&dialect) && m->nginx == NULL)
		return;
	if (m->nginx != NULL)
		ingress_nginx_read_route(&dialect, m->nginx, m->context->https_port);
	refuse_all(m);
	keep_what_counts(&plan->route);
	settle_users(m);
	if (asks_anything(&plan->route.policy))
		plan->policy = key_join(m->arena, plan->self.namespace, '/', plan->self.name);
	make_claim_route(m);
}
