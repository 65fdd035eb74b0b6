// SPDX-License-Identifier: Apache-2.0
/* A set of networks (CIDR), to tell whether an address lies in the VPC. No I/O. */
#pragma once

#include "common/str.h"

#include <stdbool.h>

enum { NETWORKS_MAX = 64 }; /* a VPC has at most 5 + 5 unless its quotas were raised */

/* How an address can be a target. */
enum network_place {
	NETWORK_INSIDE, /* in one of the networks */
	NETWORK_ELSEWHERE, /* in a private network that may be connected to the VPC: AvailabilityZone=all */
	NETWORK_REFUSED, /* AWS takes no such target, and with it none of the same call (InvalidTarget) */
};

struct networks;

struct networks *networks_new(void);
void networks_free(struct networks *networks);
/* False: it is no network, or there are too many. */
bool networks_add(struct networks *networks, struct str cidr);
bool networks_have(const struct networks *networks, struct str ip);
/* `networks` NULL: they are not known, and all that can be a target at all is inside. (AWS, "Register targets": besides those of the VPC 10.0.0.0/8,
 * 100.64.0.0/10, 172.16.0.0/12 and 192.168.0.0/16; IPv6 only of the VPC.) */
enum network_place networks_place(const struct networks *networks, struct str ip);
