// SPDX-License-Identifier: Apache-2.0
/*
 * Credentials for the API server, kept fresh: token files are read again once a minute and at once after a 401, certificate files
 * once a minute; exec plugins run again when their credential expires or is refused. All requests share one state, so a rotated token
 * costs one refresh, not one for each watch. While a refresh fails, the last good credentials stay in use.
 *
 * Each request uses a snapshot: a struct credentials_view, whose peer can be held beyond the next call.
 */
#pragma once

#include "common/http.h"
#include "watcher/target.h"

#include <ev.h>

struct credentials;

struct credentials_view {
	const struct secret *bearer; /* NULL: none */
	const char *username;        /* NULL: none */
	const struct secret *password;
	struct http_peer *peer;
	unsigned long generation;
	double taken_at; /* on the loop's clock */
};

enum credentials_state {
	CREDENTIALS_READY,
	CREDENTIALS_PENDING, /* being obtained: on_settled() will be called */
	CREDENTIALS_MISSING, /* not available now, see credentials_problem() */
};

struct credentials_config {
	struct ev_loop *loop;
	const struct target *target; /* kept */
	double exec_timeout_s;
	double exec_pause_s; /* between two runs of a plugin; 0: 5 s */
	/* What was pending has arrived or failed. From the loop. */
	void (*on_settled)(void *ctx);
	/* The TLS part has changed: idle connections must not be reused. May be called from within any of these functions. */
	void (*on_peer_changed)(void *ctx);
	void *ctx;
};

/* Reads what can be read at once. NULL and *ret_problem (the caller frees it) when a required file cannot be read. */
struct credentials *credentials_new(const struct credentials_config *config, char **ret_problem);
void credentials_free(struct credentials *c);

/* The view is valid until the next call of these functions; its peer as long as it is held. Refreshes what is due. */
enum credentials_state credentials_get(struct credentials *c, struct credentials_view *ret_view);
/* A request made with that view was answered 401. True: newer credentials exist or are coming, so a retry is worthwhile. What was
 * read after the request began is not read again. */
bool credentials_refused(struct credentials *c, unsigned long generation, double taken_at);
/* The target has changed, though not its server. False: something that it names cannot be read (this is logged): the caller puts the
 * old target back, and the old credentials stay in use. */
bool credentials_retarget(struct credentials *c);
/* Reads everything again (SIGHUP). */
void credentials_reload(struct credentials *c);
/* Why there are none, or why the last refresh failed; "" when all is well. */
const char *credentials_problem(const struct credentials *c);
