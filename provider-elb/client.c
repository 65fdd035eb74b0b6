// SPDX-License-Identifier: Apache-2.0
#include "provider-elb/client.h"

#include "common/clock.h"
#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"
#include "provider-elb/aws_error.h"

#include <bsd/sys/queue.h>
#include <inttypes.h>

enum { CONNECTIONS_MAX = 8, SKEW_TOLD_S = 60, HEADERS_MAX = 4 };
static const double CONNECT_TIMEOUT_S = 5;

/*
 *   started --there are keys------------> SENT --answer--> on_done()
 *         \--they are being fetched--> WAITING --they are there--> SENT
 *          \--there are none--> on_done(), from a timer
 *
 * A call whose keys AWS refuses goes once from SENT to WAITING, or to SENT when others are there already.
 */
struct client_call {
	LIST_ENTRY(client_call) entry;
	struct client *client;
	struct client_request request;
	char *body; /* copies */
	char *path;
	struct http_request *http_request;
	struct http_peer *peer; /* of the last request; NULL: the system's authorities */
	struct credentials_waiter waiter;
	ev_timer failing;
	uint64_t serial; /* of the keys that were used last */
	bool is_repeated;
	struct client_answer refusal; /* of the keys, if it waits for others because of that */
	struct arena arena;           /* of the answer */
};

LIST_HEAD(client_call_list, client_call);

struct client {
	struct ev_loop *loop;
	struct credentials *credentials;
	const struct endpoints *endpoints;
	double timeout_s;
	struct http *http;
	struct client_call_list calls;
};

/* ---- ending ---- */

static void detach(struct client_call *call)
{
	LIST_REMOVE(call, entry);
	ev_timer_stop(call->client->loop, &call->failing);
	credentials_unwait(&call->waiter);
}

static void destroy(struct client_call *call)
{
	if (call->request.is_secret)
		explicit_bzero(call->body, call->request.body.len);
	free(call->body);
	free(call->path);
	http_peer_release(call->peer);
	arena_fini(&call->arena);
	free(call);
}

void client_cancel(struct client_call *call)
{
	if (call->http_request != NULL)
		http_cancel(call->http_request);
	detach(call);
	destroy(call);
}

/* It is detached while its owner hears of it, who may free the client then. */
static void finish(struct client_call *call, const struct client_answer *answer)
{
	detach(call);
	call->request.on_done(call->request.ctx, answer);
	destroy(call);
}

/* There are no keys, or none but those that AWS refuses. */
static void finish_without_keys(struct client_call *call, const char *problem)
{
	struct client_answer answer = call->refusal;
	const char *action = call->request.action;
	const char *why = problem != NULL ? problem : "they have not been fetched yet";
	answer.outcome = AWS_OUTAGE;
	answer.retry_after_s = -1;
	if (answer.message.p != NULL)
		answer.message =
			arena_printf(&call->arena, "%.*s; %s", STR_FMT(answer.message), why);
	else
		answer.message =
			arena_printf(&call->arena, "%s: there are no credentials: %s", action, why);
	finish(call, &answer);
}

/* ---- answers ---- */

static void read_network_error(
	struct client_call *call, const struct http_result *result, struct client_answer *answer)
{
	bool is_sent = result->outcome != HTTP_E_RESOLVE && result->outcome != HTTP_E_CONNECT &&
		       result->outcome != HTTP_E_TLS;
	answer->outcome = is_sent ? AWS_FAILED : AWS_OUTAGE;
	answer->is_unknown = is_sent && call->request.is_write;
	answer->message = arena_printf(&call->arena, "%s: %s: %s (%s)", call->request.action,
		call->client->endpoints->url[call->request.service],
		http_outcome_text(result->outcome), result->error);
}

static void read_senseless(
	struct client_call *call, const char *problem, struct client_answer *answer)
{
	answer->outcome = AWS_FAILED;
	answer->is_unknown = call->request.is_write;
	answer->message = arena_printf(
		&call->arena, "%s: the answer cannot be read: %s", call->request.action, problem);
}

/* What helps when the keys are refused: whose they are, and whether the signature was of another time. */
static struct str credentials_hint(struct client_call *call, const struct http_result *result)
{
	const char *source = credentials_source(call->client->credentials);
	int64_t skew_s = aws_error_skew_s(http_result_header(result, "Date"), clock_wall_s());
	if (skew_s > -SKEW_TOLD_S && skew_s < SKEW_TOLD_S)
		return arena_printf(&call->arena, "; credentials: %s", source);
	return arena_printf(&call->arena,
		"; credentials: %s; the clock of this machine is %" PRId64 " s %s that of AWS",
		source, skew_s > 0 ? skew_s : -skew_s, skew_s > 0 ? "behind" : "ahead of");
}

