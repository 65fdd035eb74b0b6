// SPDX-License-Identifier: Apache-2.0
#include "common/ws.h"

#include "common/curl_loop.h"
#include "common/http_easy.h"
#include "common/must.h"
#include "common/ws_upgrade.h"
#include "common/xalloc.h"

#include <bsd/stdlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <wslay/wslay.h>

/*
 *   CONNECTING --libcurl has a connection--> UPGRADING --101--> OPEN --any end--> CLOSED
 *
 * on_closed() is called once, and not after ws_free(). Both may happen inside callbacks, so memory is given back when the
 * outermost of our handlers returns (`depth`).
 */
enum ws_state { WS_CONNECTING, WS_UPGRADING, WS_OPEN, WS_CLOSED };

enum { WS_ANSWER_MAX = 16 * 1024 };

struct ws {
	struct ws_call call;
	enum ws_state state;
	struct curl_loop *curl;
	CURL *easy;
	struct curl_slist *connect_to;
	struct curl_slist *headers;
	struct ws_upgrade *upgrade;
	struct buf out; /* of the upgrade */
	struct buf in;  /* the answer to it, and what came glued to it */
	wslay_event_context_ptr frames;
	ev_io io;
	ev_timer timer; /* the time of the upgrade; then the silence */
	ev_tstamp heard_at;
	unsigned depth;
	bool freed;
};

static void destroy(struct ws *ws)
{
	ev_io_stop(ws->call.loop, &ws->io);
	ev_timer_stop(ws->call.loop, &ws->timer);
	if (ws->frames != NULL)
		wslay_event_context_free(ws->frames);
	curl_loop_enter(ws->curl);
	curl_multi_remove_handle(curl_loop_multi(ws->curl), ws->easy);
	curl_loop_leave(ws->curl);
	curl_easy_cleanup(ws->easy);
	curl_loop_free(ws->curl);
	curl_slist_free_all(ws->connect_to);
	http_easy_free_headers(ws->headers);
	ws_upgrade_free(ws->upgrade);
	buf_wipe_fini(&ws->out);
	buf_fini(&ws->in);
	free(ws);
}

static void enter(struct ws *ws)
{
	ws->depth++;
}

static void leave(struct ws *ws)
{
	if (--ws->depth == 0 && ws->freed)
		destroy(ws);
}

static void end(struct ws *ws, long http_status, const char *reason)
{
	if (ws->state == WS_CLOSED || ws->freed)
		return;
	ws->state = WS_CLOSED;
	ev_io_stop(ws->call.loop, &ws->io);
	ev_timer_stop(ws->call.loop, &ws->timer);
	ws->call.on_closed(ws->call.ctx, http_status, reason);
}

void ws_free(struct ws *ws)
{
	if (ws == NULL)
		return;
	ws->freed = true;
	if (ws->depth == 0)
		destroy(ws);
}

/* ---- frames ---- */

