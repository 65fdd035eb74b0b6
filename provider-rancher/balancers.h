// SPDX-License-Identifier: Apache-2.0
/*
 * All load balancers: those that are wanted, and those that have to go. Takes commits of what is wanted and rows
 * of what is there, finds out what belongs to whom, and wakes exactly those whom it concerns.
 */
#pragma once

#include "provider-rancher/balancer.h"

struct balancers;

/* Keeps what the context points to. */
struct balancers *balancers_new(const struct balancer_context *context);
void balancers_free(struct balancers *balancers);

/* ---- what is wanted ---- */

void balancers_on_commit(struct balancers *balancers, const struct state_commit *commit);
/* Something that the load balancer of an object depends on has changed: a certificate. */
void balancers_touch_object(struct object *object);
bool balancers_fill_status(struct balancers *balancers, struct object *object, struct arena *arena,
	struct lb_status *status);

/* ---- what is there ---- */

/* A row was told; `changes` are of enum row_change. */
void balancers_on_row(struct balancers *balancers, struct lb_row *row, unsigned changes);
/* A complete list has not shown it. */
void balancers_on_unseen(struct balancers *balancers, struct lb_row *row);
/* A list is complete, or something else has become known, and everything is: claims, orphans, and those who waited for it. `follows`: another
 * line acts, and what we want appears without our doing. */
void balancers_on_listed(struct balancers *balancers, bool follows);
/* Stack or image can be had now, or not. */
void balancers_tell_waiting(struct balancers *balancers);
/* The statuses of those who want a request may have changed: an outage has begun or ended. */
void balancers_tell_statuses(struct balancers *balancers);

/* Whether anything is under way or failing. */
bool balancers_are_busy(struct balancers *balancers);
