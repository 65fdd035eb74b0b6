// SPDX-License-Identifier: Apache-2.0
#include "common/ws.h"

#include "common/clock.h"
#include "common/curl_loop.h"
#include "common/http_peer.h"
#include "common/must.h"
#include "common/ws_upgrade.h"
#include "common/xalloc.h"

#include <bsd/stdlib.h>
#include <stdio.h>
#include <wslay/wslay.h>

/*
 *   CONNECTING --libcurl has a connection--> UPGRADING --101--> OPEN --any end--> CLOSED
 *
 * on_closed() is called once, and not after ws_free(). Both may happen inside callbacks, so memory is freed when the
 * outermost of our handlers returns (`depth`).
 */
enum ws_state { WS_CONNECTING, WS_UPGRADING, WS_OPEN, WS_CLOSED };

enum {
	WS_REQUEST_MAX = 128 * 1024, /* upgrade request; a token alone may have 64 KiB */
	WS_ANSWER_MAX = 16 * 1024,   /* response head, and what follows it in the same read */
	WS_READ_LEN = 4096,
	WS_TURN_LEN = 256 * 1024, /* bytes read before others get their turn */
	WS_QUEUE_MAX = 64,        /* pongs for a server that pings and does not read */
	WS_KEEP_LEN = 16 * 1024,  /* memory kept between two messages */
	WS_GOING_AWAY = 1001,
};

struct ws {
	struct ws_call call; /* texts are not copied */
	enum ws_state state;
	struct curl_loop *curl;
	CURL *easy;
	struct curl_slist *connect_to;
	struct curl_slist *headers;
	struct ws_upgrade upgrade;
	struct buf
		out; /* pending output; does not move while not empty: TLS needs the same bytes again */
	struct buf in; /* the upgrade response, and bytes after it */
	struct buf message;
	wslay_event_context_ptr frames;
	uint8_t opcode;  /* of the incoming message */
	bool is_control; /* of the incoming frame */
	bool is_cut;
	ev_io io;
	ev_timer more;  /* for input left over from a turn */
	ev_timer timer; /* limits the upgrade, later the silence */
	double heard_at;
	size_t turn_len;
	unsigned depth;
	bool freed;
	const char *problem; /* ends the connection as soon as possible */
	char error[CURL_ERROR_SIZE];
};

/* ---- ending ---- */

static bool flush(struct ws *ws);

/* Sends a close frame, if possible without waiting. */
static void send_close(struct ws *ws)
{
	if (ws->state != WS_OPEN || wslay_event_get_close_sent(ws->frames))
		return;
	if (wslay_event_queue_close(ws->frames, WS_GOING_AWAY, NULL, 0) == 0 &&
		wslay_event_send(ws->frames) == 0)
		(void)flush(ws);
}

static void destroy(struct ws *ws)
{
	send_close(ws);
	ev_io_stop(ws->call.loop, &ws->io);
	ev_timer_stop(ws->call.loop, &ws->more);
	ev_timer_stop(ws->call.loop, &ws->timer);
	if (ws->frames != NULL)
		wslay_event_context_free(ws->frames);
	curl_loop_remove(ws->curl, ws->easy);
	curl_easy_cleanup(ws->easy);
	curl_loop_free(ws->curl);
	curl_slist_free_all(ws->connect_to);
	http_headers_free(ws->headers);
	buf_wipe_fini(&ws->out);
	buf_fini(&ws->in);
	buf_fini(&ws->message);
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
	ev_timer_stop(ws->call.loop, &ws->more);
	ev_timer_stop(ws->call.loop, &ws->timer);
	ws->call.on_closed(ws->call.ctx, http_status, reason);
}

void ws_free(struct ws *ws)
{
	if (ws == NULL)
		return;
	enter(ws);
	ws->freed = true;
	leave(ws);
}

/* ---- bytes ---- */

static void watch_socket(struct ws *ws)
{
	bool wants_write = buf_len(&ws->out) != 0 ||
			   (ws->frames != NULL && wslay_event_want_write(ws->frames));
	int events = EV_READ | (wants_write ? EV_WRITE : 0);
	if (ev_is_active(&ws->io) && (ws->io.events & (EV_READ | EV_WRITE)) == events)
		return;
	ev_io_stop(ws->call.loop, &ws->io);
	ev_io_set(&ws->io, ws->io.fd, events);
	ev_io_start(ws->call.loop, &ws->io);
}

