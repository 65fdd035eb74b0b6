// SPDX-License-Identifier: Apache-2.0
/*
 * What an Ingress asks for its requests: read by its dialect, less what its load balancer cannot do.
 */
#include "translator/plan_maker.h"

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
	       p->response_headers.count != 0 || p->timeouts != NULL;
}

/* ---- what cannot be had ---- */

static void refuse(const struct plan_maker *m, const struct route_asked *asked, const char *cannot)
{
	struct route_settings *route = &m->plan->route;
	bool closes = policy_closes(asked->word);
	if (closes)
		route->is_closed = true;
	else
		drop_members(&route->policy, asked->word);
	route->is_decoded &= asked->word != POLICY_DECODED_PATHS;
	diag_add(m->diags, &m->plan->self, "NotSupported", asked->field,
		closes ? "requests are answered with 503: %s" : "it is not heeded: %s", cannot);
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

void plan_read_route(const struct plan_maker *m)
{
	struct plan *plan = m->plan;
	struct dialect dialect = {m->ingress, plan->self, m->arena, m->diags, &plan->route};
	if (m->ingress->annotations.count == 0)
		return;
	sluice_read_route(&dialect);
	refuse_all(m);
	if (plan->route.is_closed) {
		/* Nothing else matters. */
		plan->route = (struct route_settings){.is_closed = true};
		return;
	}
	settle_users(m);
	if (asks_anything(&plan->route.policy))
		plan->policy = key_join(m->arena, plan->self.namespace, '/', plan->self.name);
}
