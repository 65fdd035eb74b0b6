// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts of rules and of TLS entries. The API server lets only proper ones in, but objects that an
 * older server stored stay as they are, and this text ends in the configuration of a load balancer.
 * Pure.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* NULL when the host can be served, otherwise why not, in words for its owner. Empty is HOST_ANY;
 * `*.` before a name is HOST_WILDCARD and stands for one label. */
const char *host_check(struct str host, enum host_match *ret_match);
/* With capital letters made small. */
struct str host_lower(struct arena *arena, struct str host);
