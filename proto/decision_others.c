// SPDX-License-Identifier: Apache-2.0
#include "proto/decision_others.h"

/* ---- questions ---- */

/* Of one connection, of a body, of an upgrade. */
static bool is_of_connection(struct str name)
{
	static const char *const names[] = {"connection", "content-length", "expect", "host",
		"http2-settings", "keep-alive", "proxy", "proxy-connection", "te", "trailer",
		"transfer-encoding", "upgrade"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (ascii_eq_nocase(name, str_from(names[i])))
			return true;
	}
	return false;
}

static struct http_headers without_connection(
	const struct http_headers *headers, struct arena *arena)
{
	struct http_headers to = {arena_calloc(arena, headers->count + 1, sizeof(*to.items)), 0};
	for (size_t i = 0; i < headers->count; i++) {
		if (!is_of_connection(headers->items[i].name))
			to.items[to.count++] = headers->items[i];
	}
	return to;
}

/* The provider's own, which tell it whom a question is for. */
static bool is_reserved(struct str name)
{
	struct str own = STR("sluice-");
	return name.len >= own.len && ascii_eq_nocase((struct str){name.p, own.len}, own);
}

/* Those of `question` become changed ones; a change of Host names its host. */
static void change_headers(struct making *m, const struct header_change *items, size_t count,
	struct decision_question *question)
{
	struct decision_changes changes = {0};
	for (size_t i = 0; i < count; i++) {
		struct str value = items[i].action != HEADER_REMOVE
					   ? pieces_value(&m->parts, PIECES_OF(items[i].value))
					   : STR_NONE;
		if (is_reserved(items[i].name))
			continue;
		if (!ascii_eq_nocase(items[i].name, STR("host")))
			*LIST_PUSH(m->arena, changes, struct decision_change) =
				(struct decision_change){items[i].action, items[i].name, value};
		else if (items[i].action == HEADER_SET && value.len != 0)
			question->host = value;
	}
	question->headers = decision_apply(&question->headers, &changes, m->arena);
}

static struct str host_of(struct making *m, struct piece_list pieces)
{
	return pieces.count != 0 ? pieces_value(&m->parts, pieces) : m->parts.host_header;
}

static void note(struct making *m, const struct decision_question *question)
{
	*LIST_PUSH(m->arena, m->to->questions, struct decision_question) = *question;
}

static bool reply_to(struct making *m, const struct decision_question *question,
	struct decision_reply *ret_reply)
{
	*ret_reply = (struct decision_reply){0};
	if (m->objects->reply != NULL)
		m->objects->reply(m->objects->ctx, question, m->arena, ret_reply);
	return m->objects->reply != NULL;
}

static const struct http_header *find_header(const struct http_headers *headers, struct str name)
{
	for (size_t i = 0; i < headers->count; i++) {
		if (ascii_eq_nocase(headers->items[i].name, name))
			return &headers->items[i];
	}
	return NULL;
}

/* All lines of it, joined as the backend gets them; empty: there is none. */
static struct str joined_header(
	const struct http_headers *headers, struct str name, struct arena *arena)
{
	struct str value = STR_NONE;
	for (size_t i = 0; i < headers->count; i++) {
		if (!ascii_eq_nocase(headers->items[i].name, name))
			continue;
		value = value.p == NULL ? headers->items[i].value
					: arena_printf(arena, "%.*s, %.*s", STR_FMT(value),
						  STR_FMT(headers->items[i].value));
	}
	return value;
}

/* ---- external authentication ---- */

/* The pool of the rule of the same host that takes the path of the target. */
static struct str pool_of_target(struct making *m, struct str target)
{
	struct decision_request request = *m->parts.request;
	struct request_parts parts;
	const struct path_rule *rule = NULL;
	request.target = target;
	request_take_apart(&request, m->arena, &parts);
	parts.is_decoded = m->to->host != NULL && m->to->host->decoded;
	if (parts.is_decoded && !request_decode_path(parts.path, m->arena, &parts.matched))
		return STR_NONE;
	if (m->to->host == NULL || match_rules(&parts, m->to->host, &rule) != MATCH_YES)
		return STR_NONE;
	return rule->pool.len != 0 || rule->pools.count == 0 ? rule->pool
							     : rule->pools.items[0].pool;
}

static struct decision_question auth_question(struct making *m, const struct external_auth *auth)
{
	struct decision_question question = {
		.role = ASKED_EXTERNAL_AUTH,
		.pool = auth->pool,
		.method = auth->method.len != 0 ? auth->method : STR("GET"),
		.host = host_of(m, PIECES_OF(auth->host)),
		.target = pieces_as_target(&m->parts, PIECES_OF(auth->target)),
		.headers = without_connection(&m->parts.request->headers, m->arena),
	};
	if (question.pool.len == 0)
		question.pool = pool_of_target(m, question.target);
	change_headers(m, auth->request_headers.items, auth->request_headers.count, &question);
	return question;
}

