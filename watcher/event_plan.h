// SPDX-License-Identifier: Apache-2.0
/*
 * Which Events are written, and under which names. Pure, after client-go's EventCorrelator: a spam
 * filter for each object (a burst of 25, then one in 300 s), and EVENT_SIMILAR_MAX different
 * messages of one object, type and reason within 600 s become one Event.
 *
 * The name of an Event is derived from its content: <object name>.<digest of uid, type, reason,
 * message>. So a repetition, even after a restart, updates the Event that is there already, and
 * Events never pile up.
 */
#pragma once

#include "proto/model.h"
#include "watcher/digest_cache.h"

enum {
	EVENT_NAME_MAX = 253,
	EVENT_MESSAGE_MAX = 1024, /* what the API allows */
	EVENT_BURST = 25,
	EVENT_SIMILAR_MAX = 10,
	EVENT_MEMORY = 1024, /* objects, and reasons, that are remembered */
};

struct event_filter {
	struct digest_cache objects;
	struct digest_cache reasons;
};

struct event_plan {
	char name[EVENT_NAME_MAX + 1];
	char message[EVENT_MESSAGE_MAX + 1];
	uint64_t digest; /* of its content */
	bool is_combined;
};

void event_filter_init(struct event_filter *filter);
void event_filter_fini(struct event_filter *filter);
/* False: over the limit, drop it. `now` in seconds of any monotonic clock. */
bool event_filter_take(struct event_filter *filter, const struct event_note *note, double now,
	struct event_plan *ret_plan);
