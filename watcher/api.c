// SPDX-License-Identifier: Apache-2.0
#include "watcher/api.h"

#include "common/must.h"
#include "common/version.h"
#include "common/xalloc.h"

#include <bsd/sys/queue.h>
#include <stdio.h>

enum { HTTP_UNAUTHORIZED = 401, HEADERS_MAX = 8 };

/* Of the form name/version (os/arch): to a name that begins with "curl" API servers send indented JSON. */
#define API_USER_AGENT "sluice-watcher/" SLUICE_VERSION " (linux)"

struct api_request {
	struct api *api;
	TAILQ_ENTRY(api_request) link;
	struct api_call call;
	char *url;
	char *body;
	struct http_request *http; /* NULL: waits for credentials */
	struct http_peer *peer;    /* held while http runs */
	unsigned long generation;
	double began_at;
	bool repeated; /* after a 401 */
};

TAILQ_HEAD(api_queue, api_request);

struct api {
	struct ev_loop *loop;
	const struct target *target;
	struct api_options options;
	struct http *http;
	struct credentials *credentials;
	struct api_queue running;
	struct api_queue waiting;
	ev_timer kick; /* starts waiting requests, from the loop */
};

/* ---- results ---- */

bool api_is_good(const struct api_result *result)
{
	return result->outcome == API_ANSWERED && result->code >= 200 && result->code < 300;
}

void api_result_text(const struct api_result *result, char *text, size_t room)
{
	if (result->outcome == API_E_CREDENTIALS) {
		snprintf(text, room, "no credentials: %s", result->error);
	} else if (result->outcome == API_E_NETWORK) {
		snprintf(text, room, "%s: %s", http_outcome_text(result->http), result->error);
	} else {
		const struct api_status *status = &result->status;
		snprintf(text, room, "%ld%s%s%s%s", result->code,
			status->reason[0] != '\0' ? " " : "", status->reason,
			status->message[0] != '\0' ? ": " : "", status->message);
	}
}

static void free_request(struct api_request *request)
{
	http_peer_release(request->peer);
	if (request->body != NULL)
		explicit_bzero(request->body, request->call.body.len);
	free(request->body);
	free(request->url);
	free(request);
}

static void finish(struct api_request *request, const struct api_result *result)
{
	TAILQ_REMOVE(request->http != NULL ? &request->api->running : &request->api->waiting,
		request, link);
	request->call.on_done(request->call.ctx, result);
	free_request(request);
}

/* ---- running ---- */

static void wait_for_credentials(struct api_request *request)
{
	struct api *api = request->api;
	if (request->http != NULL)
		TAILQ_REMOVE(&api->running, request, link);
	http_peer_release(request->peer);
	request->peer = NULL;
	request->http = NULL;
	TAILQ_INSERT_TAIL(&api->waiting, request, link);
	if (!ev_is_active(&api->kick)) {
		ev_timer_set(&api->kick, 0., 0.);
		ev_timer_start(api->loop, &api->kick);
	}
}

static void on_http_done(void *ctx, const struct http_result *http)
{
	struct api_request *request = ctx;
	struct api_result result = {
		.outcome = http->outcome == HTTP_ANSWERED ? API_ANSWERED : API_E_NETWORK,
		.http = http->outcome,
		.code = http->head.status,
		.retry_after_s = http->head.retry_after_s,
		.status = {.retry_after_s = -1},
		.body = http->body,
		.error = http->error,
	};
	if (result.outcome == API_ANSWERED && result.code == HTTP_UNAUTHORIZED &&
		!request->repeated &&
		credentials_refused(
			request->api->credentials, request->generation, request->began_at)) {
		request->repeated = true;
		wait_for_credentials(request);
		return;
	}
	if (result.outcome == API_ANSWERED && !api_is_good(&result))
		api_status_parse(http->body, &result.status);
	if (result.retry_after_s < 0)
		result.retry_after_s = result.status.retry_after_s;
	finish(request, &result);
}

static int on_http_data(void *ctx, struct str piece)
{
	struct api_request *request = ctx;
	return request->call.on_data(request->call.ctx, piece);
}

static void on_http_head(void *ctx, const struct http_head *head)
{
	struct api_request *request = ctx;
	if (head->status == 200 && request->call.on_head != NULL)
		request->call.on_head(request->call.ctx);
}

static size_t add_impersonation(const struct target *target, char **headers, size_t count)
{
	if (target->as_user != NULL)
		headers[count++] = xasprintf("Impersonate-User: %s", target->as_user);
	if (target->as_uid != NULL)
		headers[count++] = xasprintf("Impersonate-Uid: %s", target->as_uid);
	for (size_t i = 0; i < target->as_group_count; i++)
		headers[count++] = xasprintf("Impersonate-Group: %s", target->as_groups[i]);
	return count;
}

