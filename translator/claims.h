// SPDX-License-Identifier: Apache-2.0
/*
 * What only one of several owners can have on a load balancer that a whole class shares: the
 * certificate served for a server name, an extra port, the default backend. The oldest eligible
 * owner holds it, and the others get a diagnostic.
 *
 * Any change to a claim queues it, and it is settled when the socket has run dry and before the
 * next batch begins. So a thousand owners of one name that arrive together are walked once. Objects
 * are built from holders, so building one never walks the owners.
 */
#pragma once

#include "translator/offers.h"
#include "translator/owners.h"

/* Names that one certificate is served for: they must fit into a frame beside two MiB of chain and key. */
enum { CERTIFICATE_HOSTS_MAX = 8192 };

/* The parts that it uses; it has no state of its own. */
struct claims {
	struct secrets *secrets;
	struct pending *pending;
	const struct owners *owners;
	const struct offers *offers;
};

/* Determines the holder. No batch may be active. */
void claims_settle(const struct claims *claims, struct claim_node *claim);
void claims_left(
	const struct claims *claims, struct claim_node *claim, const struct ingress_node *ingress);
/* Queues those claims to which the present plan of the Ingress may matter. */
void claims_ask_of(const struct claims *claims, struct ingress_node *ingress);
/* The same, but only when the socket has run dry and once for many Secrets: see
 * change_by_secrets(). */
void claims_ask_by_secrets(const struct claims *claims, struct ingress_node *ingress);
/* The certificate is about to be removed. */
void claims_forget_secret(const struct claims *claims, struct secret_node *secret);
/* Reports what the plan claims and others hold. */
void claims_diagnose(const struct claims *claims, const struct ingress_node *ingress,
	const struct plan *plan, struct diag_list *diags);
