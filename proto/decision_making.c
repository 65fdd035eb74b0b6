// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_making.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const step_words[STEP_KIND_COUNT] = {
	[STEP_ROUTE] = "route",
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
	[STEP_REWRITE] = "rewrite",
	[STEP_REQUEST_HEADERS] = "request-headers",
	[STEP_TIMEOUTS] = "timeouts",
	[STEP_RESPONSE_HEADERS] = "response-headers",
	[STEP_HSTS] = "hsts",
	[STEP_CORS_HEADERS] = "cors",
};

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
		kind != STEP_ROUTE && kind != STEP_POOL) {
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

void making_add_header(struct making *m, const char *name, struct str value)
{
	*LIST_PUSH(m->arena, m->to->headers, struct http_header) =
		(struct http_header){str_from(name), value};
}
