// SPDX-License-Identifier: Apache-2.0
/* The sluice dialect: redirects and fixed answers, and what answers tell browsers. */
#include "translator/dialects/sluice_reader.h"
#include "translator/dialects/values.h"
#include "translator/pieces.h"

enum { ANSWER_TEXT_MAX_LEN = 4096 };

/* ---- redirects ---- */

static void read_status(const struct sluice_reader *r, enum sluice_row row, uint64_t *status)
{
	const struct str *value = sluice_value(r, row);
	if (value != NULL)
		(void)sluice_accept(r, row, value_redirect_status(*value, status));
}

static void read_https_redirect(const struct sluice_reader *r)
{
	struct policy *policy = &r->d->route->policy;
	if (!sluice_switch(r, SLUICE_https_redirect)) {
		sluice_tell_alone(r, SLUICE_https_redirect_status, "https-redirect");
		sluice_tell_alone(r, SLUICE_https_redirect_port, "https-redirect");
		return;
	}
	policy->https_redirect = 308;
	read_status(r, SLUICE_https_redirect_status, &policy->https_redirect);
	(void)sluice_count(r, SLUICE_https_redirect_port, 1, 65535, &policy->https_port);
	sluice_ask(r, SLUICE_https_redirect);
}

static const char *check_location(const struct sluice_reader *r, const struct pieces *pieces)
{
	if (pieces->list.count == 0)
		return "it is empty";
	if (pieces->has_groups && !r->d->route->has_regex)
		return "there are no groups, for its paths are no regular expressions: see "
		       "sluice.io/paths";
	const struct piece *first = &pieces->list.items[0];
	bool is_good = first->value != REQUEST_TEXT || str_starts_with(first->text, STR("/")) ||
		       str_starts_with(first->text, STR("http://")) ||
		       str_starts_with(first->text, STR("https://"));
	return is_good ? NULL
		       : "a path, or a URL that begins with http:// or https://, is expected";
}

static void read_redirect(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_redirect);
	struct pieces pieces = {0};
	if (value == NULL) {
		sluice_tell_alone(r, SLUICE_redirect_status, "redirect");
		return;
	}
	const char *problem = pieces_parse(*value, r->d->arena, &pieces);
	if (problem == NULL)
		problem = check_location(r, &pieces);
	if (!sluice_accept(r, SLUICE_redirect, problem))
		return;
	struct redirect *redirect = arena_alloc(r->d->arena, sizeof(*redirect));
	redirect->status = 302;
	redirect->location.items = pieces.list.items;
	redirect->location.count = pieces.list.count;
	read_status(r, SLUICE_redirect_status, &redirect->status);
	r->d->route->redirect = redirect;
	sluice_ask(r, SLUICE_redirect);
}

/* ---- fixed answers ---- */

static const char *check_body(struct str text)
{
	if (text.len > ANSWER_TEXT_MAX_LEN)
		return "at most 4096 bytes are expected";
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if (c == 0x7f || (c < 0x20 && c != '\n'))
			return "it holds a control character";
	}
	return NULL;
}

static void read_answer(const struct sluice_reader *r)
{
	struct fixed_answer answer = {0};
	const struct str *text = sluice_value(r, SLUICE_answer_text);
	if (!sluice_count(r, SLUICE_answer, 200, 599, &answer.status)) {
		sluice_tell_alone(r, SLUICE_answer_text, "answer");
		return;
	}
	if (text != NULL && sluice_accept(r, SLUICE_answer_text, check_body(*text)))
		answer.text = *text;
	if (r->d->route->redirect != NULL) {
		sluice_tell(r, SLUICE_answer, "it does nothing beside redirect");
		return;
	}
	struct fixed_answer *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = answer;
	r->d->route->answer = copy;
	sluice_ask(r, SLUICE_answer);
}

/* ---- what answers tell browsers ---- */

