// SPDX-License-Identifier: Apache-2.0
/*
 * The I/O of the election: reads and writes the Lease as election.h asks, and tells up to when this process leads. Works for ever; an
 * API server that cannot be reached ends the leadership in its time, and nothing else.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/election.h"

struct lease;

struct lease_config {
	struct ev_loop *loop;
	struct api *api;
	const char *namespace; /* texts are copied */
	const char *name;
	double duration_s;
	double deadline_s;
	double retry_s;
	/* `until_ms` of CLOCK_BOOTTIME, 0: not at all. After each renewal and when it is lost. */
	void (*on_lead)(void *ctx, uint64_t until_ms);
	/* Why the Lease cannot be had or read, for readiness; NULL: it can. */
	void (*on_problem)(void *ctx, const char *problem);
	void *ctx;
};

/* Begins from the loop. */
struct lease *lease_new(const struct lease_config *config);
/* The leadership ends with its time; lease_release() before gives it away at once. */
void lease_free(struct lease *lease);
bool lease_leads(const struct lease *lease);
/* Gives the leadership away if we have it: writes that nobody holds the Lease, and turns the loop until that is answered, for
 * `limit_s` at most. Nothing is told any more. */
void lease_release(struct lease *lease, double limit_s);
/* The namespace of the pod, or "default"; the caller frees it. */
char *lease_default_namespace(void);