static void read_error(struct client_call *call, const struct http_result *result,
	const struct aws_error *error, struct client_answer *answer)
{
	struct arena *arena = &call->arena;
	long status = result->head.status;
	answer->outcome = service_error(error->code, status);
	answer->is_unknown = answer->outcome == AWS_FAILED && call->request.is_write;
	answer->code = error->code.p != NULL ? arena_str(arena, error->code) : STR_NONE;
	struct str id = error->request_id;
	if (id.p == NULL)
		id = str_from(http_result_header(result, "x-amzn-RequestId"));
	struct str request =
		id.len != 0 ? arena_printf(arena, " (request %.*s)", STR_FMT(aws_error_cut(id)))
			    : STR_NONE;
	struct str hint = service_error_is_credentials(error->code) ? credentials_hint(call, result)
								    : STR_NONE;
	struct str message = aws_error_cut(error->message);
	if (call->request.is_secret && aws_error_has_data(message))
		message = STR("the reason is not shown, because it repeats what was sent");
	if (error->code.len != 0)
		answer->message = arena_printf(arena, "%s: %.*s: %.*s%.*s%.*s",
			call->request.action, STR_FMT(aws_error_cut(error->code)), STR_FMT(message),
			STR_FMT(request), STR_FMT(hint));
	else
		answer->message = arena_printf(arena, "%s: the answer is %ld without a reason%.*s",
			call->request.action, status, STR_FMT(request));
}

static void read_xml(
	struct client_call *call, const struct http_result *result, struct client_answer *answer)
{
	const char *problem = NULL;
	const struct xml *xml = xml_parse(result->body, &call->arena, &problem);
	if (result->head.status == 200 && xml != NULL) {
		answer->xml = xml;
	} else if (result->head.status == 200) {
		read_senseless(call, problem, answer);
	} else {
		struct aws_error error = aws_error_read_xml(xml);
		read_error(call, result, &error, answer);
	}
}

/* `json` is NULL when the body is empty or cannot be read. */
static void read_json(struct client_call *call, const struct http_result *result,
	const struct json *json, const char *problem, struct client_answer *answer)
{
	if (result->head.status == 200 && problem == NULL) {
		answer->json = json;
	} else if (result->head.status == 200) {
		read_senseless(call, problem, answer);
	} else {
		struct aws_error error =
			aws_error_read_json(json, http_result_header(result, "x-amzn-ErrorType"));
		read_error(call, result, &error, answer);
	}
}

static void send_call(struct client_call *call);

/* With other keys; false: there are none. */
static bool repeat(struct client_call *call, const struct client_answer *answer)
{
	struct aws_keys keys;
	struct credentials *credentials = call->client->credentials;
	if (call->is_repeated || !service_error_is_credentials(answer->code))
		return false;
	call->is_repeated = true;
	if (credentials_get(credentials, &keys) && keys.serial != call->serial) {
		send_call(call);
		return true;
	}
	call->refusal = *answer;
	return credentials_renew(credentials) && credentials_wait(credentials, &call->waiter);
}

static void on_answer(void *ctx, const struct http_result *result)
{
	struct client_call *call = ctx;
	struct client_answer answer = {.retry_after_s = result->head.retry_after_s};
	struct json *document = NULL;
	const char *problem = NULL;
	call->http_request = NULL;
	if (result->outcome != HTTP_ANSWERED) {
		read_network_error(call, result, &answer);
	} else if (service_of(call->request.service)->version != NULL) {
		read_xml(call, result, &answer);
	} else {
		if (str_trim(result->body).len != 0)
			document = json_parse(result->body, &problem, NULL);
		read_json(call, result, document, problem, &answer);
	}
	if (!repeat(call, &answer))
		finish(call, &answer);
	json_free_wiped(document);
}

/* ---- calls ---- */

/* Of a REST service with a body, or of one whose calls are all POSTs. */
static bool has_body(const struct client_request *request)
{
	return request->path.p == NULL || request->body.len != 0;
}