static void read_hsts(const struct sluice_reader *r)
{
	if (!sluice_switch(r, SLUICE_hsts)) {
		sluice_tell_alone(r, SLUICE_hsts_max_age, "hsts");
		sluice_tell_alone(r, SLUICE_hsts_preload, "hsts");
		sluice_tell_alone(r, SLUICE_hsts_subdomains, "hsts");
		return;
	}
	struct hsts *hsts = arena_alloc(r->d->arena, sizeof(*hsts));
	hsts->max_age_s = 365L * 24 * 60 * 60;
	(void)sluice_count(r, SLUICE_hsts_max_age, 0, UINT32_MAX, &hsts->max_age_s);
	hsts->subdomains = sluice_switch(r, SLUICE_hsts_subdomains);
	hsts->preload = sluice_switch(r, SLUICE_hsts_preload);
	r->d->route->policy.hsts = hsts;
	sluice_ask(r, SLUICE_hsts);
}

static void read_tokens(const struct sluice_reader *r, enum sluice_row row, struct str *text)
{
	const struct str *value = sluice_value(r, row);
	if (value != NULL)
		(void)sluice_accept(r, row, value_tokens(*value, r->d->arena, text));
}

static void read_credentials(const struct sluice_reader *r, struct cors *cors)
{
	bool wanted = sluice_switch(r, SLUICE_cors_credentials);
	if (wanted && cors->any_origin)
		(void)sluice_accept(r, SLUICE_cors_credentials,
			"browsers send no credentials where all origins are allowed: name them in "
			"cors.origins");
	cors->credentials = wanted && !cors->any_origin;
}

static bool read_origins(const struct sluice_reader *r, struct cors *cors)
{
	static const enum sluice_row others[] = {SLUICE_cors_credentials,
		SLUICE_cors_expose_headers, SLUICE_cors_headers, SLUICE_cors_max_age,
		SLUICE_cors_methods};
	const struct str *value = sluice_value(r, SLUICE_cors_origins);
	for (size_t i = 0; value == NULL && i < sizeof(others) / sizeof(others[0]); i++)
		sluice_tell_alone(r, others[i], "cors.origins");
	return value != NULL &&
	       sluice_accept(r, SLUICE_cors_origins,
		       value_origins(*value, r->d->arena, &cors->any_origin, &cors->origins));
}

static void read_cors(const struct sluice_reader *r)
{
	struct cors cors = {.methods = STR("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")};
	const struct str *age = sluice_value(r, SLUICE_cors_max_age);
	uint64_t age_ms = 0;
	if (!read_origins(r, &cors))
		return;
	read_tokens(r, SLUICE_cors_methods, &cors.methods);
	read_tokens(r, SLUICE_cors_headers, &cors.headers);
	read_tokens(r, SLUICE_cors_expose_headers, &cors.expose_headers);
	if (age != NULL && sluice_accept(r, SLUICE_cors_max_age, value_duration(*age, &age_ms)))
		cors.max_age_s = age_ms / 1000;
	read_credentials(r, &cors);
	struct cors *copy = arena_alloc(r->d->arena, sizeof(*copy));
	*copy = cors;
	r->d->route->policy.cors = copy;
	sluice_ask(r, SLUICE_cors_origins);
}

static void read_response_headers(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_response_headers);
	struct header_change *items = NULL;
	size_t count = 0;
	bool has_groups = false;
	if (value == NULL ||
		!sluice_accept(r, SLUICE_response_headers,
			value_header_changes(*value, r->d->arena, &items, &count, &has_groups)))
		return;
	r->d->route->policy.response_headers.items = items;
	r->d->route->policy.response_headers.count = count;
	sluice_ask(r, SLUICE_response_headers);
}

static void read_access_log(const struct sluice_reader *r)
{
	const struct str *value = sluice_value(r, SLUICE_access_log);
	bool is_off = value != NULL && str_eq_c(*value, "off");
	bool is_good = value != NULL && (is_off || str_eq_c(*value, "on"));
	if (value == NULL ||
		!sluice_accept(
			r, SLUICE_access_log, is_good ? NULL : "\"on\" or \"off\" is expected") ||
		!is_off)
		return;
	r->d->route->is_unlogged = true;
	sluice_ask(r, SLUICE_access_log);
}

void sluice_read_answers(const struct sluice_reader *r)
{
	read_https_redirect(r);
	read_redirect(r);
	read_answer(r);
	read_hsts(r);
	read_cors(r);
	read_response_headers(r);
	read_access_log(r);
}