/* False if the connection failed; unsent bytes stay. */
static bool flush(struct ws *ws)
{
	while (buf_len(&ws->out) != 0) {
		size_t sent = 0;
		CURLcode code =
			curl_easy_send(ws->easy, buf_data(&ws->out), buf_len(&ws->out), &sent);
		if (code == CURLE_AGAIN)
			return true;
		ws->is_cut = code != CURLE_OK;
		if (ws->is_cut)
			return false;
		buf_consume(&ws->out, sent);
	}
	return true;
}

/* 1: received something; 0: nothing available; -1: the connection has ended. */
static int receive(struct ws *ws, uint8_t *place, size_t len, size_t *ret_got)
{
	CURLcode code = curl_easy_recv(ws->easy, place, len, ret_got);
	if (code == CURLE_AGAIN)
		return 0;
	ws->is_cut = code != CURLE_OK || *ret_got == 0;
	if (ws->is_cut)
		return -1;
	ws->heard_at = clock_monotonic_s();
	return 1;
}

/* ---- frames: callbacks of wslay ---- */

static ssize_t recv_bytes(
	wslay_event_context_ptr frames, uint8_t *data, size_t len, int flags, void *user_data)
{
	struct ws *ws = user_data;
	size_t got = buf_len(&ws->in) < len ? buf_len(&ws->in) : len;
	int outcome = 1;
	if (ws->turn_len >= WS_TURN_LEN || ws->freed)
		outcome = 0;
	else if (got != 0) {
		memcpy(data, buf_data(&ws->in), got);
		buf_consume(&ws->in, got);
	} else {
		outcome = receive(ws, data, len, &got);
	}
	if (outcome <= 0) {
		wslay_event_set_error(
			frames, outcome == 0 ? WSLAY_ERR_WOULDBLOCK : WSLAY_ERR_CALLBACK_FAILURE);
		return -1;
	}
	ws->turn_len += got;
	return (ssize_t)got;
}

