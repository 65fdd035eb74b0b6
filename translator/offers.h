// SPDX-License-Identifier: Apache-2.0
/*
 * What an Ingress or a Service has to offer for each of its claims (claims.h): the certificate for a server name, the
 * protocol of a port. It is found out for all of its claims at once, in one pass over its plan, and kept until the plan or
 * a Secret of it changes: a claim that is settled looks it up, so that thousands of names cost no walk of each over all.
 */
#pragma once

#include "translator/plans.h"
#include "translator/secrets.h"

/* What it needs of the parts before it; it has no state of its own. */
struct offers {
	struct graph *graph;
	struct secrets *secrets;
	struct plans *plans;
	struct arena *scratch;
};

/* `secret` of a name, `protocol` of a port. */
struct offer {
	const struct claim_node *claim;
	struct secret_node *secret;
	enum listener_protocol protocol;
};

/* NULL: it has nothing for that claim of its. Good until offers_forget(). */
const struct offer *offers_find(
	const struct offers *offers, struct ingress_node *ingress, const struct claim_node *claim);
/* Its plan, or the facts of a Secret of it, are others. */
void offers_forget(struct ingress_node *ingress);
/* The Secret of the entry, or the administrator's; NULL: none that is usable. */
struct secret_node *offers_secret(
	const struct offers *offers, const struct plan *plan, const struct plan_tls *tls);
/* Whether the certificate of that usable Secret is good for the host. */
bool offers_covers(const struct secret_node *secret, struct str host);
