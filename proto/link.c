// SPDX-License-Identifier: Apache-2.0
#include "proto/link.h"

#include "common/backoff.h"
#include "common/clock.h"
#include "common/descriptors.h"
#include "common/must.h"
#include "common/stream.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"
#include "proto/deadlines.h"
#include "proto/frame.h"
#include "proto/listener.h"
#include "proto/log_events.h"
#include "proto/messages.h"
#include "proto/metrics.h"
#include "proto/refusal.h"
#include "proto/traffic.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

enum link_state { LINK_CLOSED, LINK_GREETING, LINK_UP };

static const double CONNECT_FIRST_S = 0.1;
static const double CONNECT_CAP_S = 2.5;

struct link {
	struct link_config config;
	char *path;
	struct listener *listener; /* NULL: this side connects */
	ev_timer timer; /* connecting side: next try while closed; both: pings while open */
	struct backoff backoff;
	enum link_state state;
	struct stream *stream;
	struct message_reader *reader;
	struct arena arena; /* for messages of the link itself: hello, ping */
	struct deadlines deadlines;
	struct traffic traffic;
	uint64_t ping_seq;
	char *peer_name;
	char complaint[SCHEMA_ERROR_LEN + 128];
	char refusal[REFUSAL_LEN_MAX]; /* why another peer is refused */
};

static struct log_field peer_field(const struct link *link)
{
	return LOG_STR("peer", peer_role_words[link->config.peer_role]);
}

void link_complain(struct link *link, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(link->complaint, sizeof(link->complaint), format, args);
	va_end(args);
}

/* ---- metrics ---- */

static unsigned peer_series(const struct link *link)
{
	return (unsigned)link->config.peer_role - 1;
}

static void collect(void *ctx)
{
	struct link *link = ctx;
	double waiting = 0;
	if (link->stream != NULL) {
		traffic_count_bytes(&link->traffic, link->stream);
		waiting = (double)buf_len(stream_out(link->stream));
	}
	metric_set(&link_metrics[LINK_IS_UP], peer_series(link), link->state == LINK_UP);
	metric_set(&link_metrics[LINK_WAITING], peer_series(link), waiting);
}

void link_flush(struct link *link)
{
	traffic_count_sent(&link->traffic, link->stream);
	stream_flush(link->stream);
}

/* ---- closing ---- */

static void schedule_connect(struct link *link)
{
	if (link->listener != NULL)
		return;
	link->timer.repeat = backoff_next(&link->backoff);
	ev_timer_again(link->config.loop, &link->timer);
}

static void send_bye(struct link *link, const char *reason)
{
	struct schema_error error;
	struct bye bye = {.reason = str_from(reason)};
	if (message_encode(MESSAGE_BYE, &bye, stream_out(link->stream), &error) == 0)
		stream_flush_now(link->stream);
}

/* Closes the connection, not the link: one side goes on listening, the other tries again. */
static void drop(struct link *link, const char *reason, bool tell_peer)
{
	bool was_up = link->state == LINK_UP;
	if (tell_peer)
		send_bye(link, reason);
	traffic_count_bytes(&link->traffic, link->stream);
	stream_close(link->stream);
	link->stream = NULL;
	link->state = LINK_CLOSED;
	ev_timer_stop(link->config.loop, &link->timer);
	log_event(&EV_LINK_DOWN, peer_field(link), LOG_STR("name", link->peer_name),
		LOG_STR("reason", reason));
	free(link->peer_name);
	link->peer_name = NULL;
	schedule_connect(link);
	if (was_up)
		link->config.ops->on_down(link->config.ctx, link);
}

static void drop_for_complaint(struct link *link)
{
	/* drop() does not clear the complaint, but its callbacks may overwrite it. */
	char reason[sizeof(link->complaint)];
	memcpy(reason, link->complaint, sizeof(reason));
	drop(link, reason, true);
}

/* ---- messages ---- */

int link_decode(
	struct link *link, const struct message *message, struct arena *arena, void *ret_value)
{
	struct schema_error error = {""};
	int err = message_decode(message, arena, ret_value, &error);
	if (err != 0)
		link_complain(link, "%s: %s", message_word(message->type), error.text);
	return err;
}