static ssize_t send_bytes(
	wslay_event_context_ptr frames, const uint8_t *data, size_t len, int flags, void *user_data)
{
	struct ws *ws = user_data;
	/* wslay's bytes stand on its stack, so they are copied before TLS sees them. */
	if (!flush(ws)) {
		wslay_event_set_error(frames, WSLAY_ERR_CALLBACK_FAILURE);
		return -1;
	}
	if (buf_len(&ws->out) != 0 || buf_append(&ws->out, data, len) != 0) {
		wslay_event_set_error(frames, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	return (ssize_t)len;
}

static int make_mask(wslay_event_context_ptr frames, uint8_t *data, size_t len, void *user_data)
{
	arc4random_buf(data, len);
	return 0;
}

static void give_up(struct ws *ws, const char *problem)
{
	ws->problem = problem;
	wslay_event_shutdown_read(ws->frames);
}

static void on_frame_start(wslay_event_context_ptr frames,
	const struct wslay_event_on_frame_recv_start_arg *frame, void *user_data)
{
	struct ws *ws = user_data;
	ws->is_control = wslay_is_ctrl_frame(frame->opcode);
	if (!ws->is_control && frame->opcode != WSLAY_CONTINUATION_FRAME)
		ws->opcode = frame->opcode;
}

/* wslay would keep each fragment in its own block: fragments of one byte would take a hundred times their length. */
static void on_frame_chunk(wslay_event_context_ptr frames,
	const struct wslay_event_on_frame_recv_chunk_arg *chunk, void *user_data)
{
	struct ws *ws = user_data;
	if (!ws->is_control && ws->opcode == WSLAY_TEXT_FRAME && ws->problem == NULL &&
		buf_append(&ws->message, chunk->data, chunk->data_length) != 0)
		give_up(ws, "a message is too long");
}

static void on_message(wslay_event_context_ptr frames,
	const struct wslay_event_on_msg_recv_arg *message, void *user_data)
{
	struct ws *ws = user_data;
	if (message->opcode == WSLAY_PING &&
		wslay_event_get_queued_msg_count(frames) > WS_QUEUE_MAX)
		give_up(ws, "the server asks and does not read the answers");
	if (message->opcode != WSLAY_TEXT_FRAME || ws->problem != NULL)
		return;
	ws->call.on_text(ws->call.ctx, buf_str(&ws->message));
	buf_shrink(&ws->message, WS_KEEP_LEN);
	if (ws->freed)
		wslay_event_shutdown_read(frames);
}

/* ---- frames: calls to wslay ---- */

static const char *reason_of_end(struct ws *ws)
{
	if (ws->problem != NULL)
		return ws->problem;
	if (wslay_event_get_close_received(ws->frames)) {
		snprintf(ws->error, sizeof(ws->error), "the server closed the connection (%u)",
			wslay_event_get_status_code_received(ws->frames));
		return ws->error;
	}
	if (ws->is_cut)
		return "the connection was cut";
	switch (wslay_event_get_status_code_sent(ws->frames)) {
	case WSLAY_CODE_MESSAGE_TOO_BIG:
		return "a message is too long";
	case WSLAY_CODE_INVALID_FRAME_PAYLOAD_DATA:
		return "a message is no UTF-8";
	default:
		return "a frame is malformed";
	}
}

static void run_frames(struct ws *ws)
{
	ws->turn_len = 0;
	bool failed = wslay_event_recv(ws->frames) != 0;
	if (ws->freed)
		return;
	/* Even after reading has ended, so that the server learns why. */
	if (!ws->is_cut && (wslay_event_send(ws->frames) != 0 || !flush(ws)))
		failed = true;
	if (failed || !wslay_event_get_read_enabled(ws->frames)) {
		end(ws, 0, reason_of_end(ws));
		return;
	}
	watch_socket(ws);
	if (ws->turn_len >= WS_TURN_LEN)
		ev_timer_start(ws->call.loop, &ws->more);
}

static void begin_frames(struct ws *ws)
{
	static const struct wslay_event_callbacks callbacks = {
		.recv_callback = recv_bytes,
		.send_callback = send_bytes,
		.genmask_callback = make_mask,
		.on_frame_recv_start_callback = on_frame_start,
		.on_frame_recv_chunk_callback = on_frame_chunk,
		.on_msg_recv_callback = on_message,
	};
	ws->state = WS_OPEN;
	if (wslay_event_context_client_init(&ws->frames, &callbacks, ws) != 0)
		xalloc_fail();
	wslay_event_config_set_no_buffering(ws->frames, 1);
	wslay_event_config_set_max_recv_msg_length(ws->frames, ws->call.message_max);
	/* The request with its credentials has been sent. */
	buf_wipe_fini(&ws->out);
	http_headers_free(ws->headers);
	ws->headers = NULL;
	ws->timer.repeat = ws->call.ping_after_s / 2;
	ev_timer_again(ws->call.loop, &ws->timer);
	ws->call.on_open(ws->call.ctx);
	if (!ws->freed)
		run_frames(ws);
}

/* ---- upgrade ---- */

static void read_answer(struct ws *ws)
{
	size_t got = 0;
	uint8_t *room = buf_reserve(&ws->in, WS_READ_LEN);
	if (room == NULL) {
		end(ws, 0, "the answer to the upgrade is too long");
		return;
	}
	int outcome = receive(ws, room, WS_READ_LEN, &got);
	if (outcome < 0)
		end(ws, 0, "the connection was cut before the upgrade was answered");
	if (outcome <= 0)
		return;
	buf_commit(&ws->in, got);
	size_t head_len = 0;
	long status = 0;
	const char *problem = ws_upgrade_check(&ws->upgrade, buf_str(&ws->in), &head_len, &status);
	if (problem != NULL) {
		end(ws, status, problem);
	} else if (head_len != 0) {
		/* The bytes after the head are the first frames. */
		buf_consume(&ws->in, head_len);
		begin_frames(ws);
	} else {
		/* TLS may have buffered more than the socket shows. */
		ev_timer_start(ws->call.loop, &ws->more);
	}
}

static void run_upgrade(struct ws *ws)
{
	if (!flush(ws)) {
		end(ws, 0, "the connection was cut before the upgrade was answered");
		return;
	}
	watch_socket(ws);
	read_answer(ws);
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
	ev_io_set(&ws->io, fd, EV_READ);
	watch_socket(ws);
}

/* ---- the loop ---- */

static void run(struct ws *ws)
{
	enter(ws);
	if (ws->state == WS_OPEN)
		run_frames(ws);
	else if (ws->state == WS_UPGRADING)
		run_upgrade(ws);
	leave(ws);
}

static void on_io(struct ev_loop *loop, ev_io *watcher, int events)
{
	run(watcher->data);
}

static void on_more(struct ev_loop *loop, ev_timer *timer, int events)
{
	run(timer->data);
}

static void on_progress(void *ctx)
{
	struct ws *ws = ctx;
	CURL *easy = NULL;
	CURLcode code = CURLE_OK;
	enter(ws);
	if (curl_loop_next_done(ws->curl, &easy, &code) && ws->state == WS_CONNECTING) {
		if (ws->problem != NULL)
			end(ws, 0, ws->problem);
		else if (code == CURLE_OK)
			begin_upgrade(ws);
		else
			end(ws, 0, ws->error[0] != '\0' ? ws->error : curl_easy_strerror(code));
	}
	leave(ws);
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct ws *ws = timer->data;
	enter(ws);
	double silent_s = clock_monotonic_s() - ws->heard_at;
	if (ws->state != WS_OPEN) {
		end(ws, 0,
			ws->problem != NULL ? ws->problem : "the upgrade was not answered in time");
	} else if (silent_s >= ws->call.dead_after_s) {
		end(ws, 0, "the server is silent");
	} else if (silent_s >= ws->call.ping_after_s) {
		struct wslay_event_msg ping = {.opcode = WSLAY_PING};
		/* One pending ping is enough. */
		if (!wslay_event_want_write(ws->frames))
			(void)wslay_event_queue_msg(ws->frames, &ping);
		watch_socket(ws);
	}
	leave(ws);
}

/* ---- opening ---- */

static const char *prepare(struct ws *ws, const struct ws_call *call)
{
	char *http_url = ws_upgrade_http_url(call->url);
	const char *problem = http_peer_apply(ws->easy, call->peer, http_url,
		call->connect_timeout_s, &ws->headers, &ws->connect_to);
	free(http_url);
	bool good = true;
	for (size_t i = 0; good && call->headers != NULL && call->headers[i] != NULL; i++)
		good = http_headers_add(&ws->headers, call->headers[i]);
	if (good && call->username != NULL)
		good = http_headers_add_basic(&ws->headers, call->username, call->password);
	if (problem == NULL && !good)
		problem = "a header holds a line break";
	if (problem == NULL)
		problem = ws_upgrade_write(
			&ws->upgrade, call->url, call->user_agent, ws->headers, &ws->out);
	curl_easy_setopt(ws->easy, CURLOPT_CONNECT_ONLY, 1L);
	curl_easy_setopt(ws->easy, CURLOPT_ERRORBUFFER, ws->error);
	/* A proxy must tunnel the bytes, not parse them. */
	curl_easy_setopt(ws->easy, CURLOPT_HTTPPROXYTUNNEL, 1L);
	return problem;
}

struct ws *ws_open(const struct ws_call *call)
{
	struct ws *ws = xcalloc(1, sizeof(*ws));
	ws->call = *call;
	ws->heard_at = clock_monotonic_s();
	buf_init(&ws->out, WS_REQUEST_MAX);
	buf_init(&ws->in, WS_ANSWER_MAX + WS_READ_LEN);
	buf_init(&ws->message, call->message_max);
	ev_init(&ws->io, on_io);
	ev_init(&ws->timer, on_timer);
	ev_timer_init(&ws->more, on_more, 0., 0.);
	ws->io.data = ws->timer.data = ws->more.data = ws;
	ws->curl = curl_loop_new(call->loop, 1, on_progress, ws);
	ws->easy = curl_easy_init();
	must(ws->easy != NULL);
	ws->problem = prepare(ws, call);
	must(curl_loop_add(ws->curl, ws->easy) == CURLM_OK);
	/* Errors in the call are reported from the loop, too. */
	ws->timer.repeat = ws->problem != NULL ? 1e-6 : call->connect_timeout_s;
	ev_timer_again(call->loop, &ws->timer);
	return ws;
}
