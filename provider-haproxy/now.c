// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/now.h"

#include "common/xalloc.h"
#include "provider-haproxy/connection.h"
#include "provider-proxy/checks.h"

#include <stdlib.h>

struct asked {
	struct engine *engine;
	struct cli *cli; /* NULL: nobody listens */
	struct traffic_now *now;
	void (*on_done)(void *ctx);
	void *done_ctx;
	ev_timer done; /* fed to the loop: nothing is called during now_ask() */
};

/* Fields of `show servers state`, management guide, section 9.3. */
enum {
	FIELD_BACKEND = 1,
	FIELD_ADDRESS = 4,
	FIELD_STATE = 5, /* 0: stopped */
	FIELD_ADMIN = 6,
	FIELD_PORT = 18,
	FIELD_COUNT = 19,
};

static void finish(struct asked *asked)
{
	ev_feed_event(asked->engine->loop, &asked->done, EV_TIMER);
}

static void on_finished(struct ev_loop *loop, ev_timer *timer, int events)
{
	struct asked *asked = timer->data;
	asked->on_done(asked->done_ctx);
}

/* `0x55ed852d5750: key=NAMESPACE/NAME use=2 exp=60000 conn_cur=2`; a minus before the name: it is not logged. */
static void on_table(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct asked *asked = ctx;
	struct str line;
	while (cli_next_line(&reply, &line)) {
		struct str name = STR_NONE;
		int64_t count = 0;
		while (line.len != 0) {
			struct str word = cli_next_word(&line);
			if (str_starts_with(word, STR("key=")))
				name = str_skip(word, sizeof("key=") - 1);
			if (str_starts_with(word, STR("conn_cur=")))
				(void)str_to_int(str_skip(word, sizeof("conn_cur=") - 1), 0,
					INT32_MAX, &count);
		}
		name = str_skip(name, name.len != 0 && name.p[0] == '-');
		if (check_owner(name))
			traffic_now_add_active(asked->now, name, count);
	}
}

/* Of a server that is wanted and in no administrative state. */
static void read_server(struct asked *asked, struct str line)
{
	struct str fields[FIELD_COUNT];
	struct check_ip ip;
	int64_t port;
	for (size_t i = 0; i < FIELD_COUNT; i++)
		fields[i] = cli_next_word(&line);
	const struct slot *slot = slots_by_name(&asked->engine->slots, fields[FIELD_BACKEND]);
	bool is_out =
		str_eq(fields[FIELD_STATE], STR("0")) && str_eq(fields[FIELD_ADMIN], STR("0"));
	if (slot != NULL && slot->pool.text[0] != 0 && is_out &&
		check_ip(fields[FIELD_ADDRESS], &ip) &&
		str_to_int(fields[FIELD_PORT], 1, UINT16_MAX, &port))
		traffic_now_add_out(
			asked->now, name_str(&slot->pool), str_from(ip.text), (uint16_t)port);
}

static void on_servers(void *ctx, unsigned what, const char *command, struct str reply)
{
	struct asked *asked = ctx;
	struct str line;
	while (cli_next_line(&reply, &line)) {
		if (line.len != 0 && line.p[0] != '#')
			read_server(asked, line);
	}
	finish(asked);
}

static void on_room(void *ctx)
{
}

/* What has been told so far stands. */
static void on_lost(void *ctx, const char *why)
{
	struct asked *asked = ctx;
	cli_close(asked->cli);
	asked->cli = NULL;
	finish(asked);
}

void *now_ask(void *ctx, struct traffic_now *now, void (*on_done)(void *ctx), void *done_ctx)
{
	static const struct cli_ops ops = {on_room, on_lost};
	struct engine *engine = ctx;
	struct asked *asked = xcalloc(1, sizeof(*asked));
	int err;
	*asked = (struct asked){
		.engine = engine, .now = now, .on_done = on_done, .done_ctx = done_ctx};
	ev_timer_init(&asked->done, on_finished, 0, 0);
	asked->done.data = asked;
	asked->cli =
		cli_open(engine->loop, connection_socket(engine->connection), &ops, asked, &err);
	if (asked->cli == NULL) {
		finish(asked);
		return asked;
	}
	cli_send(asked->cli, STR("show table active data.conn_cur gt 0"), STR_NONE, 0, on_table,
		asked);
	cli_send(asked->cli, STR("show servers state"), STR_NONE, 0, on_servers, asked);
	return asked;
}

void now_cancel(void *ctx)
{
	struct asked *asked = ctx;
	ev_clear_pending(asked->engine->loop, &asked->done);
	if (asked->cli != NULL)
		cli_close(asked->cli);
	free(asked);
}
