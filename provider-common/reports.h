// SPDX-License-Identifier: Apache-2.0
/*
 * What goes up to the translator: statuses of the load balancers that are marked, and the events
 * that wait. No I/O: frames are handed out one by one to whoever has room for them.
 *
 * Statuses are levels. A load balancer is marked, and its status is made when it can be sent, so
 * the newest wins and nothing grows while the translator does not read. Events are sent once; a
 * bounded number of them waits.
 */
#pragma once

#include "provider-common/state.h"

#include <stdbool.h>

struct reports;

struct reports_ops {
	/* As provider_ops.fill_status. */
	bool (*fill_status)(void *ctx, struct object *load_balancer, struct arena *arena,
		struct lb_status *status);
	/* A status or an event exceeds a limit of the protocol and cannot be sent. */
	void (*on_unsendable)(void *ctx, struct str id, const char *why);
};

struct reports *reports_new(size_t events_max, const struct reports_ops *ops, void *ctx);
void reports_free(struct reports *reports);

/* Seconds, on any clock; for metrics. */
void reports_set_time(struct reports *reports, double now_s);
void reports_mark(struct reports *reports, struct object *load_balancer);
/* The load balancer's desired state has changed: the time until it is applied is measured from now. */
void reports_note_change(struct reports *reports, struct object *load_balancer);
/* What was changed is in force, and its status, which nobody has to make again, says what it did; one that is marked is made all the same. */
void reports_note_same(struct reports *reports, struct object *load_balancer);
/* The load balancer is removed: forgets all about it, including its mark. */
void reports_forget(struct reports *reports, struct object *load_balancer);
void reports_add_event(struct reports *reports, const struct lb_event *event);
/* The other side knows nothing (any more): what was sent counts as unsent. Marks are left to the
 * caller. */
void reports_forget_told(struct reports *reports);

/* The next payload to send, valid until the next call; false when there is none. Statuses come
 * before events. */
bool reports_take(struct reports *reports, struct str *ret_payload);
