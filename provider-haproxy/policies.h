// SPDX-License-Identifier: Apache-2.0
/*
 * What is done with requests besides finding their pool, as rows that policies.cfg.tmpl looks up. Keys and values are data without a grammar:
 * fields stand between bars, and texts in them are percent-encoded. No I/O.
 *
 *   table   key                             value
 *   WHOLE   route:<route>                   what its requests are led to, see below
 *   PREFIX  policy:<policy>                 FLAGS||redirect's status|:port|hsts||methods|headers|exposed headers|max-age|path|changes
 *   PREFIX  cors:<policy>:<origin>/         1, for each allowed origin
 *   PREFIX  deny:<policy>:<4 or 6><digits>  1, for each network that is refused: what its addresses begin with, in hexadecimal digits
 *   PREFIX  allow:<policy>:<4 or 6><digits> 1, likewise for those that are let in
 *
 * A route leads to one of these; POLICY is a name, or "none"; SKIP is how much of the path its prefix is, or nothing:
 *
 *   POLICY|p|SKIP|POOL
 *   POLICY|w|SKIP|SUM|BOUND|POOL|BOUND|POOL...    one of them by weight
 *   POLICY|r|SKIP|STATUS|LOCATION                 a redirect
 *   POLICY|l|SKIP|STATUS|PIECES                   likewise, to what is made of pieces
 *   POLICY|a|SKIP|STATUS|TEXT                     an answer
 *   POLICY|x                                      503
 *   none|d                                        the default pool, as if there were no rule
 *   none|c|CONDITIONS|ROUTE|CONDITIONS|ROUTE...   the first whose conditions hold; ROUTE is one of the above, percent-encoded; at last none|d
 *
 * BOUND is the sum of the weights up to that pool. policies.lua reads conditions (ampersands between them: letters of subject and match, name, semicolon,
 * value), pieces (exclamation marks between them: the letter of a value, then its text), and changes (ampersands: letter, name, semicolon, pieces). All that belongs to a policy is in one table, so it is sent in the order in which it is wanted.
 */
#pragma once

#include "common/arena.h"
#include "common/buf.h"
#include "proto/model.h"
#include "provider-proxy/names.h"
#include "provider-proxy/rows.h"

enum {
	POLICIES_DRAW_FIELD = 5, /* the first bound's, counted from 1 */
	POLICIES_POOLS_MAX = 16, /* as in the protocol: each is a rule in every frontend */
	POLICIES_TEXT_LEN_MAX = 13 * 1024,
};

struct policies_row {
	struct str key;
	struct str value;
};

/* The value of a policy's row, in the arena. */
struct str policies_text(struct arena *arena, const struct policy *policy);
/* Rows of its lists, sorted, without duplicates. */
size_t policies_lists(struct arena *arena, const struct name *name, const struct policy *policy,
	struct policies_row **ret_rows);
/* The value of a route's row for one rule; absent when it cannot be had. */
struct str policies_route(struct arena *arena, const struct path_rule *rule);
