// SPDX-License-Identifier: Apache-2.0
/*
 * The admin server of a process: a small HTTP/1.1 server on its own loop, through which people, probes and Prometheus look in. GET and
 * HEAD only; nothing can be changed through it.
 *
 * It listens on TCP, for paths that are ADMIN_PUBLIC, and on a Unix socket, for all paths; the latter asks who the peer is. What comes from
 * a peer is checked against the limits below, and a peer that breaks one is told so and loses its connection, nothing else.
 *
 * An answer is given whole, or produced piece by piece as the peer reads it, so that neither a long list nor a slow peer costs memory.
 * An answer may also wait for something to tell, for as long as the peer listens, or be put off until it is known.
 *
 * Requests are parsed by http-parser. libmicrohttpd would bring all of HTTP and with it GnuTLS, into processes whose idle memory is
 * budgeted, and into the translator, which is to have as little to attack as can be.
 */
#pragma once

#include "common/buf.h"

#include <ev.h>
#include <stdbool.h>
#include <sys/types.h>

enum {
	ADMIN_CONNECTIONS_MAX = 32, /* of each listener */
	ADMIN_PATHS_MAX = 32,
	ADMIN_TARGET_LEN_MAX = 1024,      /* path and query of a request; longer: 414 */
	ADMIN_HEAD_LEN_MAX = 8 * 1024,    /* request line and headers; longer: 431 */
	ADMIN_ACCEPT_LEN_MAX = 512,       /* of the Accept headers; the rest is not looked at */
	ADMIN_HEAD_S = 10,                /* for a request to arrive */
	ADMIN_IDLE_S = 75,                /* between two requests */
	ADMIN_STALL_S = 30,               /* without the peer taking any of an answer in pieces */
	ADMIN_LINGER_S = 2,               /* for the peer to read our last words */
	ADMIN_WHOLE_LEN_MAX = 256 * 1024, /* of an answer that is given whole */
	ADMIN_PIECE_LEN_MAX = 256 * 1024, /* of what is produced at once */
	ADMIN_UIDS_MAX = 16,
};

enum admin_path_flags {
	ADMIN_LOCAL = 0,  /* served on the Unix socket only */
	ADMIN_PUBLIC = 1, /* served on TCP too */
	ADMIN_PREFIX = 2, /* and everything that begins with it */
};

struct admin_server;
struct admin_reply; /* the answer to one request */

/* Good during the call only. */
struct admin_request {
	struct str path;   /* as it came, without the query */
	struct str rest;   /* of an ADMIN_PREFIX path: what follows it */
	struct str query;  /* as it came, without the '?'; see admin_query() */
	struct str accept; /* the Accept header; empty: none */
	bool is_local;     /* by the Unix socket */
};

/* Answers the request by exactly one of the admin_reply_...() functions, or puts the answer off, during the call. */
typedef void (*admin_answer_fn)(
	void *ctx, const struct admin_request *request, struct admin_reply *reply);

enum admin_turn {
	ADMIN_MORE, /* something was appended, and there is more */
	ADMIN_WAIT, /* there is nothing now; admin_reply_wake() when there is */
	ADMIN_END,  /* that was all */
};

struct admin_producer {
	/* Appends the next piece to `out`, at most ADMIN_PIECE_LEN_MAX bytes; a few kilobytes are enough, it is called again at once while
	 * the peer has room. Called from the loop only. */
	enum admin_turn (*produce)(void *state, struct buf *out);
	/* The answer is through, or the peer gone: the reply is not to be used any more. Called exactly once. */
	void (*release)(void *state);
};

/* `allowed_uids` may connect to the Unix socket beside root and ourselves; copied, at most ADMIN_UIDS_MAX. */
struct admin_server *admin_server_new(
	struct ev_loop *loop, const uid_t *allowed_uids, size_t allowed_count);
/* Ends every answer and connection, and removes the socket that it has made. The next process replaces one that stayed, because this one was killed. */
void admin_server_free(struct admin_server *admin);

/* The socket that it has made; NULL: none. */
const char *admin_server_made(const struct admin_server *admin);

enum admin_listener_kind { ADMIN_UNIX = 1, ADMIN_TCP = 2 };
/* Listens on what the service manager handed over under the name "admin" (FileDescriptorName=). Returns which kinds there were. */
unsigned admin_listen_inherited(struct admin_server *admin);
/* A socket file of mode 0660. 0 or a negative errno. */
int admin_listen_unix(struct admin_server *admin, const char *path);
/* `address` is ADDRESS:PORT or [ADDRESS]:PORT, with numbers only; port 0 takes any that is free. 0, -EINVAL: it is none, or another negative
 * errno. */
int admin_listen_tcp(struct admin_server *admin, const char *address);
/* The TCP port that is listened on; 0: none. */
int admin_port(const struct admin_server *admin);

/* `path` begins with '/' and must live as long as the admin server; `flags` are of admin_path_flags. */
void admin_add_path(struct admin_server *admin, const char *path, unsigned flags,
	admin_answer_fn answer, void *ctx);

/* Decodes the value of `name` in a query (application/x-www-form-urlencoded) to ret_value, with a NUL behind it. false: it is not there, or has no
 * place in `size` bytes, or a NUL in it. */
bool admin_query(struct str query, const char *name, char *ret_value, size_t size);

/* Puts the answer off: admin_reply_bytes() or admin_reply_text() gives it later, from the loop, and ends the connection. How long that may take is the
 * caller's business. on_gone() is called when the peer ends first, and at admin_server_free(): the reply is then not to be used any more. */
void admin_reply_later(struct admin_reply *reply, void (*on_gone)(void *state), void *state);
/* A whole answer; `body` is copied. One longer than ADMIN_WHOLE_LEN_MAX becomes a 500. */
void admin_reply_bytes(
	struct admin_reply *reply, int status, const char *content_type, struct str body);
/* Likewise, as text/plain; the text should end in a newline. */
[[gnu::format(printf, 3, 4)]] void admin_reply_text(
	struct admin_reply *reply, int status, const char *format, ...);
/* An answer in pieces: produce() is called while the peer has room, from the loop, until it says ADMIN_END. The connection ends with it. */
void admin_reply_stream(struct admin_reply *reply, int status, const char *content_type,
	const struct admin_producer *producer, void *state);
/* Calls produce() of an answer that waits, from the loop. Cheap; may be called as often as one likes until release(). */
void admin_reply_wake(struct admin_reply *reply);
