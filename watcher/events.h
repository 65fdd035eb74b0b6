// SPDX-License-Identifier: Apache-2.0
/*
 * The I/O of Kubernetes Events (core/v1): fire and forget. One request at a time, a bounded queue whose overflow is dropped with a log
 * line; nothing ever waits for an Event. Which ones are written under which names is decided in event_plan.h.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/event_plan.h"
#include "watcher/kinds.h"

enum { EVENTS_QUEUE_MAX = 1000, EVENTS_TRIES_MAX = 12 };

struct events;

/* on_problem(): why Events cannot be written at all, for readiness; NULL: they can again. */
struct events *events_new(struct ev_loop *loop, struct api *api,
	void (*on_problem)(void *ctx, const char *problem), void *ctx);
void events_free(struct events *events);
/* The version that Events name as that of their object; before, they are named without one. */
void events_set_version(struct events *events, const struct kind_version *version);
/* False: another replica tells of it; what is noted is left out. True at first. */
void events_set_active(struct events *events, bool is_active);
void events_note(struct events *events, const struct event_note *note);
