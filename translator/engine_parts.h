// SPDX-License-Identifier: Apache-2.0
/*
 * The parts of the engine, in the order in which data flows. Each is given the earlier parts that it uses, and knows none of the later
 * ones. Only the files on top of them all include this: engine.c, work.c, and those that show people the state (explain.c and its parts,
 * inspect.c, measure.c).
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
	struct global_options *options;
	struct plans *plans;

	/* what its owner is told, and what only one owner can have */
	struct diagnostics *diagnostics;
	struct offers offers;
	struct owners owners;
	struct claims claims;

	/* a record arrives, and what depends on it is marked */
	struct publish *publish;
	struct fronts *fronts;
	struct targets targets;
	struct changes changes;
	struct records *records;

	/* who shows addresses, and who has to be served first */
	struct served *served;

	/* objects are built and sent */
	struct host_paths host_paths;
	struct objects objects;
	struct batch *batch;

	/* what the provider reports is passed back */
	struct statuses statuses;
};
