// SPDX-License-Identifier: Apache-2.0
/* Requests of an access log of nginx in the combined format, or in that of ingress-nginx, which begins with it. Pure. */
#pragma once

#include "sluicectl/replay_requests.h"

enum { REPLAY_LINE_MAX = 64 * 1024 };

/* A host, and a path of it that leads to an upstream. */
struct replay_home {
	struct str upstream; /* NAMESPACE-SERVICE-PORT, as ingress-nginx writes it */
	struct str path;
	struct str host;
};

struct replay_log {
	struct replay_home *homes; /* in the order of upstreams, longer paths first */
	size_t home_count;
	struct str host;  /* of lines that do not say it; empty: these are left out */
	bool with_unsafe; /* methods that may change something, too */
};

/* Finds the hosts of upstreams; they are in the arena, or views of the objects. */
void replay_log_find_homes(
	struct replay_log *log, const struct migrate_objects *objects, struct arena *arena);
/* Adds the request of one line, or counts why it does not. */
void replay_log_take(
	const struct replay_log *log, struct str line, struct replay_requests *requests);
