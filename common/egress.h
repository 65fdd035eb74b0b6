// SPDX-License-Identifier: Apache-2.0
/*
 * Egress policy: the networks to which no request is ever sent, whoever names an address in them (an EndpointSlice, Endpoints, the host name of a
 * Service, a URL). Otherwise whoever may write such objects could reach what trusts this machine: what listens on its loopback, the cloud's
 * metadata, its neighbours on the link.
 *
 * The built-in networks are always refused; --refuse-egress adds networks, and only --allow-egress makes exceptions to the built-in ones. Where
 * both match, --refuse-egress wins. An IPv4 address written as IPv6 (mapped, or behind the prefix of NAT64) counts as what it is. No I/O.
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

/* NULL and an error message in *ret_problem (allocated): an item is not a network. The options need
 * not stay valid. */
struct egress *egress_new(const struct egress_options *options, char **ret_problem);
void egress_free(struct egress *egress);

/* NULL: requests may go there. Otherwise the reason, worded to follow "ADDRESS is refused: "; it lives as long as `egress`. Without a policy (NULL)
 * the built-in networks are refused. Anything but an IP address is refused. */
const char *egress_refusal(const struct egress *egress, struct str ip);