static void add_headers(const struct service *service, const struct client_request *request,
	const struct aws_keys *keys, char **headers)
{
	if (request->path.p != NULL) {
		if (has_body(request))
			*headers++ = xstrdup("Content-Type: application/xml");
	} else if (service->version != NULL) {
		*headers++ =
			xstrdup("Content-Type: application/x-www-form-urlencoded; charset=utf-8");
	} else {
		*headers++ = xstrdup("Content-Type: application/x-amz-json-1.1");
		*headers++ = xasprintf("X-Amz-Target: %s.%s", service->target, request->action);
	}
	if (secret_is_set(keys->session_token))
		*headers++ = xasprintf("X-Amz-Security-Token: %s", keys->session_token->text);
	*headers = NULL;
}

static void send_with(struct client_call *call, const struct aws_keys *keys)
{
	struct client *client = call->client;
	const struct client_request *request = &call->request;
	const struct service *service = service_of(request->service);
	char *signature = xasprintf("aws:amz:%s:%s",
		endpoints_signing_region(client->endpoints, request->service),
		service->signing_name);
	char *headers[HEADERS_MAX];
	char *url = xasprintf("%s%s", client->endpoints->url[request->service], call->path);
	add_headers(service, request, keys, headers);
	http_peer_release(call->peer);
	call->peer = endpoints_hold_peer(client->endpoints);
	struct http_call http_call = {
		.method = has_body(request) ? "POST" : "GET",
		.url = url,
		.headers = (const char *const *)headers,
		.username = keys->access_key,
		.password = keys->secret_key,
		.aws_sigv4 = signature,
		.body = has_body(request) ? request->body : STR_NONE,
		.body_is_secret = request->is_secret,
		.peer = call->peer,
		.body_max = XML_LEN_MAX,
		.connect_timeout_s = CONNECT_TIMEOUT_S,
		.timeout_s = client->timeout_s,
		.only_once = request->is_write,
		.on_done = on_answer,
		.ctx = call,
	};
	call->serial = keys->serial;
	call->http_request = http_start(client->http, &http_call);
	for (size_t i = 0; headers[i] != NULL; i++) {
		explicit_bzero(headers[i], strlen(headers[i]));
		free(headers[i]);
	}
	free(signature);
	free(url);
}

static void send_call(struct client_call *call)
{
	struct aws_keys keys;
	must(credentials_get(call->client->credentials, &keys));
	send_with(call, &keys);
}

static void on_keys(struct credentials_waiter *waiter, const char *problem)
{
	struct client_call *call =
		(struct client_call *)(void *)((char *)waiter -
					       offsetof(struct client_call, waiter));
	struct aws_keys keys;
	if (problem == NULL && credentials_get(call->client->credentials, &keys))
		send_with(call, &keys);
	else
		finish_without_keys(call, problem);
}

static void on_failing(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct client_call *call = timer->data;
	finish_without_keys(call, credentials_problem(call->client->credentials));
}

struct client_call *client_start(struct client *client, const struct client_request *request)
{
	struct client_call *call = xcalloc(1, sizeof(*call));
	struct aws_keys keys;
	must(client->endpoints->url[request->service] != NULL);
	call->client = client;
	call->request = *request;
	call->body = str_dup(request->body);
	call->request.body.p = call->body;
	call->path = str_dup(request->path);
	call->request.path.p = request->path.p != NULL ? call->path : NULL;
	call->waiter.on_end = on_keys;
	ev_timer_init(&call->failing, on_failing, 0., 0.);
	call->failing.data = call;
	arena_init(&call->arena);
	LIST_INSERT_HEAD(&client->calls, call, entry);
	if (credentials_get(client->credentials, &keys))
		send_with(call, &keys);
	else if (!credentials_wait(client->credentials, &call->waiter))
		ev_timer_start(client->loop, &call->failing);
	return call;
}

void client_peer_changed(struct client *client)
{
	http_drop_idle(client->http);
}

struct client *client_new(struct ev_loop *loop, struct credentials *credentials,
	const struct endpoints *endpoints, double timeout_s)
{
	struct client *client = xcalloc(1, sizeof(*client));
	client->loop = loop;
	client->credentials = credentials;
	client->endpoints = endpoints;
	client->timeout_s = timeout_s;
	client->http = http_new(loop, "sluice-provider-elb/" SLUICE_VERSION, CONNECTIONS_MAX);
	LIST_INIT(&client->calls);
	return client;
}

void client_free(struct client *client)
{
	if (client == NULL)
		return;
	while (!LIST_EMPTY(&client->calls))
		client_cancel(LIST_FIRST(&client->calls));
	http_free(client->http);
	free(client);
}
