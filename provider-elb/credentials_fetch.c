// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/credentials_fetch.h"

#include "common/ascii.h"
#include "common/files.h"
#include "common/must.h"
#include "common/xalloc.h"
#include "provider-elb/aws_error.h"
#include "provider-elb/params.h"

enum { ANSWER_LEN_MAX = 256 * 1024, ROLE_LEN_MAX = 64 };
static const double CONNECT_TIMEOUT_S = 5;
static const double STS_TIMEOUT_S = 30;
static const double CONTAINER_TIMEOUT_S = 2;

/* ---- ending ---- */

static void let_go(struct credentials_fetch *fetch)
{
	http_peer_fini(&fetch->link_local);
	http_peer_release(fetch->peer);
	fetch->peer = NULL;
}

static void finish(struct credentials_fetch *fetch, struct key_set *set, const char *problem)
{
	fetch->request = NULL;
	fetch->query = NULL;
	let_go(fetch);
	fetch->on_done(fetch->ctx, problem == NULL ? set : NULL, problem);
}

/* Frees the problem. */
static void finish_with(struct credentials_fetch *fetch, struct key_set *set, char *problem)
{
	finish(fetch, set, problem);
	free(problem);
}

static char *outcome_problem(
	const struct credentials_fetch *fetch, const struct http_result *result)
{
	return xasprintf("%s: %s", fetch->source->text,
		result->error[0] != '\0' ? result->error : http_outcome_text(result->outcome));
}

/* ---- JSON of containers and of instance metadata ---- */

static char *read_json(
	const struct credentials_fetch *fetch, struct str body, struct key_set *ret_set)
{
	struct json *document = json_parse(body, NULL, NULL);
	char *wrong = key_set_read_json(document, ret_set);
	char *problem = wrong != NULL ? xasprintf("%s: %s", fetch->source->text, wrong) : NULL;
	free(wrong);
	json_free_wiped(document);
	return problem;
}

static void on_container_answer(void *ctx, const struct http_result *result)
{
	struct credentials_fetch *fetch = ctx;
	struct key_set set = {0};
	char *problem;
	if (result->outcome != HTTP_ANSWERED)
		problem = outcome_problem(fetch, result);
	else if (result->head.status != 200)
		problem = xasprintf("%s: the answer is %ld: %.*s", fetch->source->text,
			result->head.status, STR_FMT(aws_error_cut(str_trim(result->body))));
	else
		problem = read_json(fetch, result->body, &set);
	finish_with(fetch, &set, problem);
}

static char *load_token(const char *path, struct secret *token)
{
	int err = secret_load_file(token, path);
	return err != 0 ? xasprintf("the token file %s cannot be read: %s", path,
				  err == -ENODATA ? "it is empty" : files_problem(err))
			: NULL;
}

static void send_to_container(struct credentials_fetch *fetch, const struct secret *token)
{
	bool is_plain = str_starts_with(str_from(fetch->source->url), STR("http://"));
	char *header = token->text != NULL ? xasprintf("Authorization: %s", token->text) : NULL;
	const char *headers[] = {"Accept: application/json", header, NULL};
	fetch->link_local.proxy_url = xstrdup("");
	fetch->peer = endpoints_hold_peer(fetch->endpoints);
	struct http_call call = {
		.method = "GET",
		.url = fetch->source->url,
		.headers = headers,
		.body_is_secret = true,
		.peer = is_plain ? &fetch->link_local : fetch->peer,
		.body_max = ANSWER_LEN_MAX,
		.connect_timeout_s = CONTAINER_TIMEOUT_S,
		.timeout_s = CONTAINER_TIMEOUT_S,
		.on_done = on_container_answer,
		.ctx = fetch,
	};
	fetch->request = http_start(fetch->http, &call);
	if (header != NULL)
		explicit_bzero(header, strlen(header));
	free(header);
}

static void ask_container(struct credentials_fetch *fetch)
{
	struct secret token = {0};
	char *problem = NULL;
	if (fetch->source->token_file != NULL)
		problem = load_token(fetch->source->token_file, &token);
	if (problem != NULL)
		finish_with(fetch, NULL, problem);
	else
		send_to_container(fetch, secret_is_set(&token) ? &token : &fetch->source->token);
	secret_fini(&token);
}

/* ---- instance metadata ---- */

static void on_metadata_keys(void *ctx, struct str text, const char *problem)
{
	struct credentials_fetch *fetch = ctx;
	struct key_set set = {0};
	if (problem != NULL)
		finish(fetch, NULL, problem);
	else
		finish_with(fetch, &set, read_json(fetch, text, &set));
}

/* It becomes part of a path. */
static bool is_role_name(struct str name)
{
	return name.len != 0 && name.len <= ROLE_LEN_MAX && ascii_is_made_of(name, "_+=,.@-");
}

