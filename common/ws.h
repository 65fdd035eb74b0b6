// SPDX-License-Identifier: Apache-2.0
/*
 * WebSocket client (RFC 6455): libcurl connects (names, TLS, proxy), we send the upgrade, wslay
 * frames. Text messages come whole and bounded; pings keep the connection honest. No reconnecting
 * here: the owner decides when.
 */
#pragma once

#include "common/http.h"

#include <ev.h>

struct ws;

struct ws_call {
	struct ev_loop *loop;
	const char *url; /* ws:// or wss:// */
	const char *user_agent;
	const char *const *headers; /* as in http.h */
	const char *username;       /* basic authentication; may be NULL */
	const struct secret *password;
	const struct http_peer *peer; /* kept; may be NULL */
	size_t message_max;           /* a longer message ends the connection */
	double connect_timeout_s;     /* until the upgrade is answered */
	double ping_after_s;          /* of silence */
	double dead_after_s;          /* of silence: the connection is given up */
	void (*on_open)(void *ctx);
	void (*on_text)(void *ctx, struct str message);
	/* Once, when it never opened or is gone; call ws_free() then. http_status: answer to the
	 * upgrade if it was refused, else 0. */
	void (*on_closed)(void *ctx, long http_status, const char *reason);
	void *ctx;
};

/* Texts and secrets of the call are read now and need not live on. Never NULL: what is wrong with the call is told by on_closed(), from the loop. */
struct ws *ws_open(const struct ws_call *call);
/* Closes without calling back; may be called from any callback. */
void ws_free(struct ws *ws);
