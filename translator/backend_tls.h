// SPDX-License-Identifier: Apache-2.0
/*
 * The protocol and TLS settings of a pool, where a class shares a load balancer: the port's appProtocol decides, unless the
 * Ingress says otherwise. Certificates of endpoints are verified against what the owner of the Ingress trusts, and go unverified
 * only if the owner says so. With TLS but neither setting, the pool has no endpoints, and the owner gets an Event. Pure.
 */
#pragma once

#include "translator/backends.h"
#include "translator/plan.h"

enum { BACKEND_SECRETS_MAX = 2 };

struct backend_tls_request {
	const struct backend_wish *wish; /* all zero: nothing was asked for */
	const struct secret_record *ca;  /* the Secrets that it names; NULL: missing */
	const struct secret_record *client;
	bool takes_keyless; /* Secrets come without their keys */
	uint64_t missing;   /* words that the provider has not listed: enum policy_bit */
};

/* Call after backend_build(), whose problem stays unless this one is worse. Texts of the pool may point into the
 * Secrets. */
void backend_tls_settle(const struct backend_tls_request *request, struct arena *arena,
	struct pool *pool, struct backend_problem *problem);

/* The Secrets, in the plan's own namespace, that its backends need; views of the plan. Returns their
 * number. */
size_t backend_secrets(const struct plan *plan, struct str ret_names[BACKEND_SECRETS_MAX]);
