// SPDX-License-Identifier: Apache-2.0
/* What decision*.c share: a request taken apart, and what its parts are compared with. */
#pragma once

#include "common/ascii.h"
#include "proto/decision.h"

enum { REGEX_GROUPS_MAX = 10 };

/* A request whose parts were found. */
struct request_parts {
	const struct decision_request *request;
	struct arena *arena;
	struct str host_header; /* as sent, or the target's authority */
	struct str host;        /* lower case, without port and final dot */
	struct str path;        /* as sent */
	struct str query;       /* as sent, without the question mark */
	bool has_query;
	/* As a proxy in front says, if it is believed; else as the request came. */
	struct str client;
	bool is_https;
	uint64_t port;
	struct str told_host; /* for backends; may have a port */
	struct str told_name; /* lower case, without port and final dot */
	/* Set when a rule was found. */
	struct str matched; /* the path that rules were compared with: as sent, or decoded */
	bool is_decoded;    /* `matched` was */
	struct str rest;    /* of it, behind the rule's path */
	struct str groups[REGEX_GROUPS_MAX]; /* of the rule's regular expression */
	struct str service;                  /* of the pool that was chosen */
	struct str service_port;
	struct str status; /* of the answer that another takes the place of */
};

/* ---- decision_request.c ---- */

void request_take_apart(const struct decision_request *request, struct arena *arena,
	struct request_parts *ret_parts);
/* Decodes, merges slashes, resolves dots. False: the answer is 400. */
bool request_decode_path(struct str path, struct arena *arena, struct str *ret_path);
/* All lines of a header, joined by `, `; names without case. False: there is none. */
bool request_header(const struct request_parts *parts, struct str name, struct str *ret_value);
/* The first value, as sent. False: there is no such pair. */
bool request_cookie(const struct request_parts *parts, struct str name, struct str *ret_value);
bool request_argument(const struct request_parts *parts, struct str name, struct str *ret_value);
/* Decodes %XX and +. What is no such escape stays as it is. */
struct str request_decode_argument(struct str text, struct arena *arena);

/* In lower case, without port and final dot. */
struct str request_host_name(struct str host, struct arena *arena);

/* ---- decision_front.c ---- */

/* What is said of the request by who has sent it, if the load balancer believes him; false: it does not. */
bool front_believe(struct request_parts *parts, const struct load_balancer *balancer);

/* He has several lines of a header that names one client: one of them may be the client's own, and nobody can tell which. */
bool front_refuses(const struct request_parts *parts, const struct load_balancer *balancer);

/* ---- decision_match.c ---- */

enum match_outcome { MATCH_NO, MATCH_YES, MATCH_LIMIT };

/* The first rule of the host that takes the request; fills in what its match found. MATCH_LIMIT: a regular expression takes too long. */
enum match_outcome match_rules(struct request_parts *parts, const struct virtual_host *host,
	const struct path_rule **ret_rule);

/* ---- decision_pieces.c ---- */

struct piece_list {
	const struct piece *items;
	size_t count;
};
#define PIECES_OF(list) ((struct piece_list){(list).items, (list).count})

/* Pieces, one after the other. */
struct str pieces_value(const struct request_parts *parts, struct piece_list pieces);
/* The path of a rewrite: with a slash before it, and what a path cannot have encoded. */
struct str pieces_path(const struct request_parts *parts, struct piece_list pieces);
/* A path that may have a query: with a slash before it, and what neither can have encoded. */
struct str pieces_as_target(const struct request_parts *parts, struct piece_list pieces);
struct str pieces_arguments(const struct request_parts *parts);
struct str pieces_target(const struct request_parts *parts);

/* ---- decision_credentials.c ---- */

/* Whether the address is in one of the networks (CIDR). */
bool networks_have(const struct str_list *networks, struct str address);
bool is_address(struct str text);
/* `origin`: of the request, if it has one. */
bool cors_allows(const struct cors *cors, bool has_origin, struct str origin);
/* False: the request has no name and password in an Authorization header of the scheme Basic. */
bool basic_credentials(
	const struct request_parts *parts, struct str *ret_name, struct str *ret_password);
