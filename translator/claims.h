// SPDX-License-Identifier: Apache-2.0
/*
 * What only one of several owners can have of a load balancer that a whole class shares: the
 * certificate shown for a server name, an extra port, the default backend. The oldest that can have
 * it holds it, and the others hear of it.
 *
 * Whatever changes about a claim puts it into a queue, and it is settled when the socket has run
 * dry and before the next batch begins, so that a thousand owners of one name who come together are
 * looked through once. Objects are built from holders, so none of them walks over owners.
 */
#pragma once

#include "translator/offers.h"
#include "translator/owners.h"

/* Names that one certificate is shown for: as many as a list holds, and within a frame beside two MiB of chain and key. */
enum { CERTIFICATE_HOSTS_MAX = 8192 };

/* What it needs of the parts before it; it has no state of its own. */
struct claims {
	struct secrets *secrets;
	struct pending *pending;
	const struct owners *owners;
	const struct offers *offers;
};

/* Finds who holds it. No batch is active. */
void claims_settle(const struct claims *claims, struct claim_node *claim);
void claims_left(
	const struct claims *claims, struct claim_node *claim, const struct ingress_node *ingress);
/* Has those claims settled anew for which the ingress, with its present plan, may count. */
void claims_ask_of(const struct claims *claims, struct ingress_node *ingress);
/* The same, when the socket has run dry and once for many Secrets: see change_by_secrets(). */
void claims_ask_by_secrets(const struct claims *claims, struct ingress_node *ingress);
/* The certificate is going. */
void claims_forget_secret(const struct claims *claims, struct secret_node *secret);
/* What others have of what the plan claims. */
void claims_diagnose(const struct claims *claims, const struct ingress_node *ingress,
	const struct plan *plan, struct diag_list *diags);
