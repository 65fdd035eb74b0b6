// SPDX-License-Identifier: Apache-2.0
/*
 * Whose a host is. On a load balancer that classes share, a host belongs to the namespace of the oldest Ingress that has it in a
 * rule, whether its TLS is opened or passed through; with the host goes the certificate that is shown for it. A wildcard covers the
 * names directly below it: where it is older than all that have such a name, and of another namespace, that name is its, too; the
 * other way round, a name that was there first stays whose it is, and the wildcard has the rest. The rules without a host are one
 * host like any other, which covers nothing. Ingresses of other namespaces have nothing of a host, unless its owner, or the
 * administrator for all hosts, allows it: the owner is the oldest Ingress with the name, or the one with the wildcard.
 *
 * The answer follows from the oldest users of at most four hosts, which the hosts remember. Whoever changes one of these asks for
 * the host to be settled, in the queue of the claims: then what is sent, shown and told of it, and of what it covers, is made anew.
 */
#pragma once

#include "translator/diagnostics.h"

/* What it needs of the parts before it; it has no state of its own. */
struct owners {
	const struct provider_peer *provider;
	const struct engine_config *config; /* whether hosts belong to anybody */
	struct pending *pending;
	struct diagnostics *diagnostics;
	struct arena *scratch;
};

/* The Ingress to whose namespace the host belongs, and which says with whom it is shared; NULL: it belongs to nobody. */
struct ingress_node *owners_find(
	const struct owners *owners, struct balancer_node *balancer, struct str host);
/* The same of a virtual host that is built of it; what it says must be settled anew when it changes. */
struct ingress_node *owners_of(const struct owners *owners, struct host_node *host);
/* Whether what belongs to that one may be had by the other. `owner`: of owners_find(). */
bool owners_allow(const struct ingress_node *owner, const struct ingress_node *ingress);
/* Tells the owner of one that may not. `field`: as of diag_add(). */
void owners_tell(const struct ingress_node *owner, const struct object_ref *loser, struct str host,
	const char *field, struct diag_list *diags);
/* After it has become a user of the host, or is none any more. */
void owners_joined(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress);
void owners_left(
	const struct owners *owners, struct host_node *host, const struct ingress_node *ingress);
/* Its age, or with whom it shares its hosts, is another. */
void owners_changed(const struct owners *owners, struct host_node *host);
/* What follows from who owns the host now. No batch is active. */
void owners_settle(const struct owners *owners, struct host_node *host);
/* Whether it has hosts, and none of them is served for it, nor anything else. */
bool owners_have_all(const struct owners *owners, struct ingress_node *ingress);