static ssize_t recv_bytes(
	wslay_event_context_ptr frames, uint8_t *data, size_t len, int flags, void *user_data)
{
	struct ws *ws = user_data;
	size_t got = 0;
	(void)flags;
	if (ws->state != WS_OPEN || ws->freed) {
		wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	if (buf_len(&ws->in) != 0) {
		got = buf_len(&ws->in) < len ? buf_len(&ws->in) : len;
		memcpy(data, buf_data(&ws->in), got);
		buf_consume(&ws->in, got);
		return (ssize_t)got;
	}
	CURLcode code = curl_easy_recv(ws->easy, data, len, &got);
	if (code == CURLE_OK && got > 0)
		return (ssize_t)got;
	wslay_event_set_error(
		frames, code == CURLE_AGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static ssize_t send_bytes(
	wslay_event_context_ptr frames, const uint8_t *data, size_t len, int flags, void *user_data)
{
	struct ws *ws = user_data;
	size_t sent = 0;
	(void)flags;
	CURLcode code = curl_easy_send(ws->easy, data, len, &sent);
	if (code == CURLE_OK)
		return (ssize_t)sent;
	wslay_event_set_error(
		frames, code == CURLE_AGAIN ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static int make_mask(wslay_event_context_ptr frames, uint8_t *data, size_t len, void *user_data)
{
	(void)frames;
	(void)user_data;
	arc4random_buf(data, len);
	return 0;
}

static void on_message(wslay_event_context_ptr frames,
	const struct wslay_event_on_msg_recv_arg *message, void *user_data)
{
	struct ws *ws = user_data;
	(void)frames;
	struct str text = {(const char *)message->msg, message->msg_length};
	if (message->opcode == WSLAY_TEXT_FRAME && ws->state == WS_OPEN && !ws->freed)
		ws->call.on_text(ws->call.ctx, text);
}

static void watch_socket(struct ws *ws, int events)
{
	if ((ws->io.events & (EV_READ | EV_WRITE)) == events && ev_is_active(&ws->io))
		return;
	ev_io_stop(ws->call.loop, &ws->io);
	ev_io_set(&ws->io, ws->io.fd, events);
	ev_io_start(ws->call.loop, &ws->io);
}

static void run_frames(struct ws *ws)
{
	int failed = wslay_event_recv(ws->frames);
	if (failed == 0 && !ws->freed && ws->state == WS_OPEN)
		failed = wslay_event_send(ws->frames);
	if (ws->freed || ws->state != WS_OPEN)
		return;
	if (failed != 0)
		end(ws, 0, "the connection failed or a frame was malformed");
	else if (wslay_event_get_close_received(ws->frames))
		end(ws, 0, "the server closed the connection");
	else
		watch_socket(ws, EV_READ | (wslay_event_want_write(ws->frames) ? EV_WRITE : 0));
}

static void begin_frames(struct ws *ws)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = recv_bytes,
		.send_callback = send_bytes,
		.genmask_callback = make_mask,
		.on_msg_recv_callback = on_message,
	};
	ws->state = WS_OPEN;
	must(wslay_event_context_client_init(&ws->frames, &callbacks, ws) == 0);
	wslay_event_config_set_max_recv_msg_length(ws->frames, ws->call.message_max);
	ws->timer.repeat = ws->call.ping_after_s / 2;
	ev_timer_again(ws->call.loop, &ws->timer);
	ws->call.on_open(ws->call.ctx);
	if (!ws->freed)
		run_frames(ws);
}

/* ---- upgrade ---- */

static void send_upgrade(struct ws *ws)
{
	size_t sent = 0;
	CURLcode code = curl_easy_send(ws->easy, buf_data(&ws->out), buf_len(&ws->out), &sent);
	if (code != CURLE_OK && code != CURLE_AGAIN) {
		end(ws, 0, "the upgrade could not be sent");
		return;
	}
	buf_consume(&ws->out, sent);
	watch_socket(ws, EV_READ | (buf_len(&ws->out) != 0 ? EV_WRITE : 0));
}

static void read_answer(struct ws *ws)
{
	size_t got = 0;
	uint8_t *room = buf_reserve(&ws->in, 4096);
	if (room == NULL) {
		end(ws, 0, "the answer to the upgrade is too long");
		return;
	}
	CURLcode code = curl_easy_recv(ws->easy, room, 4096, &got);
	if (code == CURLE_AGAIN)
		return;
	if (code != CURLE_OK || got == 0) {
		end(ws, 0, "the connection ended before the upgrade was answered");
		return;
	}
	buf_commit(&ws->in, got);
	size_t head_len = 0;
	long status = 0;
	const char *problem = ws_upgrade_check(ws->upgrade, buf_str(&ws->in), &head_len, &status);
	if (problem != NULL) {
		end(ws, status, problem);
	} else if (head_len != 0) {
		/* What follows the head is already the first frame. */
		buf_consume(&ws->in, head_len);
		begin_frames(ws);
	}
}

static void on_io(struct ev_loop *loop, ev_io *watcher, int events)
{
	struct ws *ws = watcher->data;
	enter(ws);
	ws->heard_at = ev_now(loop);
	if (ws->state == WS_OPEN) {
		run_frames(ws);
	} else if (ws->state == WS_UPGRADING) {
		if ((events & EV_WRITE) != 0 && buf_len(&ws->out) != 0)
			send_upgrade(ws);
		if ((events & EV_READ) != 0 && ws->state == WS_UPGRADING && !ws->freed)
			read_answer(ws);
	}
	leave(ws);
}

static void begin_upgrade(struct ws *ws)
{
	curl_socket_t fd = CURL_SOCKET_BAD;
	curl_easy_getinfo(ws->easy, CURLINFO_ACTIVESOCKET, &fd);
	if (fd == CURL_SOCKET_BAD) {
		end(ws, 0, "the connection was lost at once");
		return;
	}
	ws->state = WS_UPGRADING;
	ev_io_set(&ws->io, fd, EV_READ | EV_WRITE);
	ev_io_start(ws->call.loop, &ws->io);
}

/* ---- connecting, time ---- */

static void on_progress(void *ctx)
{
	struct ws *ws = ctx;
	int left = 0;
	CURLMsg *message;
	enter(ws);
	while (!ws->freed && ws->state == WS_CONNECTING &&
		(message = curl_multi_info_read(curl_loop_multi(ws->curl), &left)) != NULL) {
		if (message->msg != CURLMSG_DONE)
			continue;
		if (message->data.result == CURLE_OK)
			begin_upgrade(ws);
		else
			end(ws, 0, curl_easy_strerror(message->data.result));
	}
	leave(ws);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct ws *ws = timer->data;
	(void)events;
	enter(ws);
	double silent_s = ev_now(loop) - ws->heard_at;
	if (ws->state != WS_OPEN) {
		end(ws, 0, "the upgrade was not answered in time");
	} else if (silent_s >= ws->call.dead_after_s) {
		end(ws, 0, "the server is silent");
	} else if (silent_s >= ws->call.ping_after_s) {
		struct wslay_event_msg ping = {.opcode = WSLAY_PING};
		(void)wslay_event_queue_msg(ws->frames, &ping);
		watch_socket(ws, EV_READ | EV_WRITE);
	}
	leave(ws);
}

static void set_up_easy(struct ws *ws, const char *http_url)
{
	ws->easy = curl_easy_init();
	must(ws->easy != NULL);
	ws->connect_to = http_easy_set_peer(ws->easy, ws->call.peer, http_url, &ws->headers);
	curl_easy_setopt(ws->easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(ws->easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(ws->easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl_easy_setopt(ws->easy, CURLOPT_SSL_ENABLE_ALPN, 0L);
	/* A proxy must pass the bytes on, not read them. */
	curl_easy_setopt(ws->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
	curl_easy_setopt(
		ws->easy, CURLOPT_CONNECTTIMEOUT_MS, (long)(ws->call.connect_timeout_s * 1e3));
}

struct ws *ws_open(const struct ws_call *call)
{
	struct ws *ws = xcalloc(1, sizeof(*ws));
	ws->call = *call;
	ws->heard_at = ev_now(call->loop);
	buf_init(&ws->out, WS_ANSWER_MAX);
	buf_init(&ws->in, WS_ANSWER_MAX);
	ws->upgrade = ws_upgrade_new(call, &ws->out);
	ws->curl = curl_loop_new(call->loop, 1, on_progress, ws);
	char *http_url = ws_upgrade_http_url(call->url);
	set_up_easy(ws, http_url);
	free(http_url);
	ev_init(&ws->io, on_io);
	ev_init(&ws->timer, on_timer);
	ws->io.data = ws->timer.data = ws;
	ws->timer.repeat = call->connect_timeout_s;
	ev_timer_again(call->loop, &ws->timer);
	curl_loop_enter(ws->curl);
	CURLMcode code = curl_multi_add_handle(curl_loop_multi(ws->curl), ws->easy);
	curl_loop_leave(ws->curl);
	must(code == CURLM_OK);
	return ws;
}
