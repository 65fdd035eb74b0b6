// SPDX-License-Identifier: Apache-2.0
/*
 * Hosts of rules and of TLS entries. The API server admits only valid ones, but objects stored by
 * an older server remain, and this text ends up in the configuration of a load balancer. Pure.
 */
#pragma once

#include "common/arena.h"
#include "proto/model.h"

/* NULL if the host can be served, otherwise the reason, worded for its owner. An empty host is
 * HOST_ANY; `*.` before a name is HOST_WILDCARD and stands for one label. */
const char *host_check(struct str host, enum host_match *ret_match);
/* In lower case. */
struct str host_lower(struct arena *arena, struct str host);
