// SPDX-License-Identifier: Apache-2.0
#include "common/http.h"

#include "common/clock.h"
#include "common/curl_loop.h"
#include "common/http_easy.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <bsd/sys/queue.h>

/*
 *   WAITING --its timer--> RUNNING --libcurl is done, or its timer--> DONE --on_done() has returned--> freed
 *
 * While a callback of our owner runs, libcurl and we may be on the stack below it. What callbacks ask for is therefore done once
 * the last of them has returned: settle(). Until then a cancelled request is CANCELLED.
 */
enum request_state { REQUEST_WAITING, REQUEST_RUNNING, REQUEST_DONE, REQUEST_CANCELLED };

struct http_request {
	LIST_ENTRY(http_request) entry;
	struct http *http;
	struct curl_loop *curl; /* while it is running */
	enum request_state state;
	struct http_easy *easy;
	struct http_call call; /* the owner's callbacks; texts are not copied */
	ev_timer timer;
	double ends_at;  /* 0: never */
	double heard_at; /* 0: not connected yet, nothing is expected */
};

/* Connections, TLS sessions and CAs that are shared; http_drop_idle() starts a new generation. */
struct generation {
	LIST_ENTRY(generation) entry;
	struct curl_loop *curl;
};

LIST_HEAD(generation_list, generation);
LIST_HEAD(request_list, http_request);

struct http {
	struct ev_loop *loop;
	char *user_agent;
	unsigned connections_max;
	struct generation_list generations; /* newest first */
	struct request_list requests;
	struct request_list cancelled;
	unsigned callbacks; /* of our owner that are running */
	bool freed;
};

/* ---- ending ---- */

static void free_request(struct http_request *request)
{
	LIST_REMOVE(request, entry);
	ev_timer_stop(request->http->loop, &request->timer);
	if (request->curl != NULL)
		curl_loop_remove(request->curl, http_easy_handle(request->easy));
	http_easy_free(request->easy);
	free(request);
}

static void free_generation(struct generation *generation)
{
	LIST_REMOVE(generation, entry);
	curl_loop_free(generation->curl);
	free(generation);
}

static void free_old_generations(struct http *http)
{
	struct generation *old = LIST_NEXT(LIST_FIRST(&http->generations), entry);
	while (old != NULL) {
		struct generation *next = LIST_NEXT(old, entry);
		if (curl_loop_count(old->curl) == 0)
			free_generation(old);
		old = next;
	}
}

/* Does what had to wait for callbacks to return; may free `http`. */
static void settle(struct http *http)
{
	if (http->callbacks != 0)
		return;
	struct http_request *request = LIST_FIRST(&http->cancelled);
	while (request != NULL) {
		struct http_request *next = LIST_NEXT(request, entry);
		free_request(request);
		request = next;
	}
	free_old_generations(http);
	if (!http->freed)
		return;
	free_generation(LIST_FIRST(&http->generations));
	free(http->user_agent);
	free(http);
}

static void silence(struct http_request *request)
{
	request->state = REQUEST_CANCELLED;
	http_easy_silence(request->easy);
	ev_timer_stop(request->http->loop, &request->timer);
	LIST_REMOVE(request, entry);
	LIST_INSERT_HEAD(&request->http->cancelled, request, entry);
}

void http_cancel(struct http_request *request)
{
	/* Its on_done() is running, after which it is freed anyway. */
	if (request->state == REQUEST_DONE)
		return;
	silence(request);
	settle(request->http);
}

void http_free(struct http *http)
{
	if (http == NULL)
		return;
	struct http_request *request = LIST_FIRST(&http->requests);
	while (request != NULL) {
		struct http_request *next = LIST_NEXT(request, entry);
		if (request->state != REQUEST_DONE)
			silence(request);
		request = next;
	}
	http->freed = true;
	settle(http);
}

static void complete(struct http_request *request, CURLcode code, const char *reason)
{
	struct http *http = request->http;
	request->state = REQUEST_DONE;
	http->callbacks++;
	http_easy_complete(request->easy, code, reason);
	http->callbacks--;
	free_request(request);
}

static void finish_requests(struct curl_loop *curl)
{
	CURL *handle = NULL;
	CURLcode code = CURLE_OK;
	while (curl_loop_next_done(curl, &handle, &code)) {
		struct http_request *request = NULL;
		curl_easy_getinfo(handle, CURLINFO_PRIVATE, &request);
		if (request->state == REQUEST_RUNNING)
			complete(request, code, NULL);
	}
}

static void on_progress(void *ctx)
{
	struct http *http = ctx;
	struct generation *generation = LIST_FIRST(&http->generations);
	for (; generation != NULL; generation = LIST_NEXT(generation, entry))
		finish_requests(generation->curl);
	settle(http);
}

