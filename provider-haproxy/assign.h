// SPDX-License-Identifier: Apache-2.0
/*
 * Assigns slots and their servers to pools, and keeps the rows that map pools to slots. No I/O.
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
	struct externals *externals; /* NULL: names are not resolved */
	struct class_paths paths;
	const char *cookie_key;
	bool names_services; /* rows `service:<slot>` say whose a slot is: for the access log, and for policies */
	size_t slots_min; /* how many pools there are slots for at first */
};

/* The pool was added or changed: gives it a slot of its class, making slots when none is free, and sets the wanted servers. NULL: there are too
 * many. *ret_left is another slot that the pool had before, or NULL. */
struct slot *assign_pool(
	const struct assign *assign, struct object *object, struct slot **ret_left);
/* The pool is gone; returns the slot that it had, or NULL. Its row stays: a request may be looking it up at this moment. */
struct slot *assign_remove(const struct assign *assign, struct object *object);
/* Says whose the slot of a pool is that was assigned without that. */
void assign_name_service(const struct assign *assign, const struct object *object);
/* Nobody asks the slot any more. */
void assign_forget_service(struct rows *rows, const struct slot *slot);
/* Keeps free slots ready for new pools. */
void assign_provide(const struct assign *assign);