static void begin_up(struct link *link, const struct hello *peer)
{
	link->state = LINK_UP;
	backoff_succeeded(&link->backoff);
	metric_add(&link_metrics[LINK_UPS], peer_series(link), 1);
	free(link->peer_name);
	link->peer_name = str_dup(peer->name);
	log_event(&EV_LINK_UP, peer_field(link), LOG_STR("name", link->peer_name),
		LOG_TEXT("software", peer->software));
}

static int take_hello(struct link *link, const struct message *message)
{
	struct hello peer;
	if (link_decode(link, message, &link->arena, &peer) != 0)
		return -EPROTO;
	const struct hello *ours = &link->config.hello;
	if (peer.version_min > ours->version_max || peer.version_max < ours->version_min) {
		link_complain(link,
			"no common protocol version: the peer speaks %llu to %llu, we %llu to "
			"%llu; "
			"run releases that are closer to each other",
			(unsigned long long)peer.version_min, (unsigned long long)peer.version_max,
			(unsigned long long)ours->version_min,
			(unsigned long long)ours->version_max);
		return -EPROTO;
	}
	if (peer.role != link->config.peer_role) {
		link_complain(link, "this socket is for a %s, the peer is a %s",
			peer_role_words[link->config.peer_role], peer_role_words[peer.role]);
		return -EPROTO;
	}
	begin_up(link, &peer);
	const char *refusal = link->config.ops->on_up(link->config.ctx, link, &peer);
	if (refusal != NULL) {
		link_complain(link, "%s", refusal);
		return -EPROTO;
	}
	link->config.ops->on_room(link->config.ctx, link);
	return 0;
}

static int take_bye(struct link *link, const struct message *message)
{
	struct bye bye;
	if (link_decode(link, message, &link->arena, &bye) != 0)
		return -EPROTO;
	link_complain(link, "the peer says: %.*s", STR_FMT(bye.reason));
	return -ESHUTDOWN;
}

static int take_ping(struct link *link, const struct message *message)
{
	struct ping ping;
	if (link_decode(link, message, &link->arena, &ping) != 0)
		return -EPROTO;
	/* A peer that does not read gets no pongs, so that pings cannot fill the output. */
	return link_is_full(link) ? 0 : link_send(link, MESSAGE_PONG, &ping);
}

static int take_message(struct link *link, const struct message *message)
{
	if (message->type == MESSAGE_BYE)
		return take_bye(link, message);
	if (link->state == LINK_GREETING) {
		if (message->type == MESSAGE_HELLO)
			return take_hello(link, message);
		link_complain(link, "%s before hello", message_word(message->type));
		return -EPROTO;
	}
	switch (message->type) {
	case MESSAGE_HELLO:
		link_complain(link, "a second hello");
		return -EPROTO;
	case MESSAGE_PING:
		return take_ping(link, message);
	case MESSAGE_PONG:
	case MESSAGE_UNKNOWN:
		return 0;
	default:
		return link->config.ops->on_message(link->config.ctx, link, message);
	}
}

static void tell_bad(struct link *link)
{
	metric_add(&link_metrics[LINK_BAD], peer_series(link), 1);
	log_event(&EV_LINK_BAD_MESSAGE, peer_field(link), LOG_STR("reason", link->complaint));
}

static int take_payload(struct link *link, struct str payload)
{
	struct schema_error error = {""};
	struct message message = {.type = MESSAGE_UNKNOWN};
	link->complaint[0] = '\0';
	traffic_count_received(&link->traffic);
	int err = message_open(link->reader, payload, &message, &error);
	if (err != 0)
		link_complain(link, "bad frame: %s", error.text);
	else
		err = take_message(link, &message);
	arena_reset(&link->arena);
	if (err != 0 && link->complaint[0] == '\0')
		link_complain(link, "%s: %s", message_word(message.type), strerror(-err));
	if (err != 0 && err != -ESHUTDOWN)
		tell_bad(link);
	return err;
}

/* ---- stream ---- */

