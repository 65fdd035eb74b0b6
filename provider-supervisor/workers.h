// SPDX-License-Identifier: Apache-2.0
/* Old workers after a reload, which finish what is under way. Each holds its connections, its memory and a share of the machine, and a tenant who
 * changes ports without end would make ever more of them. */
#pragma once

#include "provider-supervisor/kind.h"

#include <stddef.h>

/* Reloads whose workers may live on. */
enum { WORKERS_OLD_MAX = 4 };

/* How many workers of nginx's master take connections; for a moment after a reload this includes the old ones. 0: not known. */
size_t workers_count_taking(pid_t master);

/* Ends the oldest workers of the master, with their connections, so that those of `reloads_max` reloads are left. At least 1: the worker that
 * serves may be an old one while the next one starts. Returns how many were ended. */
size_t workers_end_old(const struct kind *kind, pid_t master, size_t reloads_max);
