// SPDX-License-Identifier: Apache-2.0
/*
 * The I/O of the election: reads and writes the Lease as election.h asks, and reports until when this process leads. It never gives up;
 * an unreachable API server means only that the leadership runs out.
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
	/* `until_ms` on CLOCK_BOOTTIME; 0: not leading. After each renewal and when the Lease is lost. */
	void (*on_lead)(void *ctx, uint64_t until_ms);
	/* For readiness: why the Lease cannot be acquired or read; NULL: it can. */
	void (*on_problem)(void *ctx, const char *problem);
	void *ctx;
};

/* Begins from the loop. */
struct lease *lease_new(const struct lease_config *config);
/* The leadership runs out by itself; call lease_release() first to give it up at once. */
void lease_free(struct lease *lease);
bool lease_leads(const struct lease *lease);
/* Gives up the leadership if we have it: writes that nobody holds the Lease, and runs the loop until that is answered, for at most
 * `limit_s`. No more callbacks are made. */
void lease_release(struct lease *lease, double limit_s);
/* The namespace of the pod, or "default"; the caller frees it. */
char *lease_default_namespace(void);
