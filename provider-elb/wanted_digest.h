// SPDX-License-Identifier: Apache-2.0
/*
 * The digests that are kept in TAG_APPLIED. They do not depend on the order in which hosts, certificates or attributes came, and are the same in every
 * process: a new version of this program changes them only when it wants something else. No I/O.
 */
#pragma once

#include "provider-elb/wanted.h"

/* Of a balancer with its listeners, rules and certificates; groups by their names, for each has a digest of its own. What is only for messages and the
 * numbers of priorities are left out. */
struct str wanted_balancer_digest(const struct wanted_balancer *balancer, struct arena *arena);
