// SPDX-License-Identifier: Apache-2.0
/*
 * The paths of one host on their way into rows. In the protocol the first matching rule wins; in rows the longest key does, so each row has to say what
 * becomes of a request whose longest key it is: its rules, in order, until one that takes all requests. Those of shorter keys are among them. No I/O.
 */
#pragma once

#include "common/arena.h"
#include "common/str.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	PATHS_RULES_MAX = 64, /* of one row: so many can depend on conditions */
};

/* A rule on its way into the rows. */
struct path_entry {
	struct str path;   /* without the last slash of a prefix */
	struct str lookup; /* path and a slash: what requests below it begin with */
	size_t index;
	bool is_exact;
	bool tls_only;
	bool has_conditions; /* it does not take all requests for its path */
};

struct path_row {
	const struct path_entry *
		entry; /* the first rule of this path: of its key, `lookup` or, if it is exact, `path` */
	const struct path_entry *
		*rules; /* in order; the last has no conditions, or the default follows it */
	size_t count;
	const struct path_entry *cut; /* the first rule that there was no room for; NULL: none */
};

/* Sorts the entries, and returns how many rows are made of them. Rules that an earlier one with a shorter or equal path hides are in none. Everything lives
 * in the arena. */
size_t paths_to_rows(
	struct path_entry *entries, size_t count, struct arena *arena, struct path_row **ret_rows);

/* A decoded path as keys have it: blanks, control bytes and `%` percent-encoded. */
struct str paths_encode(struct str path, struct arena *arena);