/* The result is never negative: this function closes the link itself, because it knows why. */
static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct link *link = ctx;
	struct str payload;
	enum frame_outcome outcome;
	bool had_frame = false;
	while ((outcome = frame_next(in, &payload)) == FRAME_READY) {
		had_frame = true;
		int err = take_payload(link, payload);
		if (link->stream != stream)
			return 0;
		if (err != 0) {
			drop_for_complaint(link);
			return 0;
		}
		buf_consume(in, frame_len_of(payload));
	}
	deadlines_heard(&link->deadlines, clock_monotonic_s(), had_frame, buf_len(in) != 0);
	if (outcome != FRAME_PARTIAL) {
		link_complain(link, "bad frame: it announces %zu bytes, 1 to %d are allowed",
			frame_len_at(buf_data(in)) - FRAME_HEAD_LEN, FRAME_LEN_MAX);
		tell_bad(link);
		drop_for_complaint(link);
	}
	return 0;
}

static void on_stream_dry(void *ctx, struct stream *stream)
{
	struct link *link = ctx;
	if (link->state == LINK_UP)
		link->config.ops->on_dry(link->config.ctx, link);
}

static void on_stream_room(void *ctx, struct stream *stream)
{
	struct link *link = ctx;
	if (link->state == LINK_UP)
		link->config.ops->on_room(link->config.ctx, link);
}

static void on_stream_closed(void *ctx, struct stream *stream, int err)
{
	drop(ctx, err == 0 ? "the peer closed the connection" : strerror(-err), false);
}

static const struct stream_ops stream_ops = {
	.on_input = on_input,
	.on_dry = on_stream_dry,
	.on_room = on_stream_room,
	.on_closed = on_stream_closed,
};

static void begin_greeting(struct link *link, int fd)
{
	static const struct stream_limits limits = {
		.in_max = FRAME_HEAD_LEN + FRAME_LEN_MAX,
		.out_high = LINK_OUT_HIGH,
		.out_low = LINK_OUT_LOW,
		/* Two messages above the mark: the one that crosses it, and a ping or bye. */
		.out_max = LINK_OUT_HIGH + 2 * (FRAME_HEAD_LEN + FRAME_LEN_MAX),
	};
	link->state = LINK_GREETING;
	deadlines_begin(&link->deadlines, clock_monotonic_s());
	traffic_begin(&link->traffic, peer_series(link));
	link->stream = stream_new(link->config.loop, fd, &limits, &stream_ops, link);
	(void)link_send(link, MESSAGE_HELLO, &link->config.hello);
	link->timer.repeat = link->config.ping_after_s / 4;
	ev_timer_again(link->config.loop, &link->timer);
}

/* ---- connecting, accepting, timeouts ---- */

static void try_connect(struct link *link)
{
	int fd = unix_connect(link->path);
	if (fd >= 0) {
		begin_greeting(link, fd);
		return;
	}
	descriptors_check(fd);
	log_event(&EV_LINK_WAITING, peer_field(link), LOG_STR("socket", link->path), LOG_ERRNO(fd));
	schedule_connect(link);
}

static void watch_times(struct link *link)
{
	double now = clock_monotonic_s();
	double silent = now - link->deadlines.heard_at;
	deadlines_look(&link->deadlines, now, stream_sent(link->stream),
		buf_len(stream_out(link->stream)) != 0);
	const char *missed = deadlines_missed(&link->deadlines, now, link->state == LINK_UP);
	if (missed != NULL) {
		drop(link, missed, true);
	} else if (silent >= link->config.ping_after_s && link->state == LINK_UP) {
		struct ping ping = {.seq = ++link->ping_seq};
		(void)link_send(link, MESSAGE_PING, &ping);
	}
}

static void on_timer(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct link *link = timer->data;
	if (link->state == LINK_CLOSED)
		try_connect(link);
	else
		watch_times(link);
}

static const char *take_connection(void *ctx, int fd)
{
	struct link *link = ctx;
	if (link->state == LINK_CLOSED) {
		begin_greeting(link, fd);
		return NULL;
	}
	refusal_describe(peer_role_words[link->config.peer_role],
		link->state == LINK_UP ? link->peer_name : NULL, link->refusal);
	return link->refusal;
}

