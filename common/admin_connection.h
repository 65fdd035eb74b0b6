// SPDX-License-Identifier: Apache-2.0
/*
 * One connection to the admin server: a sequence of requests and responses. A struct admin_reply is such a connection, as seen by those who
 * respond.
 *
 *   READING --request--> answered whole: READING, or CLOSING
 *                        in pieces: ANSWERING --end--> CLOSING
 *                        put off: WAITING --answered--> CLOSING
 *   READING --bad request, too slow--> CLOSING --everything written--> LINGERING --peer closes, time--> gone
 */
#pragma once

#include "common/admin_server.h"

struct admin_connection_ops {
	/* Answer it now, by admin_reply_...(). */
	void (*on_request)(
		void *ctx, const struct admin_request *request, struct admin_reply *reply);
	/* It has ended and is freed after this call. */
	void (*on_gone)(void *ctx, struct admin_reply *connection);
	const char *headers; /* of each response: see admin_add_headers(); NULL: none */
};

/* Takes ownership of fd. `ops` must stay valid. */
struct admin_reply *admin_connection_new(struct ev_loop *loop, int fd, bool is_local,
	const struct admin_connection_ops *ops, void *ctx);
/* Ends it without on_gone(). */
void admin_connection_free(struct admin_reply *connection);
/* When it began to wait for a request; it may have sent a whole response since. Negative: a streamed or deferred response is in progress. */
double admin_connection_waits_since(const struct admin_reply *connection);
