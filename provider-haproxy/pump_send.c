// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/pump_send.h"

#include "common/must.h"
#include "provider-haproxy/connection.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_LEN_MAX = 2048 };

static void send_line(struct engine *engine, cli_reply *on_reply, unsigned what, struct str line)
{
	cli_send(connection_cli(engine->connection), line, STR_NONE, what, on_reply, engine);
}

void pump_send_text(
	struct engine *engine, cli_reply *on_reply, unsigned what, const char *format, ...)
{
	char text[COMMAND_LEN_MAX];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	must(len >= 0 && (size_t)len < sizeof(text));
	send_line(engine, on_reply, what, (struct str){text, (size_t)len});
}

void pump_send_parts(struct engine *engine, cli_reply *on_reply, unsigned what,
	const struct str *parts, size_t count)
{
	char text[COMMAND_LEN_MAX];
	send_line(engine, on_reply, what, str_join(text, sizeof(text), parts, count));
}

bool pump_reply_has(struct str reply, const char *text)
{
	return reply.len != 0 && memmem(reply.p, reply.len, text, strlen(text)) != NULL;
}
