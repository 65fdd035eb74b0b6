// SPDX-License-Identifier: Apache-2.0
/*
 * What an Ingress or a Service offers for each of its claims (claims.h): the certificate for a server name, the protocol
 * of a port. It is determined for all of its claims in one pass over its plan, and kept until the plan or one of its
 * Secrets changes. Settling a claim is a lookup, so thousands of names do not cost a pass each.
 */
#pragma once

#include "translator/plans.h"
#include "translator/secrets.h"

/* The parts that it uses; it has no state of its own. */
struct offers {
	struct graph *graph;
	struct secrets *secrets;
	struct plans *plans;
	struct arena *scratch;
};

/* `secret` for a name, `protocol` for a port. */
struct offer {
	const struct claim_node *claim;
	struct secret_node *secret;
	enum listener_protocol protocol;
};

/* NULL: it offers nothing for that claim. Valid until offers_forget(). */
const struct offer *offers_find(
	const struct offers *offers, struct ingress_node *ingress, const struct claim_node *claim);
/* Its plan, or the facts of one of its Secrets, have changed. */
void offers_forget(struct ingress_node *ingress);
/* The Secret of the entry, or the administrator's; NULL: none that is usable. */
struct secret_node *offers_secret(
	const struct offers *offers, const struct plan *plan, const struct plan_tls *tls);
/* Whether the certificate of a usable Secret is valid for the host. */
bool offers_covers(const struct secret_node *secret, struct str host);
