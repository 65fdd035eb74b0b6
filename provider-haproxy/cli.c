// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/cli.h"

#include "common/must.h"
#include "common/stream.h"
#include "common/unix_socket.h"
#include "common/xalloc.h"

#include <bsd/sys/queue.h>
#include <errno.h>

enum { COMMAND_SHOWN_MAX = 160 };

struct call {
	STAILQ_ENTRY(call) next;
	cli_reply *on_reply;
	void *ctx;
	unsigned what;
	char command[];
};

STAILQ_HEAD(call_list, call);

struct cli {
	struct ev_loop *loop;
	struct stream *stream;
	const struct cli_ops *ops;
	void *ctx;
	struct call_list calls;
	size_t in_flight;
	size_t scanned; /* bytes of the input in which no prompt starts */
	ev_timer deadline;
	bool is_full;
	bool is_answering; /* a callback is running: closing has to wait */
	bool is_closed;
};

static const struct stream_limits limits = {
	.in_max = CLI_REPLY_LEN_MAX,
	.out_high = 256 * 1024,
	.out_low = 64 * 1024,
	.out_max = 4 * 1024 * 1024,
};

bool cli_has_room(const struct cli *cli)
{
	return cli->in_flight < CLI_IN_FLIGHT_MAX && !stream_is_full(cli->stream);
}

size_t cli_in_flight(const struct cli *cli)
{
	return cli->in_flight;
}

static void rearm(struct cli *cli)
{
	if (cli->in_flight != 0)
		ev_timer_again(cli->loop, &cli->deadline);
	else
		ev_timer_stop(cli->loop, &cli->deadline);
}

void cli_send(struct cli *cli, struct str line, struct str payload, unsigned what,
	cli_reply *on_reply, void *ctx)
{
	struct buf *out = stream_out(cli->stream);
	size_t shown = line.len < COMMAND_SHOWN_MAX ? line.len : COMMAND_SHOWN_MAX;
	struct call *call = xcalloc(1, sizeof(*call) + shown + 1);
	call->on_reply = on_reply;
	call->ctx = ctx;
	call->what = what;
	memcpy(call->command, line.p, shown);
	STAILQ_INSERT_TAIL(&cli->calls, call, next);
	int err = buf_append_str(out, line);
	if (err == 0 && payload.p != NULL)
		err = buf_append(out, " <<\n", 4);
	if (err == 0 && payload.p != NULL)
		err = buf_append_str(out, payload);
	if (err == 0)
		err = buf_append(out, "\n", 1);
	/* Above out_high there is room for a command of maximal length for each one in flight. */
	must(err == 0);
	if (cli->in_flight++ == 0)
		rearm(cli);
	cli->is_full = !cli_has_room(cli);
	stream_flush(cli->stream);
}

/* ---- responses ---- */

bool cli_next_line(struct str *rest, struct str *ret_line)
{
	if (rest->len == 0)
		return false;
	*ret_line = str_cut(rest, '\n');
	return true;
}

struct str cli_next_word(struct str *line)
{
	while (line->len != 0 && line->p[0] == ' ')
		*line = str_skip(*line, 1);
	struct str word = str_before(*line, ' ');
	*line = str_skip(*line, word.len);
	return word;
}

/* Payload lines are prompted for by "+ ". */
static struct str trim(struct str reply)
{
	while (str_starts_with(reply, STR("+ ")))
		reply = str_skip(reply, 2);
	while (reply.len != 0 && reply.p[0] == '\n')
		reply = str_skip(reply, 1);
	while (reply.len != 0 && reply.p[reply.len - 1] == '\n')
		reply.len--;
	return reply;
}

static void close_now(struct cli *cli)
{
	struct call *call;
	stream_close(cli->stream);
	while ((call = STAILQ_FIRST(&cli->calls)) != NULL) {
		STAILQ_REMOVE_HEAD(&cli->calls, next);
		free(call);
	}
	free(cli);
}

/* Returns false if the callback closed the connection. */
static bool take_reply(struct cli *cli, struct str reply)
{
	struct call *call = STAILQ_FIRST(&cli->calls);
	if (call == NULL) {
		/* From here on answers could be taken for those of other commands. */
		cli->ops->on_lost(cli->ctx, "it answered what was not asked");
		return false;
	}
	STAILQ_REMOVE_HEAD(&cli->calls, next);
	cli->in_flight--;
	rearm(cli);
	cli->is_answering = true;
	call->on_reply(call->ctx, call->what, call->command, trim(reply));
	free(call);
	cli->is_answering = false;
	if (!cli->is_closed)
		return true;
	close_now(cli);
	return false;
}

static int on_input(void *ctx, struct stream *stream, struct buf *in)
{
	struct cli *cli = ctx;
	for (;;) {
		struct str text = buf_str(in);
		const char *end =
			text.len > cli->scanned
				? memmem(text.p + cli->scanned, text.len - cli->scanned, "\n> ", 3)
				: NULL;
		if (end == NULL) {
			cli->scanned = text.len > 2 ? text.len - 2 : 0;
			rearm(cli);
			return 0;
		}
		size_t len = (size_t)(end - text.p);
		cli->scanned = 0;
		if (!take_reply(cli, (struct str){text.p, len}))
			return 0;
		buf_consume(in, len + 3);
	}
}

static void on_dry(void *ctx, struct stream *stream)
{
	struct cli *cli = ctx;
	if (!cli->is_full || !cli_has_room(cli))
		return;
	cli->is_full = false;
	cli->ops->on_room(cli->ctx);
}

static void on_room(void *ctx, struct stream *stream)
{
	on_dry(ctx, stream);
}

static void on_closed(void *ctx, struct stream *stream, int err)
{
	struct cli *cli = ctx;
	cli->ops->on_lost(cli->ctx, err != 0 ? strerrordesc_np(-err) : "HAProxy closed it");
}

static void on_deadline(struct ev_loop *loop, ev_timer *watcher, int events)
{
	struct cli *cli = watcher->data;
	ev_timer_stop(loop, watcher);
	cli->ops->on_lost(cli->ctx, "no answer");
}

static void ignore_reply(void *ctx, unsigned what, const char *command, struct str reply)
{
}

struct cli *cli_open(
	struct ev_loop *loop, const char *path, const struct cli_ops *ops, void *ctx, int *ret_err)
{
	static const struct stream_ops stream_ops = {
		.on_input = on_input,
		.on_dry = on_dry,
		.on_room = on_room,
		.on_closed = on_closed,
	};
	int fd = unix_connect(path);
	if (fd < 0) {
		*ret_err = fd;
		return NULL;
	}
	struct cli *cli = xcalloc(1, sizeof(*cli));
	cli->loop = loop;
	cli->ops = ops;
	cli->ctx = ctx;
	STAILQ_INIT(&cli->calls);
	ev_init(&cli->deadline, on_deadline);
	cli->deadline.repeat = CLI_DEADLINE_S;
	cli->deadline.data = cli;
	cli->stream = stream_new(loop, fd, &limits, &stream_ops, cli);
	cli_send(cli, STR("prompt"), STR_NONE, 0, ignore_reply, NULL);
	return cli;
}

void cli_close(struct cli *cli)
{
	if (cli == NULL)
		return;
	cli->is_closed = true;
	ev_timer_stop(cli->loop, &cli->deadline);
	if (!cli->is_answering)
		close_now(cli);
}
