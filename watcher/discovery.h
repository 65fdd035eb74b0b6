// SPDX-License-Identifier: Apache-2.0
/*
 * Which versions of the kinds a server has: one small request for each group and version, which every authenticated caller may make
 * (Kubernetes API concepts, "API Discovery"). A version is served if the resource is in the list with the verbs list and watch. Of errors
 * only 404 means that it is not served; after any other the request is repeated.
 */
#pragma once

#include "watcher/api.h"
#include "watcher/kinds.h"

struct discovery;

/* The best version of each wanted kind; NULL: no version of it is served. */
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
	/* It has failed so far, and is being retried. */
	void (*on_problem)(void *ctx, const char *problem);
	void *ctx;
};

struct discovery *discovery_new(const struct discovery_config *config);
void discovery_free(struct discovery *discovery);
/* Starts over; on_done() is called from the loop, once for each run that is not superseded by another. */
void discovery_run(struct discovery *discovery);
bool discovery_is_running(const struct discovery *discovery);
