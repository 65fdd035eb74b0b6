// SPDX-License-Identifier: Apache-2.0
/*
 * Which pool has which slot, with which servers, and the row that says so. No I/O.
 */
#pragma once

#include "provider-haproxy/class.h"
#include "provider-haproxy/slots.h"
#include "provider-haproxy/trust_files.h"
#include "provider-proxy/externals.h"
#include "provider-proxy/notices.h"
#include "provider-proxy/rows.h"
#include "provider-common/state.h"

/* All belong to the caller. */
struct assign {
	struct slots *slots;
	struct state *state;
	struct rows *rows;
	struct notices *notices;
	struct arena *arena; /* of one step */
	struct trust_files *trust;
	struct externals *externals; /* NULL: names are not looked up */
	struct class_paths paths;
	const char *cookie_key;
	size_t slots_min; /* pools that are prepared for at first */
};

/* The key of the row with a pool's slot, in the arena. */
struct str assign_row_key(const struct assign *assign, const struct name *pool);
/* The pool was added or changed: gives it a slot of its class, makes slots when there is none, and says which servers are wanted. NULL: there
 * are too many. *ret_left is another slot that the pool had before, or NULL. */
struct slot *assign_pool(
	const struct assign *assign, struct object *object, struct slot **ret_left);
/* The pool is gone; returns the slot that it had, or NULL. Its row stays: a request may just be looking it up. */
struct slot *assign_remove(const struct assign *assign, struct object *object);
/* Keeps room for pools to come. */
void assign_provide(const struct assign *assign);
