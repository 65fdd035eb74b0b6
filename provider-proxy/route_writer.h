// SPDX-License-Identifier: Apache-2.0
/*
 * How a proxy writes what a rule does beyond leading to a pool (PROTOCOL.md, section 5.3): each has its own rows for it. routes.h says where they are found.
 *
 * All values were checked when a writer gets them: texts of pieces, names and values of headers, networks and the like are what policy_checks.h says, so they
 * hold neither control bytes nor, but for blanks inside of texts, white space. A writer has to encode blanks: rows have none.
 */
#pragma once

#include "provider-proxy/names.h"
#include "provider-proxy/row_set.h"
#include "proto/model.h"

enum routes_form {
	ROUTES_BY_HOST, /* each host has a name */
	ROUTES_DIRECT,
};

/* One rule of a route. Texts live during the call. */
struct route_rule {
	const struct path_rule *rule; /* as it was sent */
	struct str
		path; /* of `rule`, without the last slash of a prefix: what follows it is `path-rest`; of a decoded host encoded as in rows */
	bool is_exact;
	bool has_to_match; /* the request is for this path or below only if `path` or rule->regex says so: with regular expressions on the host */
	bool is_closed;    /* answered with 503, whatever else it says */
	struct name pool;  /* of rule->pool; empty: none */
	struct name policy; /* likewise */
	struct str
		owner; /* `namespace/name` of the Ingress, with a dash before it if its requests are not logged; empty: it has none; absent: nobody asks */
	struct str
		client; /* the host wants certificates of clients: what write_client() was given; empty: it does not */
};

/* What becomes of requests for one path of a host: the first rule that matches, and without one the load balancer's default pool. */
struct route {
	struct name name; /* made from all of it: another content has another name */
	const struct route_rule *rules;
	size_t count;
	bool is_decoded; /* regular expressions are for the decoded path */
};

struct route_writer {
	void *ctx;
	/* Adds the rows of a route. NULL, or why it cannot be: then it has added none, and its rules are closed. */
	const char *(*write_route)(void *ctx, const struct route *route, struct row_draft *draft);
	/* Adds the rows of a policy, of which `name` is the name, and may say in *ret_problem what is left out of it. False: it protects by what cannot be
	 * done, *ret_problem says so, and its rules have to be closed: it has added no rows, or such that close. */
	bool (*write_policy)(void *ctx, const struct name *name, const struct policy *policy,
		struct row_draft *draft, struct str *ret_problem);
	/* Adds the rows of what a host wants of its clients' certificates. `key` is the name of the load balancer, a colon and the host, which is `*` for any. NULL, or
	 * why it cannot be: then the rules of the host are closed. May be NULL itself: it never can. */
	const char *(*write_client)(void *ctx, struct str key, const struct client_tls *client,
		struct row_draft *draft);
	/* Adds the row of how connections for a host are secured, of which all ciphers are known; `key` as above. May be NULL: it never can be said. */
	void (*write_handshake)(
		struct str key, const struct host_handshake *handshake, struct row_draft *draft);
};
