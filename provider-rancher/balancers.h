// SPDX-License-Identifier: Apache-2.0
/*
 * All load balancers, those that are wanted and those that have to go: takes commits (what is wanted) and rows (what exists), finds out
 * which row belongs to which load balancer and which to none, and lets exactly those plan again that are concerned.
 */
#pragma once

#include "provider-rancher/balancer.h"

struct balancers;

/* Keeps what the context points to. */
struct balancers *balancers_new(const struct balancer_context *context);
void balancers_free(struct balancers *balancers);

/* ---- what is wanted ---- */

void balancers_on_commit(struct balancers *balancers, const struct state_commit *commit);
/* A certificate that the load balancer of this object uses has changed. */
void balancers_touch_object(struct object *object);
bool balancers_fill_status(struct balancers *balancers, struct object *object, struct arena *arena,
	struct lb_status *status);

/* ---- what is there ---- */

/* A list or an event has shown this row; `changes` are of enum row_change. */
void balancers_on_row(struct balancers *balancers, struct lb_row *row, unsigned changes);
/* A complete list has not shown this row. */
void balancers_on_unseen(struct balancers *balancers, struct lb_row *row);
/* A list is complete, and everything is known: claims rows, removes orphans, and goes on with those that have waited. `follows`: another
 * line acts, so that what we want appears without our doing. */
void balancers_on_listed(struct balancers *balancers, bool follows);
/* The image is known now. */
void balancers_on_image(struct balancers *balancers);
/* An outage has begun or ended, which shows in the status of whoever wants to make a request. */
void balancers_tell_statuses(struct balancers *balancers);

/* Whether anything is under way or failing. */
bool balancers_are_busy(struct balancers *balancers);
