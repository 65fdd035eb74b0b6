// SPDX-License-Identifier: Apache-2.0
/*
 * How the endpoints of a pool are spoken to, where a class shares a load balancer: by what the port's appProtocol says, unless the
 * Ingress says something else, and with TLS by what its owner trusts. Nobody's certificate goes unchecked unless the owner of the
 * Ingress says so: whoever says nothing gets a pool without endpoints, and is told. Pure.
 */
#pragma once

#include "translator/backends.h"
#include "translator/plan.h"

enum { BACKEND_SECRETS_MAX = 2 };

struct backend_tls_request {
	const struct backend_wish *wish; /* all zero: nothing is said */
	const struct secret_record *ca;  /* those that it names; NULL: there is none */
	const struct secret_record *client;
};

/* After backend_build(), whose problem stays unless this one is worse. Texts of the pool may point into the Secrets. */
void backend_tls_settle(const struct backend_tls_request *request, struct arena *arena,
	struct pool *pool, struct backend_problem *problem);

/* The Secrets of its own namespace that the plan's backends need; views of the plan. Returns how many. */
size_t backend_secrets(const struct plan *plan, struct str ret_names[BACKEND_SECRETS_MAX]);

bool backend_wish_is_set(const struct backend_wish *wish);
/* An annotation by which it is set, without the part before the slash; for messages. */
const char *backend_wish_word(const struct backend_wish *wish);