static bool is_refused(struct making *m, const struct decision_question *question,
	const struct external_auth *auth, struct refusal *ret)
{
	unsigned status = m->auth.status;
	const struct http_header *challenge =
		find_header(&m->auth.headers, STR("www-authenticate"));
	ret->step = making_add_step(m, STEP_EXTERNAL_AUTH, "%.*s answers %u to %.*s %.*s",
		STR_FMT(question->pool), status, STR_FMT(question->method),
		STR_FMT(question->target));
	if (status >= 200 && status < 300)
		return false;
	ret->status = status == 401 || status == 403 ? status : 500;
	if (status == 401 && challenge != NULL)
		ret->challenge = challenge->value;
	if (status == 401 && auth->sign_in.count != 0) {
		ret->status = 302;
		ret->location = pieces_value(&m->parts, PIECES_OF(auth->sign_in));
	}
	return true;
}

bool others_check(struct making *m, struct refusal *ret_refusal)
{
	const struct external_auth *auth = m->policy->external_auth;
	struct decision_question question = auth_question(m, auth);
	*ret_refusal = (struct refusal){.status = 500};
	if (making_count_active(m, question.pool, NULL) == 0) {
		ret_refusal->step = making_add_step(m, STEP_EXTERNAL_AUTH,
			"pool %.*s is to be asked, and has no active endpoint",
			STR_FMT(question.pool));
		return false;
	}
	note(m, &question);
	if (reply_to(m, &question, &m->auth))
		return !is_refused(m, &question, auth, ret_refusal);
	m->to->asks_others = true;
	ret_refusal->step = making_add_step(m, STEP_EXTERNAL_AUTH,
		"pool %.*s is asked %.*s %.*s: 2xx lets it pass, 401 is answered with %s, 403 "
		"with 403, anything else with 500",
		STR_FMT(question.pool), STR_FMT(question.method), STR_FMT(question.target),
		auth->sign_in.count != 0 ? "a 302 to the place to sign in" : "401");
	return true;
}

void others_copy_headers(struct making *m)
{
	const struct external_auth *auth = m->policy != NULL ? m->policy->external_auth : NULL;
	bool passes = m->auth.status >= 200 && m->auth.status < 300;
	for (size_t i = 0; auth != NULL && i < auth->copied.count; i++) {
		struct str name = auth->copied.items[i];
		struct str value =
			passes ? joined_header(&m->auth.headers, name, m->arena) : STR_NONE;
		making_add_step(m, STEP_REQUEST_HEADERS,
			"%.*s is that of the authentication's answer", STR_FMT(name));
		*LIST_PUSH(m->arena, m->to->request_changes, struct decision_change) =
			(struct decision_change){
				value.len != 0 ? HEADER_SET : HEADER_REMOVE, name, value};
	}
}

static bool takes_cookies(unsigned status)
{
	static const unsigned statuses[] = {200, 201, 204, 206, 301, 302, 303, 304, 307, 308};
	for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
		if (statuses[i] == status)
			return true;
	}
	return false;
}

/* What the client gets; 0: nobody can tell. */
static unsigned final_status(struct making *m, const struct decision_reply *backend)
{
	struct decision_reply page = {0};
	if (m->to->status != 0 || m->to->page_of == 0)
		return m->to->status != 0 ? m->to->status : backend->status;
	(void)reply_to(m, &m->to->questions.items[m->to->questions.count - 1], &page);
	return page.status;
}

void others_add_cookies(struct making *m, const struct decision_reply *backend)
{
	const struct external_auth *auth = m->policy->external_auth;
	if (auth == NULL || m->auth.headers.count == 0)
		return;
	if (!auth->cookies_always && !takes_cookies(final_status(m, backend)))
		return;
	for (size_t i = 0; i < m->auth.headers.count; i++) {
		const struct http_header *header = &m->auth.headers.items[i];
		if (ascii_eq_nocase(header->name, STR("set-cookie")))
			*LIST_PUSH(m->arena, m->to->response_changes, struct decision_change) =
				(struct decision_change){
					HEADER_ADD, STR("Set-Cookie"), header->value};
	}
}

/* ---- copies ---- */

