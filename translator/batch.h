// SPDX-License-Identifier: Apache-2.0
/*
 * Objects to the provider, in batches:
 *
 *   certificates, pools, load balancers, virtual hosts
 *   gone: virtual hosts, load balancers, pools, certificates
 *   commit
 *
 * A batch takes what is dirty when it begins, and goes on whenever the provider has room; so
 * however slow that is, each object is sent at most once in a batch, in its newest form. At every
 * commit what was sent is consistent:
 *
 *  - What is sent refers only to what was sent. An object that became dirty meanwhile waits for the
 *    next batch; but when one of this batch may refer to it and the provider does not know it at
 *    all, it is sent ahead.
 *  - Nothing is removed that something sent may still refer to. What was given up before the batch
 *    began was let go of by objects that were dirty then, and all of those have been sent anew when
 *    removals begin. What was given up since waits for the next batch; and so does the rest, as
 *    soon as one of those to be removed turns out to be wanted again, for it was not sent anew.
 */
#pragma once

#include "translator/fronts.h"
#include "translator/objects.h"

struct batch;

/* What it needs of the parts before it. All must stay valid. */
struct batch_parts {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	struct secrets *secrets;
	struct pending *pending;
	struct diagnostics *diagnostics;
	struct fronts *fronts;
	const struct objects *objects;
	struct arena *scratch;
};

struct batch *batch_new(const struct batch_parts *parts);
void batch_free(struct batch *batch);

/* How many objects of the kind the provider has. */
size_t batch_sent_count(const struct batch *batch, enum lb_kind kind);
/* The provider has everything. */
bool batch_is_idle(const struct batch *batch);
void batch_provider_up(struct batch *batch);
void batch_provider_down(struct batch *batch);
/* True: there is more to do, and room. */
bool batch_work(struct batch *batch);
