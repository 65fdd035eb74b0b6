// SPDX-License-Identifier: Apache-2.0
/* A set of networks (CIDR), to tell whether an address lies in the VPC. No I/O. */
#pragma once

#include "common/str.h"

#include <stdbool.h>

enum { NETWORKS_MAX = 64 }; /* a VPC has at most 5 + 5 unless its quotas were raised */

struct networks;

struct networks *networks_new(void);
void networks_free(struct networks *networks);
/* False: it is no network, or there are too many. */
bool networks_add(struct networks *networks, struct str cidr);
bool networks_have(const struct networks *networks, struct str ip);
