// SPDX-License-Identifier: Apache-2.0
/*
 * The pool of one port of a Service. A missing Service or port gives a pool without endpoints, so
 * that its routes stay and answer 503, and a problem that is reported to all who use it. Pure; the
 * order of the slices does not matter.
 */
#pragma once

#include "translator/endpoints.h"

struct backend_request {
	struct str namespace;
	struct str service; /* empty: the backend was refused, which has been reported already */
	struct str port;    /* as in struct plan_pool */
	const struct service_record *record; /* NULL: missing */
	const struct endpoints_record *const *slices;
	size_t slice_count;
	bool allow_external_name;
	bool is_foreign;             /* `service` is a host outside the cluster, and may be asked */
	bool wants_service;          /* its cluster address in place of its endpoints */
	const struct egress *egress; /* NULL: the built-in policy */
};

struct backend_problem {
	const char *reason; /* NULL: none */
	struct str text;
};

/* key.id is the caller's. */
void backend_build(const struct backend_request *request, struct arena *arena,
	struct pool *ret_pool, struct backend_problem *ret_problem);
