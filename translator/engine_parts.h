// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of the engine, in the order of the story. Each is given those before it that it needs, and knows none behind it; only the files
 * that stand in front of them all see this: engine.c, work.c, and those that show people what there is (explain.c, inspect.c, measure.c).
 */
#pragma once

#include "translator/batch.h"
#include "translator/records.h"
#include "translator/statuses.h"

struct engine {
	struct engine_config config;
	struct arena scratch; /* of one step */

	/* the neighbours, and what is known of them */
	struct source_peer *source;
	struct provider_peer *provider;

	/* who needs whom, and what is to be done */
	struct graph graph;
	struct secrets *secrets;
	struct pending *pending;

	/* an Ingress, understood */
	struct classes *classes;
	struct plans *plans;

	/* what its owner hears, and what only one can have */
	struct diagnostics *diagnostics;
	struct offers offers;
	struct owners owners;
	struct claims claims;

	/* a record comes in, and what depends on it is marked */
	struct publish *publish;
	struct fronts *fronts;
	struct targets targets;
	struct changes changes;
	struct records *records;

	/* objects are built and sent */
	struct host_paths host_paths;
	struct objects objects;
	struct batch *batch;

	/* what the provider says goes back */
	struct statuses statuses;
};
