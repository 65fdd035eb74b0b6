// SPDX-License-Identifier: Apache-2.0
/*
 * The rules of one virtual host: claims of one or several Ingresses, in the order in which they are
 * tried, without duplicates. Pure; the order of the claims does not matter.
 *
 * Order: longest path, then Exact (see path_compare()), then explicit paths before one implied by a
 * default backend, then the older Ingress, then the smaller namespace/name (among those of
 * ingress-nginx the greater one, as there), then the longer text
 * ("/foo/" before "/foo"), then as written.
 *
 * Two claims collide when they match the same requests. The first in the order wins; the owner of
 * the other gets a diagnostic, unless both are of one Ingress and mean the same.
 */
#pragma once

#include "translator/diag.h"
#include "translator/route_settings.h"

enum {
	RULES_MAX = 16 * 1024, /* of one virtual host */
	RULES_BYTES_MAX = 3 * 1024 * 1024,
};

/* What an Ingress gets beside its paths, and how that keeps its meaning on a host with regular expressions. */
enum claim_extra {
	CLAIM_USUAL,
	CLAIM_ROOT, /* the path "/" itself; goes before all others */
	CLAIM_SLASH, /* a path without its slash; none if another claim has it, or among regular expressions */
};

struct path_claim {
	struct str path;
	enum path_type type;
	struct str pool;                 /* empty: its route answers without one */
	const struct claim_route *route; /* NULL: there is nothing to it but the pool */
	bool tls_only;
	bool is_implied; /* the default backend, for what no path of the host takes */
	enum claim_extra extra;
	bool is_greater_first; /* of two of the same age, the greater namespace/name is taken for the older */
	bool is_other_name; /* the host is another name of the Ingress's: none if somebody has it as such */
	size_t position; /* in the Ingress, from 0: for order and messages */
	size_t rule;     /* likewise */
	const struct object_ref *ingress;
	uint64_t created;
};

struct rules_host {
	struct str name;
	bool has_tls; /* there is a certificate for it, as its Ingresses say, or those of the wildcard above it */
};

/* Whether one of its Ingresses has a certificate for the host. */
bool rules_have_tls(const struct path_claim *claims, size_t count);
/* Sorts the claims in place; rules are made in `arena`. */
void rules_merge(struct path_claim *claims, size_t count, const struct rules_host *about,
	struct arena *arena, struct virtual_host *ret_host, struct diag_list *diags);
