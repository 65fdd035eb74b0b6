// SPDX-License-Identifier: Apache-2.0
#include "common/curl_loop.h"

#include "common/must.h"
#include "common/xalloc.h"

#include <stdlib.h>

struct curl_loop {
	struct ev_loop *loop;
	CURLM *multi;
	ev_timer timer;
	unsigned inside;
	void (*on_progress)(void *ctx);
	void *ctx;
};

static void run_curl(struct curl_loop *c, curl_socket_t fd, int mask)
{
	int running = 0;
	c->inside++;
	curl_multi_socket_action(c->multi, fd, mask, &running);
	c->inside--;
	if (c->inside == 0)
		c->on_progress(c->ctx);
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
	struct curl_loop *c = ctx;
	ev_io *watcher = socket_ctx;
	(void)easy;
	if (watcher != NULL)
		ev_io_stop(c->loop, watcher);
	if (what == CURL_POLL_REMOVE) {
		free(watcher);
		curl_multi_assign(c->multi, fd, NULL);
		return 0;
	}
	if (watcher == NULL) {
		watcher = xcalloc(1, sizeof(*watcher));
		ev_init(watcher, on_socket);
		watcher->data = c;
		curl_multi_assign(c->multi, fd, watcher);
	}
	ev_io_set(watcher, fd,
		((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
			((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0));
	ev_io_start(c->loop, watcher);
	return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
	struct curl_loop *c = ctx;
	(void)multi;
	ev_timer_stop(c->loop, &c->timer);
	if (timeout_ms >= 0) {
		ev_timer_set(&c->timer, (double)timeout_ms / 1000.0, 0.);
		ev_timer_start(c->loop, &c->timer);
	}
	return 0;
}

struct curl_loop *curl_loop_new(
	struct ev_loop *loop, long connections_max, void (*on_progress)(void *ctx), void *ctx)
{
	struct curl_loop *c = xcalloc(1, sizeof(*c));
	must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
	c->loop = loop;
	c->on_progress = on_progress;
	c->ctx = ctx;
	c->multi = curl_multi_init();
	must(c->multi != NULL);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, connections_max);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, connections_max);
	ev_init(&c->timer, on_timer);
	c->timer.data = c;
	return c;
}

void curl_loop_free(struct curl_loop *c)
{
	/* Cached connections are closed here, which still calls on_curl_socket() and on_curl_timer(). */
	c->inside++;
	curl_multi_cleanup(c->multi);
	ev_timer_stop(c->loop, &c->timer);
	free(c);
	curl_global_cleanup();
}

CURLM *curl_loop_multi(struct curl_loop *c)
{
	return c->multi;
}

void curl_loop_enter(struct curl_loop *c)
{
	c->inside++;
}

void curl_loop_leave(struct curl_loop *c)
{
	c->inside--;
}

bool curl_loop_is_inside(const struct curl_loop *c)
{
	return c->inside != 0;
}
