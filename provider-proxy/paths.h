// SPDX-License-Identifier: Apache-2.0
/*
 * The paths of one host on their way into rows, where the longest key wins, while in the protocol the first rule does. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>

/* A rule on its way into the rows. */
struct path_entry {
	struct str path;   /* without the last slash of a prefix */
	struct str lookup; /* path and a slash: what requests below it begin with */
	struct str pool;
	size_t index;
	bool is_exact;
	bool tls_only;
};

/* Leaves out rules that an earlier one, being shorter or equal, hides, and sorts the rest. Returns how many are left; scratch comes from the
 * arena. */
size_t paths_drop_hidden(struct path_entry *entries, size_t count, struct arena *arena);