/* NULL-terminated; to be freed one by one. */
static char **make_headers(const struct api_request *request)
{
	const struct target *target = request->api->target;
	char **headers = xcalloc(HEADERS_MAX + target->as_group_count, sizeof(*headers));
	size_t count = 0;
	headers[count++] = xstrdup("Accept: application/json");
	if (request->call.content_type != NULL)
		headers[count++] = xasprintf("Content-Type: %s", request->call.content_type);
	(void)add_impersonation(target, headers, count);
	return headers;
}

static void run(struct api_request *request, const struct credentials_view *view)
{
	struct api *api = request->api;
	const struct api_call *call = &request->call;
	char **headers = make_headers(request);
	request->generation = view->generation;
	request->began_at = view->taken_at;
	request->peer = view->peer;
	struct http_call http = {
		.method = call->method,
		.url = request->url,
		.headers = (const char *const *)headers,
		.bearer = view->bearer,
		.username = view->username,
		.password = view->password,
		.body = call->body,
		.body_is_secret = call->is_secret,
		.peer = http_peer_hold(view->peer),
		.body_max = call->on_data != NULL ? API_ERROR_BODY_MAX : API_BODY_MAX,
		.connect_timeout_s = api->options.connect_timeout_s,
		.timeout_s = call->is_stream ? 0 : api->options.request_timeout_s,
		.accept_gzip = call->is_list,
		.on_data = call->on_data != NULL ? on_http_data : NULL,
		.on_head = on_http_head,
		.on_done = on_http_done,
		.ctx = request,
	};
	TAILQ_REMOVE(&api->waiting, request, link);
	TAILQ_INSERT_TAIL(&api->running, request, link);
	request->http = http_start(api->http, &http);
	for (size_t i = 0; headers[i] != NULL; i++)
		free(headers[i]);
	free(headers);
}

/* Starts all waiting requests, or fails them if there are no credentials. */
static void start_waiting(struct api *api)
{
	struct credentials_view view;
	struct api_request *request;
	while ((request = TAILQ_FIRST(&api->waiting)) != NULL) {
		enum credentials_state state = credentials_get(api->credentials, &view);
		if (state == CREDENTIALS_PENDING)
			return;
		if (state == CREDENTIALS_READY) {
			run(request, &view);
			continue;
		}
		struct api_result result = {
			.outcome = API_E_CREDENTIALS,
			.retry_after_s = -1,
			.error = credentials_problem(api->credentials),
		};
		finish(request, &result);
	}
}

static void on_kick(struct ev_loop *loop, ev_timer *timer, int events)
{
	start_waiting(timer->data);
}

static void on_credentials_settled(void *ctx)
{
	start_waiting(ctx);
}

static void on_peer_changed(void *ctx)
{
	struct api *api = ctx;
	http_drop_idle(api->http);
}

/* ---- public functions ---- */

struct api_request *api_start(struct api *api, const struct api_call *call)
{
	struct api_request *request = xcalloc(1, sizeof(*request));
	request->api = api;
	request->call = *call;
	request->url = xasprintf("%s%s", api->target->server, call->path);
	if (call->body.p != NULL) {
		request->body = str_dup(call->body);
		request->call.body.p = request->body;
	}
	wait_for_credentials(request);
	return request;
}

void api_cancel(struct api_request *request)
{
	if (request == NULL)
		return;
	TAILQ_REMOVE(request->http != NULL ? &request->api->running : &request->api->waiting,
		request, link);
	if (request->http != NULL)
		http_cancel(request->http);
	free_request(request);
}

bool api_retarget(struct api *api)
{
	return credentials_retarget(api->credentials);
}

void api_reload(struct api *api)
{
	credentials_reload(api->credentials);
}

struct api *api_new(struct ev_loop *loop, const struct target *target,
	const struct api_options *options, char **ret_problem)
{
	struct api *api = xcalloc(1, sizeof(*api));
	api->loop = loop;
	api->target = target;
	api->options = *options;
	TAILQ_INIT(&api->running);
	TAILQ_INIT(&api->waiting);
	ev_init(&api->kick, on_kick);
	api->kick.data = api;
	api->http = http_new(loop, API_USER_AGENT, options->connections_max);
	api->credentials = credentials_new(
		&(struct credentials_config){
			.loop = loop,
			.target = target,
			.exec_timeout_s = options->exec_timeout_s,
			.on_settled = on_credentials_settled,
			.on_peer_changed = on_peer_changed,
			.ctx = api,
		},
		ret_problem);
	if (api->credentials == NULL) {
		api_free(api);
		return NULL;
	}
	return api;
}

void api_free(struct api *api)
{
	struct api_request *request;
	if (api == NULL)
		return;
	ev_timer_stop(api->loop, &api->kick);
	while ((request = TAILQ_FIRST(&api->waiting)) != NULL)
		api_cancel(request);
	while ((request = TAILQ_FIRST(&api->running)) != NULL)
		api_cancel(request);
	http_free(api->http);
	credentials_free(api->credentials);
	free(api);
}