static void on_metadata_role(void *ctx, struct str text, const char *problem)
{
	struct credentials_fetch *fetch = ctx;
	const char *end = str_find(text, '\n');
	if (end != NULL)
		text.len = (size_t)(end - text.p);
	text = str_trim(text);
	if (problem == NULL && !is_role_name(text))
		problem = "instance metadata: the name of the role makes no sense";
	if (problem != NULL) {
		finish(fetch, NULL, problem);
		return;
	}
	char *path = xasprintf("%s%.*s", METADATA_ROLE, STR_FMT(text));
	fetch->query = metadata_start(fetch->metadata, path, on_metadata_keys, fetch);
	free(path);
}

/* ---- STS ---- */

static char *read_sts_error(const struct credentials_fetch *fetch, const struct http_result *result,
	const struct xml *xml)
{
	struct aws_error error = aws_error_read_xml(xml);
	struct str code = aws_error_cut(error.code);
	struct str message = aws_error_cut(error.message);
	if (code.p == NULL)
		return xasprintf("%s: STS answers %ld", fetch->source->text, result->head.status);
	return xasprintf("%s: STS answers %.*s: %.*s (request %.*s)%s", fetch->source->text,
		STR_FMT(code), STR_FMT(message), STR_FMT(aws_error_cut(error.request_id)),
		str_eq_c(code, "AccessDenied") ? "; see the trust policy of the role" : "");
}

static char *read_sts(const struct credentials_fetch *fetch, const struct http_result *result,
	struct key_set *set)
{
	struct arena arena;
	const char *wrong = NULL;
	char *problem = NULL;
	arena_init(&arena);
	const struct xml *xml = xml_parse(result->body, &arena, &wrong);
	if (result->head.status != 200)
		problem = read_sts_error(fetch, result, xml);
	else if (xml != NULL)
		wrong = key_set_read_xml(xml, set);
	if (problem == NULL && wrong != NULL)
		problem = xasprintf(
			"%s: the answer of STS cannot be used: %s", fetch->source->text, wrong);
	xml_wipe(xml);
	arena_fini(&arena);
	return problem;
}

static void on_sts_answer(void *ctx, const struct http_result *result)
{
	struct credentials_fetch *fetch = ctx;
	struct key_set set = {0};
	char *problem = result->outcome == HTTP_ANSWERED ? read_sts(fetch, result, &set)
							 : outcome_problem(fetch, result);
	finish_with(fetch, &set, problem);
}

static void send_to_sts(struct credentials_fetch *fetch, const struct secret *token)
{
	static const char *const headers[] = {
		"Content-Type: application/x-www-form-urlencoded", NULL};
	const struct credential_source *source = fetch->source;
	struct params params;
	params_begin(&params, AWS_STS, "AssumeRoleWithWebIdentity");
	params_add(&params, str_from(source->role), "RoleArn");
	params_add(&params, str_from(source->session), "RoleSessionName");
	params_add(&params, (struct str){token->text, token->len}, "WebIdentityToken");
	fetch->peer = endpoints_hold_peer(fetch->endpoints);
	struct http_call call = {
		.method = "POST",
		.url = fetch->endpoints->url[AWS_STS],
		.headers = headers,
		.body = buf_str(&params.body),
		.body_is_secret = true,
		.peer = fetch->peer,
		.body_max = ANSWER_LEN_MAX,
		.connect_timeout_s = CONNECT_TIMEOUT_S,
		.timeout_s = STS_TIMEOUT_S,
		.on_done = on_sts_answer,
		.ctx = fetch,
	};
	fetch->request = http_start(fetch->http, &call);
	buf_wipe_fini(&params.body);
}

static void ask_sts(struct credentials_fetch *fetch)
{
	struct secret token = {0};
	char *problem = fetch->endpoints->url[AWS_STS] == NULL
				? xasprintf("%s: the region is not known: set AWS_REGION",
					  fetch->source->text)
				: load_token(fetch->source->token_file, &token);
	if (problem != NULL)
		finish_with(fetch, NULL, problem);
	else
		send_to_sts(fetch, &token);
	secret_fini(&token);
}

/* ---- public functions ---- */

static void read_static(struct credentials_fetch *fetch)
{
	struct key_set set = {0};
	char *problem = credential_source_read(fetch->source, fetch->environment, &set);
	finish_with(fetch, &set, problem);
}

void credentials_fetch_start(struct credentials_fetch *fetch)
{
	must(fetch->request == NULL && fetch->query == NULL);
	switch (fetch->source->kind) {
	case SOURCE_ENVIRONMENT:
	case SOURCE_FILE:
		read_static(fetch);
		break;
	case SOURCE_WEB_IDENTITY:
		ask_sts(fetch);
		break;
	case SOURCE_CONTAINER:
		ask_container(fetch);
		break;
	case SOURCE_METADATA:
		fetch->query =
			metadata_start(fetch->metadata, METADATA_ROLE, on_metadata_role, fetch);
		break;
	}
}

void credentials_fetch_stop(struct credentials_fetch *fetch)
{
	if (fetch->request != NULL)
		http_cancel(fetch->request);
	if (fetch->query != NULL)
		metadata_cancel(fetch->query);
	fetch->request = NULL;
	fetch->query = NULL;
	let_go(fetch);
}
