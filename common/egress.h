// SPDX-License-Identifier: Apache-2.0
/*
 * Egress policy: the networks to which no request is ever sent, whoever names an address in them (an EndpointSlice, Endpoints, the host name of a
 * Service, a URL). Whoever may write such objects would else reach what trusts this machine: what listens on its loopback, the cloud's metadata,
 * its neighbours on the link.
 *
 * The built-in networks are always refused; --refuse-egress adds to them, and only --allow-egress, which names a network, takes something out.
 * What --refuse-egress names is refused even so. An IPv4 address written as IPv6 (mapped, or behind the prefix of NAT64) counts as what it is.
 * No I/O.
 */
#pragma once

#include "common/options.h"
#include "common/str.h"

/* See egress.def. */
struct egress_options {
	struct option_list refused; /* CIDRs */
	struct option_list allowed;
};

struct egress;

/* NULL and *ret_problem in words (allocated): an item is no network. The options may go. */
struct egress *egress_new(const struct egress_options *options, char **ret_problem);
void egress_free(struct egress *egress);

/* NULL: requests may go there. Else why not, in words that fit behind "ADDRESS is refused: " and live as long as `egress`. Without a policy (NULL) the
 * built-in networks are refused. What is no IP address is refused. */
const char *egress_refusal(const struct egress *egress, struct str ip);
