// SPDX-License-Identifier: Apache-2.0
/*
 * What is done with a request, as section 5.3 of PROTOCOL.md says: the steps in order, what each does and which object says so, and what comes of it. It asks
 * nobody and sends nothing: a provider that does something else with the same objects and the same request is wrong. Start reading in decision.c.
 *
 * What it cannot know it says: how much of a rate limit is used up, which of several pools is drawn, and, unless decision_objects.reply tells, what other servers answer.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

enum {
	DECISION_HEADERS_MAX = 256,
	/* Steps of one regular expression on one text; beyond that the answer is 500. */
	DECISION_MATCH_LIMIT = 100 * 1000,
};

struct http_header {
	struct str name; /* as it is written */
	struct str value;
};

struct http_headers {
	struct http_header *items;
	size_t count;
};

/* As a client sends it. */
struct decision_request {
	struct str method;
	struct str target;           /* of the request line */
	struct str host;             /* the Host header */
	struct http_headers headers; /* without Host; blanks around values are none of them */
	bool is_tls;
	uint64_t port;           /* of the listener */
	struct str client;       /* address */
	uint64_t content_length; /* 0: none, or it has no body */
	bool has_certificate;    /* the client shows one that is good */
};

/* Who is asked something because of a request. */
enum decision_role {
	ASKED_BACKEND,
	ASKED_EXTERNAL_AUTH,
	ASKED_MIRROR,
	ASKED_ERROR_PAGES,
};

/* As `sluicectl` prints it, such as "external-auth". */
const char *decision_role_word(enum decision_role role);

struct decision_question {
	enum decision_role role;
	struct str pool; /* id */
	struct str method;
	struct str host; /* its Host header */
	struct str target;
	struct http_headers
		headers; /* those of the client, changed; not what a provider adds by itself */
};

struct decision_reply {
	unsigned status;
	struct http_headers headers;
};

/* Where objects are found. What is returned must live as long as the decision. */
struct decision_objects {
	void *ctx;
	/* A struct of that kind (pool, policy, users); NULL: there is none. */
	const void *(*find)(void *ctx, enum lb_kind kind, struct str id);
	/* The virtual host with exactly this host (`*.` before a wildcard, empty: any) of the load balancer; NULL: there is none. */
	const struct virtual_host *(*find_host)(
		void *ctx, struct str load_balancer, struct str host, bool is_passthrough);
	/* Whether the password is that of the hash. NULL: nobody can tell, then the decision is that for a good one. */
	bool (*fits_password)(void *ctx, struct str password, struct str hash);
	/* What the pool answers; it has active endpoints. NULL: nobody can tell; then the decision is that for a request that external authentication lets pass, and for a
	 * backend whose answer is the client's. */
	void (*reply)(void *ctx, const struct decision_question *question, struct arena *arena,
		struct decision_reply *ret_reply);
};

/* In the order in which they are done. */
enum decision_step_kind {
	STEP_ROUTE,
	STEP_HANDSHAKE,
	STEP_CLIENT_TLS,
	STEP_POLICY,
	STEP_BODY_LIMIT,
	STEP_CORS_PREFLIGHT,
	STEP_REDIRECT,
	STEP_ANSWER,
	STEP_HTTPS_REDIRECT,
	STEP_POOL,
	STEP_RATE_LIMIT,
	STEP_SOURCE_ACCESS,
	STEP_BASIC_AUTH,
	STEP_EXTERNAL_AUTH,
	STEP_REWRITE,
	STEP_REQUEST_HEADERS,
	STEP_MIRROR,
	STEP_TIMEOUTS,
	STEP_RETRIES,
	STEP_BUFFERING,
	STEP_BACKEND_TLS,
	STEP_BACKEND_HTTP,
	STEP_ERROR_PAGES,
	STEP_LOCATION_REWRITE,
	STEP_COOKIE_REWRITE,
	STEP_RESPONSE_HEADERS,
	STEP_HSTS,
	STEP_CORS_HEADERS,
	STEP_BANDWIDTH,
	STEP_ACCESS_LOG,
	STEP_KIND_COUNT,
};

/* As `sluicectl` prints it, such as "basic-auth". */
const char *decision_step_word(enum decision_step_kind kind);

struct decision_step {
	enum decision_step_kind kind;
	struct str ingress; /* namespace/name: who says so; empty: nobody in particular */
	struct str policy;  /* id; empty: the rule or the load balancer itself */
	struct str
		what; /* what it does, for people; has bytes of the request and of objects in it */
	bool is_end;  /* it answers */
};

struct decision_pool {
	struct str id;
	uint64_t weight;
	const struct pool *pool; /* NULL: there is none */
	size_t active;           /* endpoints that get requests */
	bool is_fallback;        /* it stands in for a pool without any */
};

/* A header change with its value made. */
struct decision_change {
	enum header_action action;
	struct str name;
	struct str value;
};

struct decision_changes {
	struct decision_change *items;
	size_t count;
};

struct decision {
	const struct virtual_host *host; /* NULL: none has the request's host */
	const struct path_rule *rule;    /* NULL: none of them matches */
	const struct policy *policy;     /* NULL: there is none */
	LIST_OF(struct decision_step) steps;
	unsigned status;             /* of the proxy's own answer; 0: a backend answers */
	struct http_headers headers; /* of that answer, when all changes are done */
	struct str body;
	bool is_passed_through; /* TLS goes to the pool unopened: there are no further steps */
	LIST_OF(struct decision_pool)
	pools; /* one of them gets it, by weight; where none is active the answer is 503 */
	LIST_OF(struct decision_question) questions; /* to others than the backend, in order */
	unsigned
		page_of; /* the status in whose place the last of those questions is answered; 0: none */
	struct str target;      /* what the backend is asked for */
	struct str host_header; /* likewise */
	struct http_headers
		request_headers; /* what it gets: those of the request, changed; not what a provider adds by itself */
	struct decision_changes request_changes;
	struct decision_changes response_changes; /* of the backend's answer, in this order */
	bool asks_rate_limit; /* clients that have used up what they may get `limit_status` */
	unsigned limit_status;
	bool asks_password; /* and it could not be told whether it is right */
	bool asks_others;   /* likewise whether external authentication lets it pass */
};

/* `load_balancer`: whose listener the request arrives at. Everything lives in the arena, in the request, or in the objects. */
void decision_make(const struct decision_objects *objects,
	const struct load_balancer *load_balancer, const struct decision_request *request,
	struct arena *arena, struct decision *ret_decision);

/* What becomes of headers by changes, in order. */
struct http_headers decision_apply(const struct http_headers *headers,
	const struct decision_changes *changes, struct arena *arena);