/* ---- time ---- */

static bool has_idle_timeout(const struct http_request *request)
{
	return request->call.idle_timeout_s > 0 && request->heard_at > 0;
}

/* Sets the timer for the next step: to start, or to give up. */
static void set_timer(struct http_request *request)
{
	double now = clock_monotonic_s();
	ev_tstamp due = request->ends_at;
	if (request->state == REQUEST_WAITING)
		due = now;
	else if (has_idle_timeout(request) &&
		 (due <= 0 || request->heard_at + request->call.idle_timeout_s < due))
		due = request->heard_at + request->call.idle_timeout_s;
	ev_timer_stop(request->http->loop, &request->timer);
	if (due <= 0)
		return;
	ev_timer_set(&request->timer, due > now ? due - now : 0., 0.);
	ev_timer_start(request->http->loop, &request->timer);
}

static void begin(struct http_request *request)
{
	struct curl_loop *curl = LIST_FIRST(&request->http->generations)->curl;
	request->state = REQUEST_RUNNING;
	if (http_easy_problem(request->easy) != NULL) {
		complete(request, CURLE_FAILED_INIT, NULL);
		return;
	}
	must(curl_loop_add(curl, http_easy_handle(request->easy)) == CURLM_OK);
	request->curl = curl;
	set_timer(request);
}

static void give_up_or_wait(struct http_request *request)
{
	double now = clock_monotonic_s();
	if (request->ends_at > 0 && now >= request->ends_at)
		complete(request, CURLE_OPERATION_TIMEDOUT, "the time for the request is up");
	else if (has_idle_timeout(request) &&
		 now - request->heard_at >= request->call.idle_timeout_s)
		complete(request, CURLE_OPERATION_TIMEDOUT, "nothing arrived for too long");
	else
		set_timer(request);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct http_request *request = timer->data;
	struct http *http = request->http;
	if (request->state == REQUEST_WAITING)
		begin(request);
	else
		give_up_or_wait(request);
	settle(http);
}

/* Called by http_easy.c. The timer is not restarted for every piece: when it fires, it checks heard_at. */
static void on_activity(void *owner)
{
	struct http_request *request = owner;
	bool first = request->heard_at <= 0;
	request->heard_at = clock_monotonic_s();
	if (first && request->state == REQUEST_RUNNING)
		set_timer(request);
}

/* ---- the owner's callbacks ---- */

static void relay_head(void *ctx, const struct http_head *head)
{
	struct http_request *request = ctx;
	request->http->callbacks++;
	request->call.on_head(request->call.ctx, head);
	request->http->callbacks--;
}

static int relay_data(void *ctx, struct str piece)
{
	struct http_request *request = ctx;
	request->http->callbacks++;
	int err = request->call.on_data(request->call.ctx, piece);
	request->http->callbacks--;
	return err;
}

static void relay_done(void *ctx, const struct http_result *result)
{
	struct http_request *request = ctx;
	request->call.on_done(request->call.ctx, result);
}

/* ---- public functions ---- */

struct http_request *http_start(struct http *http, const struct http_call *call)
{
	must(!http->freed);
	struct http_request *request = xcalloc(1, sizeof(*request));
	struct http_call relayed = *call;
	relayed.on_head = call->on_head != NULL ? relay_head : NULL;
	relayed.on_data = call->on_data != NULL ? relay_data : NULL;
	relayed.on_done = relay_done;
	relayed.ctx = request;
	request->http = http;
	request->call = *call;
	request->easy = http_easy_new(&relayed, http->user_agent, on_activity, request);
	curl_easy_setopt(http_easy_handle(request->easy), CURLOPT_PRIVATE, request);
	if (call->timeout_s > 0)
		request->ends_at = clock_monotonic_s() + call->timeout_s;
	ev_init(&request->timer, on_timer);
	request->timer.data = request;
	LIST_INSERT_HEAD(&http->requests, request, entry);
	set_timer(request);
	return request;
}

static void add_generation(struct http *http)
{
	struct generation *generation = xcalloc(1, sizeof(*generation));
	generation->curl = curl_loop_new(http->loop, http->connections_max, on_progress, http);
	LIST_INSERT_HEAD(&http->generations, generation, entry);
}

struct http *http_new(struct ev_loop *loop, const char *user_agent, unsigned connections_max)
{
	struct http *http = xcalloc(1, sizeof(*http));
	http->loop = loop;
	http->user_agent = xstrdup(user_agent);
	http->connections_max = connections_max;
	add_generation(http);
	return http;
}

void http_drop_idle(struct http *http)
{
	add_generation(http);
	settle(http);
}
