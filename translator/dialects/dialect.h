// SPDX-License-Identifier: Apache-2.0
/*
 * What all dialects do: they turn the annotations of an Ingress into its route settings, say which annotation asked for what, and what becomes of values
 * that cannot be used. A dialect knows nothing of providers.
 */
#pragma once

#include "translator/annotations.h"
#include "translator/dialects/service_url.h"
#include "translator/route_settings.h"

struct dialect {
	const struct ingress_record *ingress;
	struct object_ref self;
	struct arena *arena;
	struct diag_list *diags;
	struct route_settings *route;
	const struct option_list *egress_hosts; /* see foreign_hosts.h; NULL: none */
};

/* The field named in diagnostics, such as "metadata.annotations[sluice.io/cors.origins]". */
const char *dialect_field(const struct dialect *d, struct str key);
/* What `word` stands for is asked for by the annotation `key`. The first one is named when a provider lacks it. */
void dialect_ask(const struct dialect *d, enum policy_bit word, struct str key);
/* The pool of a Service, for the policy; returns its id. `port`: 0 for the first of its ports. */
struct str dialect_add_pool(const struct dialect *d, struct str namespace, struct str service,
	uint64_t port, bool is_https);
/* The pool of what the URL names: a Service, or a host outside the cluster that may be asked. NULL, or what is wrong in words. */
const char *dialect_add_server(
	const struct dialect *d, const struct service_url *url, struct str *ret_pool);
/* What is told of a URL that names neither. */
extern const char dialect_expected_server[];
/* Statuses of errors, each once, sorted: it takes them in any order. */
enum { STATUS_ERROR_LEAST = 400, STATUS_ERROR_MOST = 599 };
struct status_set {
	bool has[STATUS_ERROR_MOST + 1];
};
/* The list of those that the set has, in the arena. Returns their number. */
size_t dialect_list_statuses(
	const struct dialect *d, const struct status_set *set, struct status_code **ret_items);
/* The value cannot be used: what is only a comfort is left out; otherwise the rules of the Ingress are closed. */
void dialect_refuse(const struct dialect *d, enum policy_bit word, const struct annotation *a,
	const char *problem);
