// SPDX-License-Identifier: Apache-2.0
/*
 * Sends objects to the provider, in batches:
 *
 *   users, policies, certificates, pools, load balancers, virtual hosts
 *   gone: virtual hosts, load balancers, pools, certificates, policies, users
 *   commit
 *
 * A batch takes what is dirty when it begins, and continues whenever the provider has room. However
 * slow the provider is, each object is sent at most once per batch, in its newest form. At every
 * commit, what the provider has is consistent:
 *
 *  - An object refers only to objects that were sent before. An object that became dirty during the
 *    batch waits for the next one; but if an object of this batch may refer to it and the provider
 *    does not have it at all, it is sent ahead.
 *  - Nothing is removed while an object that was sent may refer to it. Whatever dropped its
 *    reference to an object given up before the batch began was dirty by then, and has been resent
 *    before removals begin. An object given up since waits for the next batch; so do all remaining
 *    removals as soon as one of them turns out to be wanted again, because that one has not been
 *    resent.
 */
#pragma once

#include "translator/fronts.h"
#include "translator/objects.h"
#include "translator/served.h"

struct batch;

/* The parts that it uses. All must stay valid. */
struct batch_parts {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	struct secrets *secrets;
	struct pending *pending;
	struct diagnostics *diagnostics;
	struct fronts *fronts;
	struct served *served;
	const struct objects *objects;
	struct arena *scratch;
};

struct batch *batch_new(const struct batch_parts *parts);
void batch_free(struct batch *batch);

/* How many objects of this kind the provider has. */
size_t batch_sent_count(const struct batch *batch, enum lb_kind kind);
/* Of the last commit of this connection; 0: none. */
uint64_t batch_serial(const struct batch *batch);
/* The provider has everything. */
bool batch_is_idle(const struct batch *batch);
void batch_provider_up(struct batch *batch);
void batch_provider_down(struct batch *batch);
/* True: there is more to do, and room for it. */
bool batch_work(struct batch *batch);
