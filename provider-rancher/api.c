// SPDX-License-Identifier: Apache-2.0
#include "provider-rancher/api.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"

#include <stdio.h>

enum {
	ANSWER_LEN_MAX = 64 * 1024 * 1024, /* a page of 3000 resources with all their members */
	REQUEST_LEN_MAX = 16 * 1024 * 1024,
	TEXT_LEN = 1024,
};
/* A whole list may take this many times the timeout. */
static const double LIST_FACTOR = 12;

struct api {
	struct http *http;
	char *base;
	struct http_peer *const *peer;
	const struct credentials *keys;
	double timeout_s;
	uint64_t numbers;
};

struct api_request {
	struct api *api;
	struct http_request *http;
	struct http_peer *peer; /* held */
	uint64_t number;
	bool is_write;
	bool is_secret;
	void (*on_done)(void *ctx, const struct api_answer *answer);
	void *ctx;
};

struct api *api_new(struct ev_loop *loop, const char *base, struct http_peer *const *peer,
	const struct credentials *keys, double timeout_s, unsigned connections_max)
{
	struct api *api = xcalloc(1, sizeof(*api));
	api->http = http_new(loop, "sluice-provider-rancher/" SLUICE_VERSION, connections_max);
	api->base = xstrdup(base);
	api->peer = peer;
	api->keys = keys;
	api->timeout_s = timeout_s;
	return api;
}

void api_free(struct api *api)
{
	if (api == NULL)
		return;
	http_free(api->http);
	free(api->base);
	free(api);
}

uint64_t api_number(struct api *api)
{
	return ++api->numbers;
}

void api_peer_changed(struct api *api)
{
	http_drop_idle(api->http);
}

const char *api_base(const struct api *api)
{
	return api->base;
}

/* ---- responses ---- */

static enum api_outcome outcome_of_status(long status)
{
	if (status >= 200 && status < 300)
		return API_OK;
	switch (status) {
	case 400:
	case 422:
		return API_REFUSED;
	case 401:
	case 429:
		return API_OUTAGE;
	case 403:
		return API_DENIED;
	case 404:
		return API_NOT_FOUND;
	case 405:
		return API_NOT_ALLOWED;
	case 409:
		return API_CONFLICT;
	default:
		return API_FAILED;
	}
}

static enum api_outcome outcome_of(const struct http_result *result)
{
	switch (result->outcome) {
	case HTTP_ANSWERED:
		return outcome_of_status(result->head.status);
	case HTTP_E_RESOLVE:
	case HTTP_E_CONNECT:
	case HTTP_E_TLS:
		return API_OUTAGE;
	case HTTP_E_TIMEOUT:
	case HTTP_E_CUT:
	case HTTP_E_TOO_LONG:
	case HTTP_E_REFUSED_DATA:
	case HTTP_E_OTHER:
		return API_FAILED;
	}
	must(false);
}

/* "422 NotUnique, field name: text" */
static void describe_status(
	const struct http_result *result, const struct rancher_error *error, char text[TEXT_LEN])
{
	int len = snprintf(text, TEXT_LEN, "Rancher answers %ld", result->head.status);
	if (error->code.len != 0 && len > 0 && len < TEXT_LEN)
		len += snprintf(text + len, TEXT_LEN - (size_t)len, " %.*s", STR_FMT(error->code));
	if (error->field.len != 0 && len > 0 && len < TEXT_LEN)
		len += snprintf(
			text + len, TEXT_LEN - (size_t)len, ", %.*s", STR_FMT(error->field));
	if (error->message.len != 0 && len > 0 && len < TEXT_LEN)
		snprintf(text + len, TEXT_LEN - (size_t)len, ": %.*s", STR_FMT(error->message));
}

/* The text may have been cut inside a UTF-8 sequence. */
static void trim_utf8(char *text)
{
	size_t len = strlen(text);
	while (len != 0 && !str_is_utf8((struct str){text, len}))
		text[--len] = '\0';
}

static void deliver_answer(struct api_request *request, struct api_answer *answer)
{
	void (*on_done)(void *ctx, const struct api_answer *answer) = request->on_done;
	void *ctx = request->ctx;
	http_peer_release(request->peer);
	free(request);
	on_done(ctx, answer);
}

static void on_http_done(void *ctx, const struct http_result *result)
{
	struct api_request *request = ctx;
	char text[TEXT_LEN] = "";
	const char *problem = NULL;
	bool is_secret = request->is_secret;
	struct json *document = NULL;
	struct api_answer answer = {
		.outcome = outcome_of(result),
		.text = text,
		.number = request->is_write ? api_number(request->api) : request->number,
		.retry_after_s = result->head.retry_after_s,
	};
	if (result->body.len != 0)
		document = json_parse(result->body, &problem, NULL);
	if (result->outcome != HTTP_ANSWERED) {
		snprintf(text, sizeof(text), "Rancher does not answer: %s (%s)",
			http_outcome_text(result->outcome), result->error);
	} else if (answer.outcome != API_OK) {
		api_read_error(document, &answer.error);
		describe_status(result, &answer.error, text);
	} else if (problem != NULL || (document != NULL && !json_is_object(document))) {
		answer.outcome = API_FAILED;
		snprintf(text, sizeof(text), "Rancher's answer cannot be read: %s",
			problem != NULL ? problem : "it is no object");
	}
	answer.body = answer.outcome == API_OK ? document : NULL;
	answer.is_unauthorized = result->head.status == 401;
	answer.is_unknown = request->is_write && answer.outcome == API_FAILED;
	trim_utf8(text);
	deliver_answer(request, &answer);
	if (is_secret)
		json_free_wiped(document);
	else
		json_free(document);
}

/* ---- requests ---- */

struct api_request *api_start(struct api *api, const struct api_call *call)
{
	static const char *const json_headers[] = {
		"Accept: application/json", "Content-Type: application/json", NULL};
	struct buf body;
	buf_init(&body, REQUEST_LEN_MAX);
	if (call->body != NULL && json_print(call->body, &body) != 0)
		must(buf_append_str(&body, STR("{}")) == 0);
	struct api_request *request = xcalloc(1, sizeof(*request));
	*request = (struct api_request){
		.api = api,
		.number = api_number(api),
		.is_write = strcmp(call->method, "GET") != 0,
		.is_secret = call->is_secret,
		.peer = http_peer_hold(*api->peer),
		.on_done = call->on_done,
		.ctx = call->ctx,
	};
	char *url = call->path[0] == '/' ? xasprintf("%s%s", api->base, call->path)
					 : xstrdup(call->path);
	struct http_call http = {
		.method = call->method,
		.url = url,
		.headers = json_headers,
		.username = api->keys->access_key.text,
		.password = &api->keys->secret_key,
		.body = buf_str(&body),
		.body_is_secret = call->is_secret,
		.peer = request->peer,
		.body_max = ANSWER_LEN_MAX,
		.connect_timeout_s = api->timeout_s,
		.timeout_s = call->is_list ? api->timeout_s * LIST_FACTOR : api->timeout_s,
		.idle_timeout_s = call->is_list ? api->timeout_s : 0,
		.accept_gzip = true,
		.on_done = on_http_done,
		.ctx = request,
	};
	request->http = http_start(api->http, &http);
	free(url);
	if (call->is_secret)
		buf_wipe_fini(&body);
	else
		buf_fini(&body);
	return request;
}

void api_cancel(struct api_request *request)
{
	if (request == NULL)
		return;
	http_cancel(request->http);
	http_peer_release(request->peer);
	free(request);
}
