// SPDX-License-Identifier: Apache-2.0
/*
 * HTTP client: libcurl's multi interface on a libev loop. Each request ends in one on_done();
 * nothing blocks (names are resolved in libcurl's thread).
 *
 * HTTP/1.1 only: each watch of an API server has its own connection, so that a hung one cannot
 * silence the others. Only http and https, no redirects, no cookies, no .netrc. Proxies come from
 * the environment (http_proxy, https_proxy, no_proxy) unless one is given.
 *
 * Callbacks run from the loop, never inside a call of these functions. Inside them a request may be
 * cancelled and others may be started.
 */
#pragma once

#include "common/buf.h"
#include "common/secret.h"
#include "common/str.h"

#include <ev.h>
#include <stdbool.h>

struct http;
struct http_easy;
struct http_request;

/* Every way a request can end. */
enum http_outcome {
	HTTP_ANSWERED,       /* a complete response, whatever its status */
	HTTP_E_RESOLVE,      /* the host name has no address */
	HTTP_E_CONNECT,      /* refused or unreachable */
	HTTP_E_TLS,          /* handshake or verification failed */
	HTTP_E_TIMEOUT,      /* the time was up, the response stalled, or so many wait for a Unix
				socket already that the kernel lets nobody else in */
	HTTP_E_CUT,          /* the connection ended in the middle of the response */
	HTTP_E_TOO_LONG,     /* the response exceeds body_max */
	HTTP_E_REFUSED_DATA, /* on_data() returned an error */
	HTTP_E_OTHER,        /* any other error of libcurl, such as a malformed response */
};

/* TLS and proxy of a server. Several requests may share one; it must outlive them (a request
 * cancelled within a callback ends when that callback has returned). NULL members: the system's
 * default, or none. Data (PEM) wins over a file. */
struct http_peer {
	unsigned refs; /* if it is from http_peer_new() */
	char *ca_file;
	char *ca_data;
	char *cert_file;
	char *cert_data;
	char *key_file;
	struct secret key_data;
	char *server_name; /* for SNI and verification instead of the URL's host */
	bool insecure;     /* do not verify */
	char *proxy_url;
	char *unix_socket; /* connect there, whatever the URL's host, and without a proxy */
};
void http_peer_fini(struct http_peer *peer);
/* A reference-counted one, for peers that may be replaced while requests still use them. */
struct http_peer *http_peer_new(void);
struct http_peer *http_peer_hold(struct http_peer *peer);
void http_peer_release(struct http_peer *peer); /* may be NULL */
/* Whether PEM data, server name, proxy and `insecure` are the same; files and unix_socket are not
 * compared. */
bool http_peer_is_same(const struct http_peer *a, const struct http_peer *b);

struct http_head {
	long status;
	double retry_after_s; /* Retry-After, at most an hour; < 0: none (a date counts as none) */
	bool is_json;         /* Content-Type says JSON */
};

struct http_result {
	enum http_outcome outcome;
	struct http_head head; /* status 0: no response */
	/* Credentials of the call are masked if an error response repeats them. */
	struct str
		body; /* of complete responses that did not go to on_data; valid during the call */
	const char
		*content_type; /* of a complete response; NULL: none given; valid during the call */
	const char *error;     /* libcurl's message; "" if answered */
	const struct http_easy *source; /* for http_result_header() */
};

struct http_call {
	const char *method; /* "GET", ... */
	const char *url;
	/* "Name: value", NULL after the last; may be NULL. Copied, and wiped afterwards. */
	const char *const *headers;
	const struct secret *bearer; /* Authorization: Bearer ...; may be NULL; copied and wiped */
	const char *username;        /* basic authentication with `password`; may be NULL */
	const struct secret *password;
	/* Given: the request is signed for AWS (Signature Version 4) with `username`, the id of an access key, and `password`, instead of
	 * basic authentication: "aws:amz:us-east-1:acm", the region and the service's name in signatures. May be NULL. The URL
	 * has a plain path, and a query only with its parameters in the order of their names and escapes with capital digits: libcurl 7.88 makes no valid
	 * signatures for others; none of `headers` is empty or X-Amz-Date. A body without a Content-Type of the caller's is a form. */
	const char *aws_sigv4;
	struct str body;              /* copied; absent: none */
	bool body_is_secret;          /* wipe our copy and the response */
	const struct http_peer *peer; /* kept; may be NULL */
	size_t body_max;              /* of the response; for streams: no limit, see on_data */
	double connect_timeout_s;
	double timeout_s;      /* of the whole request; 0: none */
	double idle_timeout_s; /* ends it if nothing arrived for so long; 0: none */
	/* libcurl sends a request again when a connection that was idle ends before the first byte of
	 * an answer, whatever the method, though the server may have acted on the first one. Set
	 * this for what must not be done twice: it gets a connection of its own. */
	bool only_once;
	bool sends_proxy; /* a header of the PROXY protocol goes first; `only_once` goes with it */
	bool accept_gzip; /* never for watches: several gzip members cannot be read by libcurl */
	/* Given: the answer's body goes there piece by piece instead of into result.body, but only
	 * of answers with status 200; others are collected up to body_max. A negative result ends
	 * the request with HTTP_E_REFUSED_DATA. */
	int (*on_data)(void *ctx, struct str piece);
	/* The head of the response has arrived; may be NULL. */
	void (*on_head)(void *ctx, const struct http_head *head);
	/* Exactly once, unless cancelled. The request is freed afterwards. */
	void (*on_done)(void *ctx, const struct http_result *result);
	void *ctx;
};

/* `user_agent` is copied. connections_max bounds the connections kept open and used at the same
 * time; requests beyond it wait. */
struct http *http_new(struct ev_loop *loop, const char *user_agent, unsigned connections_max);
/* Cancels running requests; may be called from any callback. */
void http_free(struct http *http);
/* All of the call but `peer` is copied. Never NULL: errors are reported by on_done(), from the loop. The request belongs to the client
 * `http`, and is valid until on_done() or http_cancel(). */
struct http_request *http_start(struct http *http, const struct http_call *call);
/* on_done() will not be called. */
void http_cancel(struct http_request *request);
/* For when certificates or credentials changed: no later request uses a connection, a TLS session or a
 * parsed authority from before. Idle connections are closed now, or while requests run, with the last of
 * them. */
void http_drop_idle(struct http *http);

/* A header of the answer, during on_done(); NULL: it has none of that name. */
const char *http_result_header(const struct http_result *result, const char *name);
/* For people; static. */
const char *http_outcome_text(enum http_outcome outcome);
/* Percent-encodes everything but unreserved characters (RFC 3986); the caller frees it. */
char *http_escape(struct str text);
