// SPDX-License-Identifier: Apache-2.0
/*
 * The pool of one port of a Service. A Service or a port that is missing gives a pool without
 * endpoints, so that its routes stay and answer 503, and a problem for all who use it. Pure; the
 * order of the slices given does not matter.
 */
#pragma once

#include "translator/endpoints.h"

struct backend_request {
	struct str namespace;
	struct str service; /* empty: a backend that was refused; no problem is told again */
	struct str port;    /* as in struct plan_pool */
	const struct service_record *record; /* NULL: there is none */
	const struct endpoints_record *const *slices;
	size_t slice_count;
	bool allow_external_name;
	const struct egress *egress; /* NULL: what is built in */
};

struct backend_problem {
	const char *reason; /* NULL: none */
	struct str text;
};

/* key.id is the caller's. */
void backend_build(const struct backend_request *request, struct arena *arena,
	struct pool *ret_pool, struct backend_problem *ret_problem);
