// SPDX-License-Identifier: Apache-2.0
/* What a running nginx leaves behind: workers from before a reload. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Each holds its connections and its memory. */
enum { WORKERS_OLD_MAX = 32 };

/* How many workers of the master take connections: for a moment after a reload those of before, too. 0: not known. */
size_t workers_count_taking(pid_t master);

/* When more than WORKERS_OLD_MAX workers of the master are shutting down, the oldest of them is ended, with its connections. */
bool workers_end_oldest(pid_t master);
