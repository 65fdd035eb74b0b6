// SPDX-License-Identifier: Apache-2.0
/*
 * All load-balancer objects, and those of which only resources in AWS are left: follows the translator's commits and the inventory's passes.
 */
#pragma once

#include "provider-elb/balancer.h"
#include "provider-elb/records.h"

struct balancers;

/* `context` is kept but for its on_gone and ctx, which are set here. */
struct balancers *balancers_new(struct balancer_context *context);
void balancers_free(struct balancers *balancers);

void balancers_on_commit(struct balancers *balancers, const struct state_commit *commit);
/* A pass of the inventory is complete. */
void balancers_on_listed(struct balancers *balancers);
/* Each looks whether it can go on. */
void balancers_wake(struct balancers *balancers);
/* Something was learnt of the resources of this object. */
void balancers_on_changed(struct balancers *balancers, struct str lb);
/* The network was found out, or has changed: what is wanted depends on it. */
void balancers_on_network(struct balancers *balancers);
/* A certificate got its ARN, or was refused: those that use it. */
void balancers_on_certificate(struct balancers *balancers, struct str certificate);
/* The next one is read in full. */
void balancers_sweep_next(struct balancers *balancers);
/* Another replica may have written until now, and everything observed was forgotten. */
void balancers_start_over(struct balancers *balancers);
/* The hosts of all that are wanted, see balancer_list_hosts(). */
void balancers_list_hosts(
	const struct balancers *balancers, struct arena *arena, struct records_wishes *wishes);
/* What is known of their DNS records has changed. */
void balancers_on_dns(struct balancers *balancers);
/* An outage began or ended. */
void balancers_tell_statuses(struct balancers *balancers);
bool balancers_fill_status(struct balancers *balancers, struct object *object, struct arena *arena,
	struct lb_status *status);
