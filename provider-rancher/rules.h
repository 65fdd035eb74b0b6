// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual hosts and pools to Rancher's port rules.
 *
 * Rancher's load balancer tries the rules of a port by ascending priority, compares hosts without case, a
 * wildcard at any depth, and a path as a plain prefix without case; length does not matter to it (the
 * original sent no priority, and "/" might win over "/api"). So routes are put in this order, and
 * numbered from 1:
 *
 *   exact hosts, by name; wildcard hosts, the longest first; no host
 *   within a host the longest path first, otherwise in the order of the virtual host
 *   last of all the default pool, without host and path
 *
 * No I/O.
 */
#pragma once

#include "provider-rancher/notices.h"
#include "provider-rancher/spec.h"

/* Where routes get what they do not know themselves. */
struct rules_lookup {
	void *ctx;
	/* NULL: there is no such pool. */
	const struct pool *(*pool)(void *ctx, struct str id);
	/* The id in Rancher of the Service with this uid; absent: Rancher does not know it (yet). */
	struct str (*service)(void *ctx, struct str uid);
};

/* A rule before it is put on a port. */
struct route {
	enum host_match match;
	struct str host;
	struct str path;
	struct str service_name;
	struct str service_id;
	uint64_t target_port;
	size_t order; /* in which it was found */
};

struct routes {
	struct route *items;
	size_t count;
	struct str *unknown_uids; /* of Services that Rancher does not know */
	size_t unknown_count;
};

/* All routes of a load balancer for requests, in order of precedence. `hosts` are its virtual hosts; those with passthrough
 * are left out. */
void rules_collect(const struct load_balancer *lb, const struct virtual_host *hosts,
	size_t host_count, const struct rules_lookup *lookup, struct arena *arena,
	struct notices *notices, struct routes *ret_routes);
/* The routes for TLS connections that are passed through, of the virtual hosts with passthrough. Rancher's protocol
 * `sni` compares server names exactly: wildcards are left out. */
void rules_collect_passthrough(const struct virtual_host *hosts, size_t host_count,
	const struct rules_lookup *lookup, struct arena *arena, struct notices *notices,
	struct routes *ret_routes);
/* The one route of a TCP port. */
void rules_collect_pool(struct str pool, const struct rules_lookup *lookup, struct arena *arena,
	struct notices *notices, struct routes *ret_routes);
/* Puts the routes on a port: appends to spec->rules. */
void rules_add_port(const struct routes *routes, uint64_t port, const char *protocol,
	struct arena *arena, struct lb_spec *spec);
/* The name that Rancher gives the backend of a rule without backendName. */
struct str rules_default_backend(
	uint64_t port, struct str host, struct str path, struct arena *arena);
/* Names the backends whose default name another rule of the same port has as well: Rancher would mix
 * them up. All others keep the default, because people's snippets refer to it. */
void rules_name_backends(struct lb_spec *spec, struct arena *arena);
