// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_making.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const step_words[STEP_KIND_COUNT] = {
	[STEP_ROUTE] = "route",
	[STEP_HANDSHAKE] = "handshake",
	[STEP_CLIENT_TLS] = "client-tls",
	[STEP_POLICY] = "policy",
	[STEP_BODY_LIMIT] = "body-limit",
	[STEP_CORS_PREFLIGHT] = "cors-preflight",
	[STEP_REDIRECT] = "redirect",
	[STEP_ANSWER] = "answer",
	[STEP_HTTPS_REDIRECT] = "https-redirect",
	[STEP_POOL] = "pool",
	[STEP_RATE_LIMIT] = "rate-limit",
	[STEP_SOURCE_ACCESS] = "source-access",
	[STEP_BASIC_AUTH] = "basic-auth",
	[STEP_EXTERNAL_AUTH] = "external-auth",
	[STEP_REWRITE] = "rewrite",
	[STEP_REQUEST_HEADERS] = "request-headers",
	[STEP_MIRROR] = "mirror",
	[STEP_TIMEOUTS] = "timeouts",
	[STEP_RETRIES] = "retries",
	[STEP_BUFFERING] = "buffering",
	[STEP_BACKEND_TLS] = "backend-tls",
	[STEP_BACKEND_HTTP] = "backend-http",
	[STEP_ERROR_PAGES] = "error-pages",
	[STEP_LOCATION_REWRITE] = "location-rewrite",
	[STEP_COOKIE_REWRITE] = "cookie-rewrite",
	[STEP_RESPONSE_HEADERS] = "response-headers",
	[STEP_HSTS] = "hsts",
	[STEP_CORS_HEADERS] = "cors",
	[STEP_BANDWIDTH] = "bandwidth",
	[STEP_ACCESS_LOG] = "access-log",
};

static const char *const role_words[] = {
	[ASKED_BACKEND] = "backend",
	[ASKED_EXTERNAL_AUTH] = "external-auth",
	[ASKED_MIRROR] = "mirror",
	[ASKED_ERROR_PAGES] = "error-pages",
};

const char *decision_role_word(enum decision_role role)
{
	return role_words[role];
}

const char *decision_step_word(enum decision_step_kind kind)
{
	return step_words[kind];
}

struct decision_step *making_add_step(
	struct making *m, enum decision_step_kind kind, const char *format, ...)
{
	char text[4096];
	va_list args;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	struct decision_step *step = LIST_PUSH(m->arena, m->to->steps, struct decision_step);
	*step = (struct decision_step){.kind = kind, .what = arena_str(m->arena, str_from(text))};
	if (m->to->rule != NULL)
		step->ingress = m->to->rule->ingress;
	if (m->policy != NULL && kind != STEP_REDIRECT && kind != STEP_ANSWER &&
		kind != STEP_ROUTE && kind != STEP_POOL && kind != STEP_CLIENT_TLS &&
		kind != STEP_HANDSHAKE && kind != STEP_ACCESS_LOG) {
		step->policy = m->policy->key.id;
		if (m->policy->ingress.len != 0)
			step->ingress = m->policy->ingress;
	}
	return step;
}

bool making_end(struct making *m, struct decision_step *step, uint64_t status)
{
	step->is_end = true;
	m->to->status = (unsigned)status;
	return true;
}

size_t making_count_active(struct making *m, struct str pool_id, const struct pool **ret_pool)
{
	const struct pool *pool = m->objects->find(m->objects->ctx, LB_POOL, pool_id);
	size_t count = 0;
	if (ret_pool != NULL)
		*ret_pool = pool;
	for (size_t i = 0; pool != NULL && i < pool->endpoints.count; i++)
		count += pool->endpoints.items[i].active;
	/* Its provider finds the addresses. */
	return pool != NULL && pool->external_name.len != 0 ? 1 : count;
}

void making_add_header(struct making *m, const char *name, struct str value)
{
	*LIST_PUSH(m->arena, m->to->headers, struct http_header) =
		(struct http_header){str_from(name), value};
}

void making_take_apart(struct making *m, const struct decision_request *request)
{
	request_take_apart(request, m->arena, &m->parts);
	bool is_believed = front_believe(&m->parts, m->load_balancer);
	if (is_believed && m->error_request == NULL)
		making_add_step(m, STEP_ROUTE,
			"a proxy in front is believed: the client is %.*s, came over %s, and "
			"backends are told the host %.*s",
			STR_FMT(m->parts.client), m->parts.is_https ? "HTTPS" : "HTTP",
			STR_FMT(m->parts.told_host));
}
