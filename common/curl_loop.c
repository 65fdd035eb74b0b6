// SPDX-License-Identifier: Apache-2.0
#include "common/curl_loop.h"

#include "common/must.h"
#include "common/xalloc.h"

struct curl_loop {
	struct ev_loop *loop;
	CURLM *multi;
	CURLSH *share;
	ev_timer timer;
	unsigned count;
	void (*on_progress)(void *ctx);
	void *ctx;
};

/* Reports an event of the loop to libcurl, which acts only in here. */
static void drive(struct curl_loop *c, curl_socket_t fd, int events)
{
	int running = 0;
	(void)curl_multi_socket_action(c->multi, fd, events, &running);
	c->on_progress(c->ctx);
}

static void on_socket(struct ev_loop *loop, ev_io *watcher, int events)
{
	int mask = ((events & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
		   ((events & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0) |
		   ((events & EV_ERROR) != 0 ? CURL_CSELECT_ERR : 0);
	/* The watcher is gone afterwards when libcurl closed the socket. */
	drive(watcher->data, watcher->fd, mask);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct curl_loop *c = timer->data;
	drive(c, CURL_SOCKET_TIMEOUT, 0);
}

/* The descriptor of a closed socket may be reused at once: the old watcher goes first, and ev_io_set() tells libev that even
 * an unchanged number may be a new socket. */
static int on_curl_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *socket_ctx)
{
	struct curl_loop *c = ctx;
	ev_io *watcher = socket_ctx;
	if (watcher != NULL)
		ev_io_stop(c->loop, watcher);
	if (what == CURL_POLL_REMOVE) {
		free(watcher);
		return 0;
	}
	if (watcher == NULL) {
		watcher = xcalloc(1, sizeof(*watcher));
		ev_init(watcher, on_socket);
		watcher->data = c;
		must(curl_multi_assign(c->multi, fd, watcher) == CURLM_OK);
	}
	ev_io_set(watcher, fd,
		((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
			((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0));
	if ((what & CURL_POLL_INOUT) != 0)
		ev_io_start(c->loop, watcher);
	return 0;
}

static int on_curl_timer(CURLM *multi, long timeout_ms, void *ctx)
{
	struct curl_loop *c = ctx;
	ev_timer_stop(c->loop, &c->timer);
	if (timeout_ms >= 0) {
		ev_timer_set(&c->timer, (double)timeout_ms / 1000.0, 0.);
		ev_timer_start(c->loop, &c->timer);
	}
	return 0;
}

struct curl_loop *curl_loop_new(
	struct ev_loop *loop, unsigned connections_max, void (*on_progress)(void *ctx), void *ctx)
{
	struct curl_loop *c = xcalloc(1, sizeof(*c));
	/* A failed allocation in libcurl would otherwise look like a bug of ours. */
	must(curl_global_init_mem(CURL_GLOBAL_DEFAULT, xmalloc, free, xrealloc, xstrdup, xcalloc) ==
		CURLE_OK);
	c->loop = loop;
	c->on_progress = on_progress;
	c->ctx = ctx;
	ev_init(&c->timer, on_timer);
	c->timer.data = c;
	c->multi = curl_multi_init();
	c->share = curl_share_init();
	must(c->multi != NULL && c->share != NULL);
	curl_share_setopt(c->share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_curl_socket);
	curl_multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_curl_timer);
	curl_multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl_multi_setopt(c->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_NOTHING);
	curl_multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)connections_max);
	curl_multi_setopt(c->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)connections_max);
	return c;
}

void curl_loop_free(struct curl_loop *c)
{
	must(c->count == 0);
	curl_multi_cleanup(c->multi);
	curl_share_cleanup(c->share);
	ev_timer_stop(c->loop, &c->timer);
	free(c);
	curl_global_cleanup();
}

CURLMcode curl_loop_add(struct curl_loop *c, CURL *easy)
{
	curl_easy_setopt(easy, CURLOPT_SHARE, c->share);
	CURLMcode code = curl_multi_add_handle(c->multi, easy);
	if (code == CURLM_OK)
		c->count++;
	return code;
}

void curl_loop_remove(struct curl_loop *c, CURL *easy)
{
	must(curl_multi_remove_handle(c->multi, easy) == CURLM_OK);
	curl_easy_setopt(easy, CURLOPT_SHARE, NULL);
	c->count--;
}

bool curl_loop_next_done(struct curl_loop *c, CURL **ret_easy, CURLcode *ret_code)
{
	CURLMsg *message = NULL;
	int left = 0;
	while ((message = curl_multi_info_read(c->multi, &left)) != NULL) {
		if (message->msg == CURLMSG_DONE) {
			*ret_easy = message->easy_handle;
			*ret_code = message->data.result;
			return true;
		}
	}
	return false;
}

unsigned curl_loop_count(const struct curl_loop *c)
{
	return c->count;
}
