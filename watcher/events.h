// SPDX-License-Identifier: Apache-2.0
/*
 * The I/O of Kubernetes Events (core/v1): fire and forget. One request at a time, and a bounded queue whose overflow is dropped with a log
 * line; nothing ever waits for an Event. event_plan.h decides which are written, and under which names.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/event_plan.h"
#include "watcher/kinds.h"

enum { EVENTS_QUEUE_MAX = 1000, EVENTS_TRIES_MAX = 12 };

struct events;

/* on_problem(): for readiness, why no Events can be written; NULL: they can again. */
struct events *events_new(struct ev_loop *loop, struct api *api,
	void (*on_problem)(void *ctx, const char *problem), void *ctx);
void events_free(struct events *events);
/* The apiVersion that Events give for their object; before this call they give none. */
void events_set_version(struct events *events, const struct kind_version *version);
/* False: another replica writes the Events, and what is noted here is dropped. True at first. */
void events_set_active(struct events *events, bool is_active);
void events_note(struct events *events, const struct event_note *note);
