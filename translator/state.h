// SPDX-License-Identifier: Apache-2.0
/*
 * The inside of the engine, shared by its modules:
 *
 *   targets.c    what an ingress needs, by its plan
 *   objects.c    builds the object of a node, with its diagnostics
 *   host_paths.c gathers the paths of a virtual host
 *   batch.c      objects to the provider, in batches that end in a commit
 *   statuses.c   statuses from the provider to the watcher
 *   measure.c    metrics for metrics.def
 *   work.c       settles, releases and tells what waits for it
 *   engine.c     the entry points, and whose turn it is
 */
#pragma once

#include "translator/records.h"
#include "translator/changes.h"
#include "translator/targets.h"
#include "translator/claims.h"
#include "translator/owners.h"
#include "translator/offers.h"
#include "translator/fronts.h"
#include "translator/publish.h"
#include "translator/diagnostics.h"
#include "translator/plans.h"
#include "translator/classes.h"
#include "translator/engine.h"
#include "translator/graph.h"
#include "translator/pending.h"
#include "translator/plan.h"
#include "translator/secrets.h"
#include "translator/source_peer.h"

enum {
	WORK_STEPS_MAX = 512, /* before others get their turn */
};

struct batch {
	bool is_snapshot;
	bool wrote; /* something since the last commit */
	bool holds; /* an old form stays with the provider, and so does what it may refer to */
	int stage;
};

struct engine {
	struct engine_config config;
	struct source_peer *source;
	struct provider_peer *provider;
	struct secrets *secrets;
	struct pending *pending;
	struct classes *classes;
	struct plans *plans;
	struct diagnostics *diagnostics;
	struct publish *publish;
	struct fronts *fronts;
	struct offers offers;
	struct owners owners;
	struct claims claims;
	struct targets targets;
	struct changes changes;
	struct records *records;

	struct graph graph;
	struct arena scratch;              /* of one step */
	size_t sent_counts[LB_KIND_COUNT]; /* objects that the provider has */

	bool snapshot_due;
	uint64_t serial;
	struct batch batch;
};

/* ---- objects.c ---- */

/* In the scratch arena; the result is one of the structs of model.h. Diagnostics are finished. */
const void *object_build(struct engine *engine, struct node *node, struct diag_list *diags);
/* Diagnostics of a node's own content: of an object, or of an ingress. */
void object_diagnose(struct engine *engine, struct node *node, struct diag_list *diags);

/* ---- host_paths.c ---- */

/* In the scratch arena; good until the fourth other plan is asked for. */
struct path_claim *host_paths_gather(
	struct engine *engine, struct host_node *node, size_t *ret_count, struct diag_list *diags);

/* ---- batch.c ---- */

/* The provider has everything. */
bool batch_is_idle(const struct engine *engine);
void batch_provider_up(struct engine *engine);
void batch_provider_down(struct engine *engine);
/* True: there is more to do, and room. */
bool batch_work(struct engine *engine);

/* ---- statuses.c ---- */

/* What the provider said last; lists in the arena. False: nothing. */
bool statuses_read(
	const struct balancer_node *balancer, struct arena *arena, struct lb_status *ret_status);
/* It has failed, and has not been applied since. */
bool statuses_has_failed(const struct balancer_node *balancer);
int statuses_take(struct engine *engine, const struct lb_status *status);
void statuses_event(struct engine *engine, const struct lb_event *event);
/* Diagnostics of the load balancer's status. */
void statuses_diagnose(struct engine *engine, struct balancer_node *balancer,
	struct diag_list *diags, bool *ret_keep);
bool statuses_work(struct engine *engine);

/* ---- work.c ---- */

/* True: there is more to do. Claims, and who owns a host. */
bool work_settle(struct engine *engine);
/* Releases those Services whose load balancer is gone. True: there were some. */
bool work_release(struct engine *engine);
/* Tells owners. True: there is more to do, and room. */
bool work_diagnose(struct engine *engine);