static void socket_gone(void *ctx, const char *path, bool is_inherited)
{
	struct link *link = ctx;
	log_event(&EV_LINK_SOCKET_GONE, peer_field(link), LOG_STR("socket", path),
		LOG_STR("made_by", is_inherited ? "the service manager" : "this program"));
	if (!is_inherited && link->config.on_socket_gone != NULL)
		link->config.on_socket_gone(link->config.ctx);
}

/* ---- lifecycle ---- */

static struct link *link_new(const struct link_config *config)
{
	struct link *link = xcalloc(1, sizeof(*link));
	link->config = *config;
	if (link->config.ping_after_s <= 0)
		link->config.ping_after_s = LINK_PING_AFTER_S;
	deadlines_init(&link->deadlines, config->dead_after_s);
	link->path = xstrdup(config->path);
	link->reader = message_reader_new();
	arena_init(&link->arena);
	backoff_init(&link->backoff, CONNECT_FIRST_S, CONNECT_CAP_S);
	ev_init(&link->timer, on_timer);
	link->timer.data = link;
	metrics_add(link_metrics, LINK_METRIC_COUNT);
	metrics_collect_with(collect, link);
	metric_add(&link_metrics[LINK_UPS], peer_series(link), 0);
	metric_add(&link_metrics[LINK_BAD], peer_series(link), 0);
	return link;
}

struct link *link_listen(const struct link_config *config, int *ret_err)
{
	struct link *link = link_new(config);
	const struct listener_config listener = {
		.loop = config->loop,
		.path = config->path,
		.socket_name = config->socket_name,
		.peer = peer_role_words[config->peer_role],
		.allowed_uids = config->allowed_uids,
		.allowed_count = config->allowed_count,
		.allow_option = config->allow_option,
		.take = take_connection,
		.refused = refusal_send,
		.gone = socket_gone,
		.ctx = link,
	};
	link->listener = listener_new(&listener, ret_err);
	if (link->listener == NULL) {
		link_free(link, NULL);
		return NULL;
	}
	log_event(&EV_LINK_LISTENING, peer_field(link), LOG_STR("socket", link->path));
	return link;
}

struct link *link_connect(const struct link_config *config)
{
	struct link *link = link_new(config);
	/* Started from the loop: no callback before the caller has our address. */
	link->timer.repeat = 0.001;
	ev_timer_again(config->loop, &link->timer);
	return link;
}

void link_free(struct link *link, const char *reason)
{
	if (link == NULL)
		return;
	metrics_collect_without(collect, link);
	ev_timer_stop(link->config.loop, &link->timer);
	if (link->stream != NULL) {
		send_bye(link, reason);
		stream_close(link->stream);
	}
	listener_free(link->listener);
	message_reader_free(link->reader);
	arena_fini(&link->arena);
	free(link->peer_name);
	free(link->path);
	free(link);
}

bool link_is_up(const struct link *link)
{
	return link->state == LINK_UP;
}

bool link_is_full(const struct link *link)
{
	return stream_is_full(link->stream);
}

struct buf *link_out(struct link *link)
{
	return stream_out(link->stream);
}

int link_send(struct link *link, enum message_type type, const void *value)
{
	struct schema_error error = {""};
	must(link->stream != NULL);
	int err = message_encode(type, value, stream_out(link->stream), &error);
	if (err != 0)
		log_event(&EV_LINK_BAD_MESSAGE, peer_field(link),
			LOG_STR("type", message_word(type)), LOG_STR("reason", error.text));
	else
		link_flush(link);
	return err;
}

void link_send_payload(struct link *link, struct str payload)
{
	unsigned char head[FRAME_HEAD_LEN] = {(unsigned char)(payload.len >> 24),
		(unsigned char)(payload.len >> 16), (unsigned char)(payload.len >> 8),
		(unsigned char)payload.len};
	struct buf *out = stream_out(link->stream);
	/* There is always room for one more message than the high mark: see begin_greeting(). */
	must(payload.len <= FRAME_LEN_MAX && buf_append(out, head, sizeof(head)) == 0 &&
		buf_append_str(out, payload) == 0);
	link_flush(link);
}
