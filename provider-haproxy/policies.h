// SPDX-License-Identifier: Apache-2.0
/*
 * What is done with requests besides finding their pool, as rows of the table ROW_RULE, which policies.cfg.tmpl and policies.lua look up. Keys and
 * values are data without a grammar: fields stand between bars, and texts in them are percent-encoded. No I/O.
 *
 *   key                            value
 *   <route>                        what its requests are led to, see below
 *   <policy>                       FLAGS|body|redirect's status|:port|hsts|lists|methods|headers|exposed headers|max-age|path|changes|limits|concurrent|status|locations|
 *                                domains|paths|changes of the answer|timeout in ms|fallback pool|changes for that|users|-realm|statuses|pool of pages|target|changes for that|retries, and for each mirror |pool;host;target;flag;share;of
 *   cors:<lists>: <origin>/        1, for each allowed origin
 *   deny:<lists>: <4 or 6><digits> 1, for each network that is refused: what its addresses begin with, in hexadecimal digits
 *   allow:<lists>: <4 or 6><digits> 1, likewise for those that are let in
 *   exempt:<lists>: ...            1, likewise for those that are not counted
 *   auth:<lists>                   who is asked: pool|method|host|target|changes|copied|sign-in|always|cache key|cache times
 *   lists:<lists>                  1, when all of the others are there
 *   user:<users>:<name>/, users:<users>  users.h
 *   client:<load balancer>:<host>/, authorities:... clients.h
 *   draw:<route>:<number>:<digits> a pool, for the numbers below SUM that begin so, as 16 hexadecimal digits
 *
 * A route leads to one of these; POLICY is a name, or "none", and where the host wants certificates of clients an @ and <load balancer>:<host>; SKIP is how much of the path its prefix is, or nothing:
 *
 *   POLICY|p|SKIP|POOL
 *   POLICY|w|SKIP|SUM|NUMBER                      one of several by weight
 *   POLICY|r|SKIP|STATUS|LOCATION                 a redirect
 *   POLICY|l|SKIP|STATUS|PIECES                   likewise, to what is made of pieces
 *   POLICY|a|SKIP|STATUS|TEXT                     an answer
 *   POLICY|x                                      503
 *   none|d                                        the default pool, as if there were no rule
 *   none|c|CONDITIONS|ROUTE|CONDITIONS|ROUTE...   the first whose conditions hold; ROUTE is one of the above, percent-encoded; at last none|d
 *   none|m|CONDITIONS|ROUTE|CONDITIONS|ROUTE...   likewise, where all conditions are of the path as it was sent
 *
 * Where owners are asked for, a bar and the Ingress follow at the end of each but the last two (route_writer.h).
 *
 * Flags are letters behind a dash, which policies of one kind have digits before (policy_kinds.h): s redirect to HTTPS, h HSTS, o CORS for any origin, c for those listed, k with credentials, d networks are refused, a others than those
 * listed are, r rate limits, b one that a table of HAProxy's follows, i with a second one, n limits of concurrent requests, q the request is changed, R only its path, which is made of texts, groups and itself, m bodies are limited, l Location or cookies of the backend are changed, p headers of the answer are, w there is a timeout, x another server is asked, f there is a pool that stands in, g one answers in place of errors, j others get copies, v something is made of a Service's name, e other endpoints are asked as retries say, z none is that could have got the request twice, u there are passwords, y one of the guards is enough. Conditions stand between ampersands: letters of subject and match, name, semicolon, value. Pieces stand between
 * exclamation marks: the letter of a value, and its text. Limits, between ampersands, are requests, seconds and burst with semicolons; those of a table are four numbers each, with semicolons: ticks a second, ticks of a request, how many may be ahead of one that is served, and of the next. So do changes, between ampersands: the letter of the action, name, semicolon, pieces. Texts and what takes their place stand
 * between ampersands, with a semicolon between the two.
 */
#pragma once

#include "provider-proxy/route_writer.h"

struct certs;

/* Its context; NULL: nobody has to know. */
struct policies_needs {
	struct certs *
		certs; /* which ask clients for certificates of theirs; NULL: somebody else looks for those */
	bool services; /* set when something is made of a Service's name: then there have to be rows that say it (assign.h) */
};

extern const struct route_writer policies_writer;

/* Rows of routes and lists, of which a request may have heard just now: they are found by what other rows say. */
bool policies_stays(enum row_table table, struct str key);
/* Of a policy's row the key of the row that is there when all of its lists are; STR_NONE for any other. */
struct str policies_lists_of(struct arena *arena, struct str key, struct str value);
/* Likewise, when all of its users are. */
struct str policies_users_of(struct arena *arena, struct str key, struct str value);
/* For each name of a pool in a route's row: whether it holds for any. */
bool policies_any_pool(struct str value, bool (*holds)(void *ctx, struct str pool_name), void *ctx);
