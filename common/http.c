// SPDX-License-Identifier: Apache-2.0
#include "common/http.h"

#include "common/http_easy.h"
#include "common/must.h"
#include "common/xalloc.h"

#include <curl/curl.h>

#include <stdlib.h>

/*
 * libcurl tells us which sockets and which timer it wants watched; we tell it what happened to them. Handles may be neither added nor
 * removed while libcurl is on the stack (in_curl), so what callbacks ask for then is done by `deferred` as soon as the
 * loop comes round.
 */
struct http {
	struct ev_loop *loop;
	CURLM *multi;
	char *user_agent;
	ev_timer timer;
	ev_timer deferred;
	struct http_request *requests; /* all that live, as a list */
	unsigned in_curl;
	ev_tstamp dropped_at; /* connections made before are not used again */
	bool *gone;           /* set while on_done() runs: it may free us */
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

/* ---- sockets and timer for libcurl ---- */

static void finish_requests(struct http *http);

static void run_curl(struct http *http, curl_socket_t fd, int mask)
{
	int running = 0;
	http->in_curl++;
	curl_multi_socket_action(http->multi, fd, mask, &running);
	http->in_curl--;
	finish_requests(http);
}

static void on_socket(struct ev_loop *loop, ev_io *watcher, int events)
{
	(void)loop;
	int mask = ((events & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
		   ((events & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0);
	run_curl(watcher->data, watcher->fd, mask);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)events;
	run_curl(timer->data, CURL_SOCKET_TIMEOUT, 0);
}

static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
	struct http *http = ctx;
	ev_io *watcher = socket_ctx;
	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (watcher != NULL)
			ev_io_stop(http->loop, watcher);
		free(watcher);
		curl_multi_assign(http->multi, fd, NULL);
		return 0;
	}
	if (watcher == NULL) {
		watcher = xcalloc(1, sizeof(*watcher));
		ev_init(watcher, on_socket);
		watcher->data = http;
		curl_multi_assign(http->multi, fd, watcher);
	}
	ev_io_stop(http->loop, watcher);
	ev_io_set(watcher, fd,
		((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
			((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0));
	ev_io_start(http->loop, watcher);
	return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
	struct http *http = ctx;
	(void)multi;
	ev_timer_stop(http->loop, &http->timer);
	if (timeout_ms >= 0) {
		ev_timer_set(&http->timer, (double)timeout_ms / 1000.0, 0.);
		ev_timer_start(http->loop, &http->timer);
	}
	return 0;
}

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
	must(http->in_curl == 0);
	if (request->state == REQUEST_WAITING)
		return;
	http->in_curl++;
	curl_multi_remove_handle(http->multi, http_easy_handle(request->easy));
	http->in_curl--;
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

static void finish_requests(struct http *http)
{
	int left = 0;
	CURLMsg *message;
	if (http->in_curl != 0)
		return;
	while ((message = curl_multi_info_read(http->multi, &left)) != NULL) {
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
	http->in_curl++;
	CURLMcode code = curl_multi_add_handle(http->multi, http_easy_handle(request->easy));
	http->in_curl--;
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
	if (http->in_curl == 0) {
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
	http->in_curl++;
	http_easy_pause(request->easy, false);
	http->in_curl--;
	finish_requests(http);
}

/* ---- life ---- */

struct http *http_new(struct ev_loop *loop, const char *user_agent, unsigned connections_max)
{
	struct http *http = xcalloc(1, sizeof(*http));
	must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	http->loop = loop;
	http->user_agent = xstrdup(user_agent);
	http->multi = curl_multi_init();
	must(http->multi != NULL);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	curl_multi_setopt(http->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)connections_max);
	curl_multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)connections_max);
	ev_init(&http->timer, on_timer);
	ev_init(&http->deferred, on_deferred);
	http->timer.data = http->deferred.data = http;
	return http;
}

void http_free(struct http *http)
{
	if (http == NULL)
		return;
	must(http->in_curl == 0);
	if (http->gone != NULL)
		*http->gone = true;
	while (http->requests != NULL) {
		struct http_request *request = http->requests;
		detach(request);
		free_request(request);
	}
	/* Cached connections are closed here, which still calls on_curl_socket(). */
	curl_multi_cleanup(http->multi);
	ev_timer_stop(http->loop, &http->timer);
	ev_timer_stop(http->loop, &http->deferred);
	free(http->user_agent);
	free(http);
	curl_global_cleanup();
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
