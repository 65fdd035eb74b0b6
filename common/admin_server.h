// SPDX-License-Identifier: Apache-2.0
/*
 * The admin server of a process: a small HTTP/1.1 server on its own loop, for people, probes and Prometheus. GET and HEAD only; nothing can
 * be changed through it.
 *
 * It listens on TCP, for paths that are ADMIN_PUBLIC, and on a Unix socket, for all paths; the latter checks the peer's credentials. Input
 * is checked against the limits below; a peer that exceeds one gets an error response and is disconnected, and nothing else is affected.
 *
 * A response is sent whole, or streamed piece by piece as the peer reads it, so that neither a long list nor a slow peer costs memory. A
 * stream may also wait for new data as long as the peer stays connected, and a response may be deferred until it is known.
 *
 * Requests are parsed by http-parser. libmicrohttpd would bring all of HTTP, and GnuTLS with it, into processes whose idle memory is
 * budgeted, and into the translator, whose attack surface must be minimal.
 */
#pragma once

#include "common/buf.h"

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
	ADMIN_CONNECTIONS_MAX = 32, /* per listener */
	ADMIN_PATHS_MAX = 32,
	ADMIN_TARGET_LEN_MAX = 4 * 1024,  /* path and query of a request; longer: 414 */
	ADMIN_HEAD_LEN_MAX = 8 * 1024,    /* request line and headers; longer: 431 */
	ADMIN_ACCEPT_LEN_MAX = 512,       /* of the Accept headers; the rest is ignored */
	ADMIN_HOST_LEN_MAX = 320,         /* of the Host header; longer: 400 */
	ADMIN_SITE_LEN_MAX = 16,          /* of Sec-Fetch-Site; longer: 400 */
	ADMIN_HEADERS_LEN_MAX = 1024,     /* of admin_add_headers() */
	ADMIN_HEAD_S = 10,                /* for a request to arrive */
	ADMIN_IDLE_S = 75,                /* between two requests */
	ADMIN_STALL_S = 30,               /* without the peer reading any of a streamed response */
	ADMIN_LINGER_S = 2,               /* for the peer to read the end of the response */
	ADMIN_WHOLE_LEN_MAX = 256 * 1024, /* of a whole response */
	ADMIN_PIECE_LEN_MAX = 256 * 1024, /* of what is produced by one call */
	ADMIN_UIDS_MAX = 16,
};

enum admin_path_flags {
	ADMIN_LOCAL = 0,  /* served on the Unix socket only */
	ADMIN_PUBLIC = 1, /* served on TCP too */
	ADMIN_PREFIX = 2, /* and everything that begins with it */
};

struct admin_server;
struct admin_reply; /* the answer to one request */

/* Valid during the call only. */
struct admin_request {
	struct str path;   /* as received, without the query */
	struct str rest;   /* of an ADMIN_PREFIX path: what follows it */
	struct str query;  /* as received, without the '?'; see admin_query() */
	struct str accept; /* the Accept header; empty: none */
	struct str host;   /* the Host header; empty: none, or it says nothing */
	struct str site;   /* Sec-Fetch-Site, by which a browser says who asks; empty: none */
	bool is_local;     /* by the Unix socket */
};

/* Must respond by exactly one of the admin_reply_...() functions during the call; admin_reply_later() defers the
 * response. */
typedef void (*admin_answer_fn)(
	void *ctx, const struct admin_request *request, struct admin_reply *reply);

enum admin_turn {
	ADMIN_MORE, /* something was appended, and there is more */
	ADMIN_WAIT, /* nothing for now; call admin_reply_wake() when there is */
	ADMIN_END,  /* that was all */
};

struct admin_producer {
	/* Appends the next piece to `out`, at most ADMIN_PIECE_LEN_MAX bytes; a few kilobytes are enough, it is called again at once while
	 * the peer has room. Called from the loop only. */
	enum admin_turn (*produce)(void *state, struct buf *out);
	/* The response is complete, or the peer is gone: the reply must not be used any more. Called exactly
	 * once. */
	void (*release)(void *state);
};

/* `allowed_uids` may connect to the Unix socket in addition to root and our own user; copied, at most
 * ADMIN_UIDS_MAX. */
struct admin_server *admin_server_new(
	struct ev_loop *loop, const uid_t *allowed_uids, size_t allowed_count);
/* Ends all responses and connections, and removes the socket file that it created. If this process is killed, the next one replaces the leftover
 * file. */
void admin_server_free(struct admin_server *admin);

/* The path of the socket that it created; NULL: none. */
const char *admin_server_made(const struct admin_server *admin);

enum admin_listener_kind { ADMIN_UNIX = 1, ADMIN_TCP = 2 };
/* Listens on what the service manager handed over under the name "admin" (FileDescriptorName=). Returns which kinds there were. */
unsigned admin_listen_inherited(struct admin_server *admin);
/* A socket file of mode 0660. 0 or a negative errno. */
int admin_listen_unix(struct admin_server *admin, const char *path);
/* `address` is ADDRESS:PORT or [ADDRESS]:PORT, with numbers only; port 0 takes any free port. Returns 0, -EINVAL (malformed), or another
 * negative errno. */
int admin_listen_tcp(struct admin_server *admin, const char *address);
/* The TCP port that it listens on; 0: none. */
int admin_port(const struct admin_server *admin);

/* `path` begins with '/' and must live as long as the admin server; `flags` are of admin_path_flags. */
void admin_add_path(struct admin_server *admin, const char *path, unsigned flags,
	admin_answer_fn answer, void *ctx);

/* Lines for the head of each response, whatever it says; each ends in CRLF. Kept, not copied; to be called before anybody connects. */
void admin_add_headers(struct admin_server *admin, const char *lines);

/* Decodes the value of `name` in a query (application/x-www-form-urlencoded) to ret_value, NUL-terminated. False: it is missing, does not fit into
 * `size` bytes, or contains a NUL. */
bool admin_query(struct str query, const char *name, char *ret_value, size_t size);

/* Defers the response: admin_reply_bytes(), admin_reply_text() or admin_reply_stream() sends it later, from the loop, and ends the connection. The caller sets any time
 * limit. on_gone() is called if the peer disconnects first, and by admin_server_free(): the reply must not be used any more. */
void admin_reply_later(struct admin_reply *reply, void (*on_gone)(void *state), void *state);
/* A whole response; `body` is copied. One longer than ADMIN_WHOLE_LEN_MAX becomes a 500. */
void admin_reply_bytes(
	struct admin_reply *reply, int status, const char *content_type, struct str body);
/* Likewise, as text/plain; the text should end in a newline. */
[[gnu::format(printf, 3, 4)]] void admin_reply_text(
	struct admin_reply *reply, int status, const char *format, ...);
/* A streamed response: produce() is called from the loop, while the peer has room, until it returns ADMIN_END. The connection ends with it.
 */
void admin_reply_stream(struct admin_reply *reply, int status, const char *content_type,
	const struct admin_producer *producer, void *state);
/* Has produce() of a waiting response called from the loop. Cheap; may be called any number of times until release(). */
void admin_reply_wake(struct admin_reply *reply);
