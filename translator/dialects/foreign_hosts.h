// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts outside the cluster that annotations may name in URLs of servers to be asked (--egress-hosts): a name, or "*." and a domain for all names below it. Their addresses are
 * looked up by providers as those of Services of type ExternalName are, and the egress policy of endpoints counts for them. Pure.
 */
#pragma once

#include "common/options.h"
#include "common/str.h"

/* NULL, or what is wrong with the option in words (the caller frees it). */
char *foreign_hosts_problem(const struct option_list *allowed);
/* Whether the name, in small letters, may be asked. `allowed` NULL: none may. Addresses, and names of this machine, never may. */
bool foreign_hosts_have(const struct option_list *allowed, struct str host);
/* Whether it means the machine of the load balancer. */
bool foreign_host_is_local(struct str name);
