// SPDX-License-Identifier: Apache-2.0
#include "provider-haproxy/pump_send.h"

#include "common/must.h"
#include "provider-haproxy/connection.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void pump_send_text(
	struct engine *engine, cli_reply *on_reply, unsigned what, const char *format, ...)
{
	char text[2048];
	va_list args;
	va_start(args, format);
	int len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	must(len >= 0 && (size_t)len < sizeof(text));
	cli_send(connection_cli(engine->connection), str_from(text), STR_NONE, what, on_reply,
		engine);
}

bool pump_reply_has(struct str reply, const char *text)
{
	return reply.len != 0 && memmem(reply.p, reply.len, text, strlen(text)) != NULL;
}
