// SPDX-License-Identifier: Apache-2.0
/*
 * Secrets and ConfigMaps that others name (named_refs.h), each watched by its name as long as somebody names it, with a reflector of its own: no other Secret of
 * that kind, and no other ConfigMap, is ever asked for. Secrets of type kubernetes.io/tls are watched by type anyway, and left out here, so that no object has two
 * sources.
 */
#pragma once

#include "watcher/named_refs.h"
#include "watcher/reflector.h"

struct named_objects;

enum { NAMED_OBJECTS_MAX = 512 };

struct named_objects_config {
	struct ev_loop *loop;
	struct api *api;
	struct store *store;
	const struct reflector_options *options;
	struct reflector_traits *traits;
	struct named_refs_config refs; /* its texts are kept */
	void (*on_changed)(void *ctx);
	/* named_objects_are_ready() may have become true. */
	void (*on_ready)(void *ctx);
	void (*on_refused)(
		void *ctx, enum record_kind kind, const struct project_meta *meta, const char *why);
	void *ctx;
};

/* Observes the store. */
struct named_objects *named_objects_new(const struct named_objects_config *config);
void named_objects_free(struct named_objects *named);
/* All that are named have been asked for, and answered, if only by a refusal; for one that the server cannot give the others do not wait for ever. But nothing is
 * ready without the global options, and what they name. */
bool named_objects_are_ready(const struct named_objects *named);
/* Why the global options cannot be relied on, as reflector_problem(); NULL: they can, or there are none. */
const char *named_objects_problem(const struct named_objects *named);
/* Retries at once whatever is waiting to be retried. */
void named_objects_hurry(struct named_objects *named);
