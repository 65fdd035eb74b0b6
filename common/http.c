// SPDX-License-Identifier: Apache-2.0
#include "common/http.h"

#include "common/curl_loop.h"
#include "common/http_easy.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <stdlib.h>

/*
 * Handles may be neither added to nor removed from libcurl while it is on the stack, so what callbacks ask for then is done by
 * `deferred` as soon as the loop comes round.
 */
struct http {
	struct ev_loop *loop;
	struct curl_loop *curl;
	char *user_agent;
	ev_timer deferred;
	struct http_request *requests; /* all that live, as a list */
	ev_tstamp dropped_at;          /* connections made before are not used again */
	bool *gone;                    /* set while on_done() runs: it may free us */
};

enum request_state { REQUEST_WAITING, REQUEST_RUNNING, REQUEST_CANCELLED };

struct http_request {
	struct http *http;
	struct http_request *next;
	struct http_request **link;
	enum request_state state;
	struct http_easy *easy;
	ev_timer idle;
	bool idle_ended;
};

/* ---- requests ---- */

static void unlink_request(struct http_request *request)
{
	*request->link = request->next;
	if (request->next != NULL)
		request->next->link = request->link;
	ev_timer_stop(request->http->loop, &request->idle);
}

static void free_request(struct http_request *request)
{
	unlink_request(request);
	http_easy_free(request->easy);
	free(request);
}

/* Takes the handle out of libcurl, which must not be on the stack. */
static void detach(struct http_request *request)
{
	struct http *http = request->http;
	must(!curl_loop_is_inside(http->curl));
	if (request->state == REQUEST_WAITING)
		return;
	curl_loop_enter(http->curl);
	curl_multi_remove_handle(curl_loop_multi(http->curl), http_easy_handle(request->easy));
	curl_loop_leave(http->curl);
}

/* Hands the result to the owner and frees the request. False when the owner freed all of us. */
static bool complete(struct http_request *request, CURLcode code)
{
	struct http *http = request->http;
	bool gone = false;
	detach(request);
	unlink_request(request);
	http->gone = &gone;
	http_easy_complete(request->easy, code, request->idle_ended);
	if (!gone)
		http->gone = NULL;
	http_easy_free(request->easy);
	free(request);
	return !gone;
}

static void finish_requests(void *ctx)
{
	struct http *http = ctx;
	int left = 0;
	CURLMsg *message;
	while ((message = curl_multi_info_read(curl_loop_multi(http->curl), &left)) != NULL) {
		struct http_request *request = NULL;
		if (message->msg != CURLMSG_DONE)
			continue;
		CURLcode code = message->data.result;
		curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &request);
		if (request->state == REQUEST_CANCELLED) {
			detach(request);
			free_request(request);
		} else if (!complete(request, code)) {
			return;
		}
	}
}

static void begin(struct http_request *request)
{
	struct http *http = request->http;
	request->state = REQUEST_RUNNING;
	curl_loop_enter(http->curl);
	CURLMcode code =
		curl_multi_add_handle(curl_loop_multi(http->curl), http_easy_handle(request->easy));
	curl_loop_leave(http->curl);
	must(code == CURLM_OK);
	if (request->idle.repeat > 0)
		ev_timer_again(http->loop, &request->idle);
}

static void defer(struct http *http)
{
	if (!ev_is_active(&http->deferred)) {
		ev_timer_set(&http->deferred, 0., 0.);
		ev_timer_start(http->loop, &http->deferred);
	}
}

static void on_deferred(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct http *http = timer->data;
	(void)loop;
	(void)events;
	for (struct http_request *request = http->requests, *next; request != NULL;
		request = next) {
		next = request->next;
		if (request->state == REQUEST_WAITING) {
			begin(request);
		} else if (request->state == REQUEST_CANCELLED) {
			detach(request);
			free_request(request);
		}
	}
	finish_requests(http);
}

static void on_idle(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct http_request *request = timer->data;
	(void)loop;
	(void)events;
	request->idle_ended = true;
	complete(request, CURLE_OPERATION_TIMEDOUT);
}

static void on_activity(void *ctx)
{
	struct http_request *request = ctx;
	if (request->idle.repeat > 0 && request->state == REQUEST_RUNNING)
		ev_timer_again(request->http->loop, &request->idle);
}

struct http_request *http_start(struct http *http, const struct http_call *call)
{
	struct http_request *request = xcalloc(1, sizeof(*request));
	double max_age_s = http->dropped_at > 0 ? ev_now(http->loop) - http->dropped_at : 0;
	request->http = http;
	request->easy = http_easy_new(call, http->user_agent, max_age_s, on_activity, request);
	curl_easy_setopt(http_easy_handle(request->easy), CURLOPT_PRIVATE, request);
	ev_init(&request->idle, on_idle);
	request->idle.repeat = call->idle_timeout_s;
	request->idle.data = request;
	request->next = http->requests;
	request->link = &http->requests;
	if (request->next != NULL)
		request->next->link = &request->next;
	http->requests = request;
	defer(http);
	return request;
}

void http_cancel(struct http_request *request)
{
	struct http *http = request->http;
	http_easy_silence(request->easy);
	ev_timer_stop(http->loop, &request->idle);
	if (!curl_loop_is_inside(http->curl)) {
		detach(request);
		free_request(request);
		return;
	}
	request->state = REQUEST_CANCELLED;
	defer(http);
}

void http_pause(struct http_request *request)
{
	ev_timer_stop(request->http->loop, &request->idle);
	http_easy_pause(request->easy, true);
}

void http_resume(struct http_request *request)
{
	struct http *http = request->http;
	on_activity(request);
	bool was_inside = curl_loop_is_inside(http->curl);
	curl_loop_enter(http->curl);
	http_easy_pause(request->easy, false);
	curl_loop_leave(http->curl);
	if (!was_inside)
		finish_requests(http);
}

/* ---- life ---- */

struct http *http_new(struct ev_loop *loop, const char *user_agent, unsigned connections_max)
{
	struct http *http = xcalloc(1, sizeof(*http));
	http->loop = loop;
	http->user_agent = xstrdup(user_agent);
	http->curl = curl_loop_new(loop, (long)connections_max, finish_requests, http);
	ev_init(&http->deferred, on_deferred);
	http->deferred.data = http;
	return http;
}

void http_free(struct http *http)
{
	if (http == NULL)
		return;
	must(!curl_loop_is_inside(http->curl));
	if (http->gone != NULL)
		*http->gone = true;
	for (struct http_request *request = http->requests, *next; request != NULL;
		request = next) {
		next = request->next;
		detach(request);
		free_request(request);
	}
	curl_loop_free(http->curl);
	ev_timer_stop(http->loop, &http->deferred);
	free(http->user_agent);
	free(http);
}

void http_drop_idle(struct http *http)
{
	http->dropped_at = ev_now(http->loop);
}

const char *http_outcome_text(enum http_outcome outcome)
{
	static const char *const texts[] = {
		[HTTP_ANSWERED] = "answered",
		[HTTP_E_RESOLVE] = "the host name has no address",
		[HTTP_E_CONNECT] = "cannot connect",
		[HTTP_E_TLS] = "TLS failed",
		[HTTP_E_TIMEOUT] = "timed out",
		[HTTP_E_CUT] = "the connection was cut",
		[HTTP_E_TOO_LONG] = "the answer is too long",
		[HTTP_E_REFUSED_DATA] = "the answer was refused",
		[HTTP_E_OTHER] = "failed",
	};
	return texts[outcome];
}
