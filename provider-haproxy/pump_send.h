// SPDX-License-Identifier: Apache-2.0
/* Commands as text, and words in their answers. */
#pragma once

#include "provider-haproxy/engine_state.h"

/* `on_reply` gets `what` and the engine; a line that is too long is a broken invariant. */
[[gnu::format(printf, 4, 5)]] void pump_send_text(
	struct engine *engine, cli_reply *on_reply, unsigned what, const char *format, ...);
/* The same for commands of every change: a format takes several times as long. */
void pump_send_parts(struct engine *engine, cli_reply *on_reply, unsigned what,
	const struct str *parts, size_t count);
bool pump_reply_has(struct str reply, const char *text);
