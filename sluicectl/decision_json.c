// SPDX-License-Identifier: Apache-2.0
#include "sluicectl/decision_json.h"

#include "common/json.h"

struct writer {
	struct buf *out;
	int err;         /* the first; nothing is written after it */
	bool has_member; /* a comma is needed */
};

static void put(struct writer *w, const char *text)
{
	if (w->err == 0)
		w->err = buf_append_str(w->out, str_from(text));
}

static void put_text(struct writer *w, struct str text)
{
	if (w->err == 0)
		w->err = json_put_text(w->out, text);
}

static void put_uint(struct writer *w, uint64_t number)
{
	if (w->err == 0)
		w->err = buf_append_uint(w->out, number);
}

static void open(struct writer *w, const char *bracket)
{
	put(w, bracket);
	w->has_member = false;
}

static void close(struct writer *w, const char *bracket)
{
	put(w, bracket);
	w->has_member = true;
}

static void next(struct writer *w)
{
	put(w, w->has_member ? "," : "");
	w->has_member = true;
}

static void name(struct writer *w, const char *key)
{
	next(w);
	put_text(w, str_from(key));
	put(w, ":");
}

static void member_text(struct writer *w, const char *key, struct str text)
{
	if (text.len == 0)
		return;
	name(w, key);
	put_text(w, text);
}

static void member_uint(struct writer *w, const char *key, uint64_t number)
{
	if (number == 0)
		return;
	name(w, key);
	put_uint(w, number);
}

static void member_true(struct writer *w, const char *key, bool flag)
{
	if (!flag)
		return;
	name(w, key);
	put(w, "true");
}

static void put_headers(struct writer *w, const char *key, const struct http_headers *headers)
{
	name(w, key);
	open(w, "[");
	for (size_t i = 0; i < headers->count; i++) {
		next(w);
		open(w, "{");
		member_text(w, "name", headers->items[i].name);
		member_text(w, "value", headers->items[i].value);
		close(w, "}");
	}
	close(w, "]");
}

static void put_changes(struct writer *w, const char *key, const struct decision_changes *changes)
{
	static const char *const words[] = {"set", "add", "remove"};
	if (changes->count == 0)
		return;
	name(w, key);
	open(w, "[");
	for (size_t i = 0; i < changes->count; i++) {
		next(w);
		open(w, "{");
		member_text(w, "action", str_from(words[changes->items[i].action]));
		member_text(w, "name", changes->items[i].name);
		member_text(w, "value", changes->items[i].value);
		close(w, "}");
	}
	close(w, "]");
}

static void put_steps(struct writer *w, const struct decision *decision)
{
	name(w, "steps");
	open(w, "[");
	for (size_t i = 0; i < decision->steps.count; i++) {
		const struct decision_step *step = &decision->steps.items[i];
		next(w);
		open(w, "{");
		member_text(w, "step", str_from(decision_step_word(step->kind)));
		member_text(w, "what", step->what);
		member_text(w, "ingress", step->ingress);
		member_text(w, "policy", step->policy);
		member_true(w, "answers", step->is_end);
		close(w, "}");
	}
	close(w, "]");
}

static void put_endpoints(struct writer *w, const struct pool *pool)
{
	if (pool->endpoints.count == 0)
		return;
	name(w, "endpoints");
	open(w, "[");
	for (size_t i = 0; i < pool->endpoints.count; i++) {
		const struct pool_endpoint *endpoint = &pool->endpoints.items[i];
		next(w);
		open(w, "{");
		member_text(w, "ip", endpoint->ip);
		member_uint(w, "port", endpoint->port);
		member_true(w, "active", endpoint->active);
		close(w, "}");
	}
	close(w, "]");
}

static void put_pools(struct writer *w, const struct decision *decision)
{
	name(w, "pools");
	open(w, "[");
	for (size_t i = 0; i < decision->pools.count; i++) {
		const struct decision_pool *pool = &decision->pools.items[i];
		next(w);
		open(w, "{");
		member_text(w, "id", pool->id);
		member_uint(w, "weight", pool->weight);
		member_true(w, "fallback", pool->is_fallback);
		if (pool->pool != NULL) {
			member_text(w, "namespace", pool->pool->service.namespace);
			member_text(w, "service", pool->pool->service.name);
			member_uint(w, "port", pool->pool->port);
			member_text(w, "external_name", pool->pool->external_name);
			put_endpoints(w, pool->pool);
		}
		close(w, "}");
	}
	close(w, "]");
}

static void put_questions(struct writer *w, const struct decision *decision)
{
	name(w, "questions");
	open(w, "[");
	for (size_t i = 0; i < decision->questions.count; i++) {
		const struct decision_question *question = &decision->questions.items[i];
		next(w);
		open(w, "{");
		member_text(w, "role", str_from(decision_role_word(question->role)));
		member_text(w, "pool", question->pool);
		member_text(w, "method", question->method);
		member_text(w, "host", question->host);
		member_text(w, "target", question->target);
		put_headers(w, "headers", &question->headers);
		close(w, "}");
	}
	close(w, "]");
}

static void put_rule(struct writer *w, const struct decision *decision)
{
	static const char *const matches[] = {"implementation-specific", "prefix", "exact"};
	const struct path_rule *rule = decision->rule;
	if (decision->host != NULL)
		member_text(
			w, "host", decision->host->host.len != 0 ? decision->host->host : STR("*"));
	if (rule == NULL)
		return;
	member_text(w, "path", rule->path);
	member_text(w, "match", rule->regex.len != 0 ? STR_NONE : str_from(matches[rule->match]));
	member_text(w, "regex", rule->regex);
	member_text(w, "ingress", rule->ingress);
	member_text(w, "policy", rule->policy);
}

int decision_put_json(const struct decision *decision, struct buf *out)
{
	struct writer w = {.out = out};
	open(&w, "{");
	put_rule(&w, decision);
	put_steps(&w, decision);
	if (decision->pools.count != 0)
		put_pools(&w, decision);
	if (decision->questions.count != 0)
		put_questions(&w, decision);
	member_uint(&w, "page_of", decision->page_of);
	member_uint(&w, "status", decision->status);
	if (decision->status != 0) {
		put_headers(&w, "headers", &decision->headers);
		member_text(&w, "body", decision->body);
	} else {
		member_true(&w, "passed_through", decision->is_passed_through);
		member_text(&w, "target", decision->target);
		member_text(&w, "host_header", decision->host_header);
		put_changes(&w, "request_headers", &decision->request_changes);
		put_changes(&w, "response_headers", &decision->response_changes);
	}
	member_uint(&w, "limit_status", decision->limit_status);
	member_true(&w, "asks_password", decision->asks_password);
	member_true(&w, "asks_others", decision->asks_others);
	close(&w, "}");
	return w.err;
}
