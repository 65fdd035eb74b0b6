// SPDX-License-Identifier: Apache-2.0
/*
 * Who owns a host. On a load balancer that classes share, a host belongs to the namespace of the oldest Ingress with a rule for it,
 * whether TLS is terminated or passed through, and the certificate served for it follows the host. A wildcard covers the names
 * directly below it: if it is older than every Ingress with such a name, and of another namespace, it owns that name, too. A name
 * that was there first keeps its owner, and the wildcard gets the rest. Rules without a host count as one more host, which covers
 * nothing. Ingresses of other namespaces get no part of a host unless its owner, or the administrator for all hosts, allows it. The
 * owner is the oldest Ingress with the name, or the one with the wildcard.
 *
 * The answer depends on the oldest users of at most four hosts, which the hosts remember. Whoever changes one of these queues the
 * host with the claims to be settled; settling updates what is sent, served and reported for it and for what it covers.
 */
#pragma once

#include "translator/diagnostics.h"

/* The parts that it uses; it has no state of its own. */
struct owners {
	const struct provider_peer *provider;
	const struct engine_config *config; /* whether hosts have owners */
	struct pending *pending;
	struct diagnostics *diagnostics;
	struct arena *scratch;
};

/* The Ingress whose namespace owns the host, and which decides with whom it is shared; NULL: the host has no owner. */
struct ingress_node *owners_find(
	const struct owners *owners, struct balancer_node *balancer, struct str host);
/* The same for a virtual host that is built from the answer; when the answer changes, the host must be
 * settled again. */
struct ingress_node *owners_of(const struct owners *owners, struct host_node *host);
/* Whether `ingress` may use what belongs to `owner`, which is from owners_find(). */
bool owners_allow(const struct ingress_node *owner, const struct ingress_node *ingress);
/* Reports to `loser` that it may not. `field`: as for diag_add(). */
void owners_tell(const struct ingress_node *owner, const struct object_ref *loser, struct str host,
	const char *field, struct diag_list *diags);
/* After it has become a user of the host, or is no longer one. */
void owners_joined(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress);
void owners_left(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress);
/* The age of a user, or with whom it shares its hosts, has changed. */
void owners_changed(const struct owners *owners, struct host_node *host);
/* Whether a user of the host has certificates has changed, or it is a new one that may have them. */
void owners_certified(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress);
/* Whether there is a certificate for the wildcard above the host. */
bool owners_have_tls_above(const struct owners *owners, const struct host_node *host);
/* Applies what follows from the present owner of the host. No batch may be active. */
void owners_settle(const struct owners *owners, struct host_node *host);
/* Whether it has hosts, but neither any of them nor anything else is served for it. */
bool owners_have_all(const struct owners *owners, struct ingress_node *ingress);