static void mirror(struct making *m, const struct mirror *mirror)
{
	struct decision_question question = {
		.role = ASKED_MIRROR,
		.pool = mirror->pool,
		.method = m->parts.request->method,
		.host = host_of(m, PIECES_OF(mirror->host)),
		.target = mirror->target.count != 0
				  ? pieces_as_target(&m->parts, PIECES_OF(mirror->target))
				  : m->to->target,
		.headers = without_connection(&m->to->request_headers, m->arena),
	};
	uint64_t of = mirror->of != 0 ? mirror->of : 100;
	uint64_t share = mirror->share != 0 ? mirror->share : of;
	making_add_step(m, STEP_MIRROR, "%.*s gets a copy of %llu of %llu, as %.*s %.*s",
		STR_FMT(question.pool), (unsigned long long)share, (unsigned long long)of,
		STR_FMT(question.method), STR_FMT(question.target));
	if (making_count_active(m, question.pool, NULL) != 0)
		note(m, &question);
}

void others_mirror(struct making *m)
{
	for (size_t i = 0; m->policy != NULL && i < m->policy->mirrors.count; i++)
		mirror(m, &m->policy->mirrors.items[i]);
}

/* ---- errors ---- */

static bool has_status(const struct error_pages *pages, unsigned status)
{
	for (size_t i = 0; i < pages->statuses.count; i++) {
		if (pages->statuses.items[i].status == status)
			return true;
	}
	return false;
}

/* Of several the first one that gets requests. */
static struct str backend_pool(struct making *m)
{
	for (size_t i = 0; i < m->to->pools.count; i++) {
		const struct decision_pool *pool = &m->to->pools.items[i];
		if (pool->weight != 0 && pool->active != 0)
			return pool->id;
	}
	return STR_NONE;
}

bool others_ask_backend(struct making *m, struct decision_reply *ret_reply)
{
	struct decision_question question = {
		.role = ASKED_BACKEND,
		.pool = backend_pool(m),
		.method = m->parts.request->method,
		.host = m->to->host_header,
		.target = m->to->target,
		.headers = m->to->request_headers,
	};
	*ret_reply = (struct decision_reply){0};
	return question.pool.len != 0 && reply_to(m, &question, ret_reply);
}

static void ask_for_page(struct making *m, const struct error_pages *pages, unsigned status)
{
	struct decision_question question = {
		.role = ASKED_ERROR_PAGES,
		.pool = pages->pool,
		.method = m->parts.request->method,
		.host = m->parts.told_host,
		.headers = without_connection(&m->parts.request->headers, m->arena),
	};
	m->parts.status = arena_printf(m->arena, "%u", status);
	question.target = pages->target.count != 0
				  ? pieces_as_target(&m->parts, PIECES_OF(pages->target))
				  : STR("/");
	change_headers(m, pages->request_headers.items, pages->request_headers.count, &question);
	note(m, &question);
	making_add_step(m, STEP_ERROR_PAGES, "%.*s answers %.*s %.*s in place of the %u",
		STR_FMT(question.pool), STR_FMT(question.method), STR_FMT(question.target), status);
	m->to->page_of = status;
	m->is_replaced = true;
	m->to->status = 0;
	m->to->headers = (struct http_headers){0};
	m->to->body = STR_NONE;
}

static void answer_missing(struct making *m, uint64_t missing, unsigned status)
{
	making_add_step(m, STEP_ERROR_PAGES,
		"%llu is answered in place of the %u: nobody else does",
		(unsigned long long)missing, status);
	m->to->status = (unsigned)missing;
	m->to->headers = (struct http_headers){0};
	m->to->body = STR_NONE;
	m->is_replaced = true;
}

static struct str list_statuses(const struct error_pages *pages, struct arena *arena)
{
	struct str text = STR_NONE;
	for (size_t i = 0; i < pages->statuses.count; i++)
		text = arena_printf(arena, "%.*s%s%llu", STR_FMT(text), i != 0 ? ", " : "",
			(unsigned long long)pages->statuses.items[i].status);
	return text;
}

void others_answer_error(struct making *m)
{
	const struct error_pages *pages = m->policy != NULL ? m->policy->error_pages : NULL;
	struct decision_reply reply = {0};
	if (pages == NULL || m->is_closed)
		return;
	bool is_own = m->to->status != 0;
	bool is_known = is_own || (!pages->own_only && others_ask_backend(m, &reply));
	unsigned status = is_own ? m->to->status : reply.status;
	if (!is_known && !pages->own_only) {
		struct str statuses = list_statuses(pages, m->arena);
		making_add_step(m, STEP_ERROR_PAGES, "%.*s answers in place of %.*s",
			STR_FMT(pages->pool), STR_FMT(statuses));
	}
	if (!is_known || !has_status(pages, status))
		return;
	if (making_count_active(m, pages->pool, NULL) != 0)
		ask_for_page(m, pages, status);
	else if (pages->missing_status != 0)
		answer_missing(m, pages->missing_status, status);
	else
		making_add_step(m, STEP_ERROR_PAGES,
			"%.*s would answer in place of the %u, and has no active endpoint",
			STR_FMT(pages->pool), status);
}
