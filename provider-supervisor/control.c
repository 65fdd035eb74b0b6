// SPDX-License-Identifier: Apache-2.0
#include "provider-supervisor/control.h"

#include "common/command.h"
#include "common/stream.h"
#include "common/xalloc.h"
#include "proto/listener.h"
#include "proto/proxy_folder.h"
#include "provider-supervisor/log_events.h"

#include <bsd/sys/queue.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

struct client {
	TAILQ_ENTRY(client) next;
	struct control *control;
	struct stream *stream;
	ev_timer deadline; /* of an incomplete command */
	bool is_lost;      /* too slow; it is dropped on the next turn of the loop */
};

TAILQ_HEAD(client_list, client);

struct control {
	struct ev_loop *loop;
	struct listener *listener;
	const struct control_ops *ops;
	void *ctx;
	struct client_list clients;
	size_t count;
};

static const struct stream_limits limits = {
	.in_max = CONTROL_COMMAND_LEN_MAX,
	.out_high = 256 * 1024,
	.out_low = 64 * 1024,
	.out_max = 256 * 1024 + COMMAND_OUTPUT_MAX + CONTROL_LINE_LEN_MAX,
};

static void drop(struct client *client)
{
	struct control *control = client->control;
	TAILQ_REMOVE(&control->clients, client, next);
	control->count--;
	ev_timer_stop(control->loop, &client->deadline);
	control->ops->on_gone(control->ctx, client);
	stream_close(client->stream);
	free(client);
}

/* ---- commands ---- */

/* `WORD` or `WORD<tab>ARGUMENT`. */
static void take_line(struct client *client, struct str line)
{
	struct control *control = client->control;
	struct str word = str_cut(&line, '\t');
	control->ops->on_command(control->ctx, client, word, line);
}

static void on_deadline(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct client *client = timer->data;
	log_event(&EV_COMMAND_LATE, LOG_INT("seconds", CONTROL_COMMAND_S));
	drop(client);
}

/* The deadline starts with the first byte of an incomplete command. */
static void watch_command(struct client *client, bool is_begun)
{
	struct ev_loop *loop = client->control->loop;
	if (!is_begun)
		ev_timer_stop(loop, &client->deadline);
	else if (!ev_is_active(&client->deadline))
		ev_timer_start(loop, &client->deadline);
}

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct client *client = ctx;
	for (;;) {
		struct str text = buf_str(in);
		const char *end = str_find(text, '\n');
		if (end == NULL) {
			watch_command(client, text.len != 0);
			return text.len >= CONTROL_COMMAND_LEN_MAX ? -EMSGSIZE : 0;
		}
		size_t len = (size_t)(end - text.p);
		if (len > CONTROL_COMMAND_LEN_MAX)
			return -EMSGSIZE;
		ev_timer_stop(client->control->loop, &client->deadline);
		take_line(client, (struct str){text.p, len});
		buf_consume(in, len + 1);
	}
}

static void on_dry(void *ctx, struct stream *stream)
{
}

static void on_room(void *ctx, struct stream *stream)
{
	struct client *client = ctx;
	if (client->is_lost)
		drop(client);
}

static void on_closed(void *ctx, struct stream *stream, int err)
{
	drop(ctx);
}

/* ---- connections ---- */

static const char *take(void *ctx, int fd)
{
	static const struct stream_ops ops = {
		.on_input = on_input,
		.on_dry = on_dry,
		.on_room = on_room,
		.on_closed = on_closed,
	};
	struct control *control = ctx;
	if (control->count >= CONTROL_CLIENTS_MAX)
		return "too many are connected";
	struct client *client = xcalloc(1, sizeof(*client));
	client->control = control;
	ev_timer_init(&client->deadline, on_deadline, CONTROL_COMMAND_S, 0);
	client->deadline.data = client;
	client->stream = stream_new(control->loop, fd, &limits, &ops, client);
	TAILQ_INSERT_TAIL(&control->clients, client, next);
	control->count++;
	control->ops->on_client(control->ctx, client);
	return NULL;
}

static void put(struct client *client, struct str bytes)
{
	if (client->is_lost || stream_is_full(client->stream) ||
		buf_append_str(stream_out(client->stream), bytes) != 0)
		client->is_lost = true;
	stream_flush(client->stream);
}

void control_tell_bytes(struct control *control, struct client *client, struct str bytes)
{
	struct client *each;
	if (client != NULL) {
		put(client, bytes);
		return;
	}
	TAILQ_FOREACH (each, &control->clients, next)
		put(each, bytes);
}

void control_tell(struct control *control, struct client *client, const char *format, ...)
{
	struct buf line;
	va_list arguments;
	buf_init(&line, CONTROL_LINE_LEN_MAX);
	va_start(arguments, format);
	char *text = NULL;
	int len = vasprintf(&text, format, arguments);
	va_end(arguments);
	if (len >= 0 && buf_append(&line, text, (size_t)len) == 0 &&
		buf_append(&line, "\n", 1) == 0)
		control_tell_bytes(control, client, buf_str(&line));
	free(text);
	buf_fini(&line);
}

void control_hand_over(struct client *client, const struct listeners *listeners)
{
	char line[64];
	size_t done = 0;
	snprintf(line, sizeof(line), "listeners\t%zu\n", listeners->count);
	/* Earlier messages go first; bytes that the socket does not take now are lost, and the other side tries again. */
	stream_flush_now(client->stream);
	if (client->is_lost || buf_len(stream_out(client->stream)) != 0)
		return;
	do {
		size_t count = listeners->count - done;
		if (count > TRANSFER_BATCH_MAX)
			count = TRANSFER_BATCH_MAX;
		if (listeners_send(stream_fd(client->stream), str_from(line), listeners->fds + done,
			    count) != 0)
			return;
		done += count;
		snprintf(line, sizeof(line), "\n");
	} while (done < listeners->count);
}

bool control_has_clients(const struct control *control)
{
	return control->count != 0;
}

static void on_socket_gone(void *ctx, const char *path, bool is_inherited)
{
	struct control *control = ctx;
	control->ops->on_socket_gone(control->ctx, path, is_inherited);
}

/* ---- lifecycle ---- */

struct control *control_new(struct ev_loop *loop, const char *path, const struct control_ops *ops,
	void *ctx, int *ret_err)
{
	struct control *control = xcalloc(1, sizeof(*control));
	control->loop = loop;
	control->ops = ops;
	control->ctx = ctx;
	TAILQ_INIT(&control->clients);
	struct listener_config config = {
		.loop = loop,
		.path = path,
		.socket_name = SUPERVISOR_SOCKET,
		.peer = "provider",
		.take = take,
		.gone = on_socket_gone,
		.ctx = control,
	};
	control->listener = listener_new(&config, ret_err);
	if (control->listener != NULL)
		return control;
	free(control);
	return NULL;
}

void control_stop_listening(struct control *control)
{
	listener_remove(control->listener);
	control->listener = NULL;
}

void control_free(struct control *control)
{
	struct client *client;
	if (control == NULL)
		return;
	control_stop_listening(control);
	while ((client = TAILQ_FIRST(&control->clients)) != NULL) {
		stream_flush_now(client->stream);
		drop(client);
	}
	free(control);
}
