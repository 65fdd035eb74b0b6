// SPDX-License-Identifier: Apache-2.0
/*
 * From the translator's objects to the rows that a proxy looks up, one host at a time: a commit costs what it changes. No I/O.
 *
 * Names (names.h): load balancers `l...`, hosts `h...`, pools `p...`. Rows:
 *
 *   table   key                          value
 *   WHOLE   host:<load balancer>:<host>  name of the host; <host> is a name, `*.name`, or `*` for any; or a pool, which gets all its requests
 *   WHOLE   default:<load balancer>      pool of requests that match nothing else
 *   WHOLE   sni:<load balancer>:<host>   pool of TLS connections that are passed through
 *   WHOLE   tcp:<load balancer>:<port>   pool of all connections to the port
 *   WHOLE   plain:<host name>            the name that takes its place for plain HTTP: its rules are those without tls_only
 *   WHOLE   <host name><path>            pool of exactly that path
 *   PREFIX  <host name><path>/           pool of that path and everything below, <path> without its last slash
 *
 * A request is looked up as: host exact, else with its first label replaced by `*`, else `*`; on plain HTTP the name found is replaced if
 * there is a `plain:` row; then host name + path in WHOLE; then host name + path + `/` in PREFIX; then the default; else 404. All other
 * values are names of pools. A pool that does not exist or has no endpoint gives 503.
 *
 * With ROUTES_DIRECT a host whose only rule is `/` for plain HTTP and TLS alike has its pool in place of its name: one row instead of two, and
 * one look-up instead of three or four. If it had more rules before, the row of `/` stays as long as the host does, and whoever sets rows lets that
 * of a host wait for its row of `/`: so no request meets a host without rules while it changes from one to the other.
 *
 * What fails a check is left out, nothing else is, and the Ingress that wants it gets a notice.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/names.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/rows.h"

struct routes;

enum routes_form {
	ROUTES_BY_HOST, /* each host has a name */
	ROUTES_DIRECT,
};

/* All arguments must outlive it. */
struct routes *routes_new(struct rows *rows, struct notices *notices, enum routes_form form);
/* Takes its user pointers back from the state. */
void routes_free(struct routes *routes, struct state *state);

/* Brings the rows up to date with what the commit changed. Takes the user pointers of virtual hosts for itself. */
void routes_on_commit(
	struct routes *routes, struct state *state, const struct state_commit *commit);
/* Virtual hosts of the load balancer with TLS passed through. */
size_t routes_passthrough_count(const struct routes *routes, const struct name *load_balancer);
/* Of all load balancers. */
size_t routes_passthrough_total(const struct routes *routes);
