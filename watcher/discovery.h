// SPDX-License-Identifier: Apache-2.0
/*
 * Which versions of the kinds a server has: one small request for each group and version, as every authenticated caller may make
 * (Kubernetes API concepts, "API Discovery"). Served means that the resource is in the list, with the verbs list and watch; not served is
 * told by 404 alone. Any other answer says nothing, and is asked for again.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/kinds.h"

struct discovery;

/* The best version of each kind that was asked for; NULL: not served in any. */
struct discovery_result {
	const struct kind_version *versions[RECORD_KIND_COUNT];
};

struct discovery_config {
	struct ev_loop *loop;
	struct api *api;
	bool kinds[RECORD_KIND_COUNT]; /* those that are wanted */
	double backoff_first_s;
	double backoff_max_s;
	void (*on_done)(void *ctx, const struct discovery_result *result);
	/* It has not worked so far, and goes on. */
	void (*on_problem)(void *ctx, const char *problem);
	void *ctx;
};

struct discovery *discovery_new(const struct discovery_config *config);
void discovery_free(struct discovery *discovery);
/* Asks all anew; on_done() comes from the loop, once for each run that is not overtaken by another. */
void discovery_run(struct discovery *discovery);
bool discovery_is_running(const struct discovery *discovery);
