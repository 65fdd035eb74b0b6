// SPDX-License-Identifier: Apache-2.0
/*
 * Statuses from the provider to the watcher. The status of each load balancer is kept, so that a
 * reconnecting watcher gets it again. For an Ingress whose load balancer has no status yet nothing
 * is sent, so that its old addresses stay. An Ingress that is not ours is released: the watcher
 * then removes what it wrote, and nothing else.
 */
#pragma once

#include "translator/fronts.h"
#include "translator/owners.h"
#include "translator/plans.h"
#include "translator/publish.h"
#include "translator/secrets.h"
#include "translator/served.h"

/* The parts that it uses; the statuses are kept in the balancer nodes. */
struct statuses {
	struct graph *graph;
	const struct source_peer *source;
	const struct provider_peer *provider;
	struct secrets *secrets;
	struct pending *pending;
	struct classes *classes;
	struct plans *plans;
	struct diagnostics *diagnostics;
	const struct owners *owners;
	struct fronts *fronts;
	struct publish *publish;
	struct served *served;
	struct arena *scratch;
};

/* The last status from the provider; lists in the arena. False: none. */
bool statuses_read(
	const struct balancer_node *balancer, struct arena *arena, struct lb_status *ret_status);
/* It has failed, and has not been applied since. */
bool statuses_has_failed(const struct balancer_node *balancer);
int statuses_take(const struct statuses *statuses, const struct lb_status *status);
void statuses_event(const struct statuses *statuses, const struct lb_event *event);
/* Diagnostics of the load balancer's status. */
void statuses_diagnose(const struct statuses *statuses, struct balancer_node *balancer,
	struct diag_list *diags, bool *ret_keep);
bool statuses_work(const struct statuses *statuses);
