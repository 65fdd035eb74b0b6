// SPDX-License-Identifier: Apache-2.0
/*
 * From the translator's objects to the rows that a proxy looks up, one host at a time: a commit costs what it changes. No I/O.
 *
 * Names (names.h): load balancers `l...`, hosts `h...` (with decoded paths `d...`), pools `p...`, routes `r...`, policies `y...`. Rows:
 *
 *   table   key                          value
 *   WHOLE   host:<load balancer>:<host>  name of the host; <host> is a name, `*.name`, or `*` for any; or a pool or a route, which
 *                                        gets all its requests
 *   WHOLE   default:<load balancer>      pool of requests that match nothing else
 *   WHOLE   sni:<load balancer>:<host>   pool of TLS connections that are passed through
 *   WHOLE   tcp:<load balancer>:<port>   pool of all connections to the port; udp:... of all datagrams
 *   WHOLE   plain:<host name>            the name that takes its place for plain HTTP: its rules are those without tls_only
 *   WHOLE   client:<load balancer>:<host>  what the proxy's writer says of its clients' certificates
 *   WHOLE   <host name><path>            pool or route of exactly that path
 *   PREFIX  <host name><path>/           pool or route of that path and everything below, <path> without its last slash
 *
 * A request is looked up as: host exact, else with its first label replaced by `*`, else `*`; on plain HTTP the name found is replaced if
 * there is a `plain:` row; then host name + path in WHOLE; then host name + path + `/` in PREFIX; then the default; else 404. All other
 * values are names of pools. A pool that does not exist or has no endpoint gives 503.
 *
 * A rule that has nothing but a pool is a row of the pool. Otherwise it is a row of a route: all rules that a request may come to whose longest
 * key this is, in order, those of shorter keys among them. So a proxy never has to look for a second path: if none of them matches it goes on with the
 * default. If any rule of a host has a regular expression, the host has one route for all paths, whose rules are all of the host's, and have to be compared with the
 * path one after the other. What routes and policies are to the proxy is in rows of its own (route_writer.h).
 *
 * Of a host `d...` the paths in keys are decoded and resolved as the protocol says, with blanks, control bytes and `%` (as %25) encoded again; so has
 * the path to be that is looked up.
 *
 * With ROUTES_DIRECT keys of paths of a host `d...` begin with `e...` instead, so that nobody finds one who has not looked at the path. And a host whose only rules are for `/`, for plain HTTP and TLS alike, has its pool or route in place of its name: one row instead of two,
 * and one look-up instead of three or four. If it had more rules before, the row of `/` stays as long as the host does, and whoever sets rows lets that
 * of a host wait for its row of `/`: so no request meets a host without rules while it changes from one to the other.
 *
 * Where owners are asked for (routes_name_owners()) the value of a row of paths that is a pool is followed by a bar and the Ingress whose rule it is, as
 * `namespace/name`, with a dash before it if its requests are not to be logged; a default pool has none. Routes say it of each of their rules.
 *
 * What fails a check is left out, nothing else is, and the Ingress that wants it gets a notice.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/names.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/route_writer.h"
#include "provider-proxy/rows.h"

struct routes;

/* All arguments must outlive it. Without a writer, which may be NULL, what has more than a pool is closed. */
struct routes *routes_new(struct rows *rows, struct notices *notices, enum routes_form form,
	const struct route_writer *writer);
/* Whether rows say whose they are. Before the first commit. */
void routes_name_owners(struct routes *routes, bool names_owners);
/* The name of the host, pool or route in the value of a row. */
struct str routes_target(struct str value);
/* Takes its user pointers back from the state. */
void routes_free(struct routes *routes, struct state *state);

/* Brings the rows up to date with what the commit changed. Takes the user pointers of virtual hosts and policies for itself. */
void routes_on_commit(
	struct routes *routes, struct state *state, const struct state_commit *commit);
/* Virtual hosts of the load balancer with TLS passed through. */
size_t routes_passthrough_count(const struct routes *routes, const struct name *load_balancer);
/* Of all load balancers. */
size_t routes_passthrough_total(const struct routes *routes);
