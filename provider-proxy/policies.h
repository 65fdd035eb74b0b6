// SPDX-License-Identifier: Apache-2.0
/*
 * Policies on their way into the rows of a proxy: checked, written by its writer, and their owners told what could not be had. Part of routes.c. No I/O.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/route_writer.h"

struct policies {
	struct rows *rows;
	struct notices *notices;
	const struct route_writer
		*writer; /* NULL: there are no rows, and rules with a policy are closed */
};

/* Takes the object's user pointer for itself. */
void policies_on_change(struct policies *policies, struct state *state, struct object *object,
	bool is_removed, struct arena *arena);
/* Takes the user pointers back. */
void policies_fini(struct state *state);
