// SPDX-License-Identifier: Apache-2.0
/* What a running nginx leaves behind: workers from before a reload. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Each holds its connections and its memory. */
enum { WORKERS_OLD_MAX = 32 };

/* When more than WORKERS_OLD_MAX workers of the master are shutting down, the oldest of them is ended, with its connections. */
bool workers_end_oldest(pid_t master);
