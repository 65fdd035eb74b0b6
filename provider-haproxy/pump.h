// SPDX-License-Identifier: Apache-2.0
/*
 * What pump.c (servers, rows, answers) and pump_certs.c (certificates) share: every command goes out with what its answer means.
 */
#pragma once

#include "provider-haproxy/engine.h"

enum pump_what {
	PUMP_SILENT,  /* success is no word */
	PUMP_FOLLOWS, /* likewise, after an `add server` that may have been refused */
	PUMP_ADD_SERVER,
	PUMP_DEL_SERVER,
	PUMP_CERT_NEW,
	PUMP_CERT_SET,
	PUMP_CERT_COMMIT,
	PUMP_CERT_ADD,
	PUMP_CERT_ADDED, /* the last one of a certificate */
	PUMP_CERT_REMOVE,
	PUMP_CERT_REMOVED,
	PUMP_IGNORED,
};

[[gnu::format(printf, 3, 4)]] void pump_send_text(
	struct engine *engine, enum pump_what what, const char *format, ...);
/* Of every command; `ctx` is the engine. */
void pump_on_reply(void *ctx, unsigned what, const char *command, struct str reply);
bool pump_reply_has(struct str reply, const char *text);

/* Begins with the next certificate that differs, unless one is under way. */
void pump_certs(struct engine *engine);
/* So many certificates have gone that what HAProxy leaks with each is worth a reload, which frees it. */
bool pump_certs_want_reload(const struct engine *engine);
/* An answer to one of PUMP_CERT_*. */
void pump_on_cert_reply(
	struct engine *engine, enum pump_what what, const char *command, struct str reply);
