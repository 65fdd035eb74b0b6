// SPDX-License-Identifier: Apache-2.0
/*
 * Users of a policy, as rows of the table ROW_RULE (policies.h). They hold secrets: no row of these is told to anybody but HAProxy, which tells sluice-proxy.
 *
 *   user:<users>:<name>/    a hash, percent-encoded; the name in hexadecimal digits, so that none is the beginning of another
 *   users:<users>           1, when all of them are there
 *
 * No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/rows.h"

/* What stands in a command before anything secret. */
#define USERS_SECRET " user:"

struct users_rows {
	struct state *state;
	struct rows *rows;
	bool hides_hashes; /* for people to read */
};

/* Takes the object's user pointer for itself. */
void users_on_change(
	struct users_rows *users, struct object *object, bool is_removed, struct arena *arena);
/* Gives the user pointers back. */
void users_fini(struct users_rows *users);

/* Whether the row of this key is one of these. */
bool users_are_of(struct str key);
/* Of the row that is there when all others of the list are. */
struct str users_key(struct arena *arena, struct str name);
