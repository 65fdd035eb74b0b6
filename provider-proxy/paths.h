// SPDX-License-Identifier: Apache-2.0
/*
 * The paths of one host on their way into rows. In the protocol the first matching rule wins; in rows the longest key does. No I/O.
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

/* Drops rules hidden by an earlier one with a shorter or equal path, and sorts the rest. Returns how many are left; scratch memory comes from
 * the arena. */
size_t paths_drop_hidden(struct path_entry *entries, size_t count, struct arena *arena);
