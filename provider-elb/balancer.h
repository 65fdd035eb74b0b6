// SPDX-License-Identifier: Apache-2.0
/*
 * The resources of one load-balancer object in AWS, brought to what is wanted: asks plan.h for the next step, takes it when its turn comes, learns from
 * the answer, and asks again. What failed is tried again alone; targets have their own loop (target_sync.h).
 */
#pragma once

#include "provider-common/provider.h"
#include "provider-elb/call.h"
#include "provider-elb/certs.h"
#include "provider-elb/config.h"
#include "provider-elb/inventory.h"
#include "provider-elb/network.h"
#include "provider-elb/observed.h"

struct balancer;
struct dns;

/* What all of them use of other parts. */
struct balancer_context {
	const struct call_context *calls;
	const struct config *options;
	const struct settings *settings;
	struct provider *provider;
	struct observed *observed;
	struct network *network;
	struct certs *certs;
	struct inventory *inventory;
	const struct dns *dns; /* NULL: records are not kept */
	/* It is over: nothing is wanted, and nothing is there. It is to be freed. */
	void (*on_gone)(void *ctx, struct balancer *balancer);
	void *ctx;
};

/* `lb` is the value of TAG_LB, copied: the id of the load-balancer object, as a tag may hold it. Does nothing yet. */
struct balancer *balancer_new(const struct balancer_context *context, struct str lb);
void balancer_free(struct balancer *balancer);
struct str balancer_id(const struct balancer *balancer);

/* The object, which is present, says what is wanted, or something that it depends on does. */
void balancer_want(struct balancer *balancer, struct object *object);
/* Likewise, after something was found out anew: what was refused before may succeed now. */
void balancer_reconsider(struct balancer *balancer, struct object *object);
/* Nothing is wanted any more. What is there may be removed from that time on (clock_monotonic_s()): what was found without an owner waits for
 * --orphan-grace. */
void balancer_want_nothing(struct balancer *balancer, double remove_from);
bool balancer_is_wanted(const struct balancer *balancer);
/* Something it depends on was read, or has come: plans again. */
void balancer_wake(struct balancer *balancer);
/* Likewise, after everything was listed. */
void balancer_on_listed(struct balancer *balancer);
/* Reads everything of it again, and compares. False: it is at work anyway. */
bool balancer_sweep(struct balancer *balancer);
/* Another replica may have written until now, and everything observed was forgotten: goes on as after a start, once it is known again. */
void balancer_start_over(struct balancer *balancer);
/* Tells the translator: something that its status shows may have changed. */
void balancer_tell(struct balancer *balancer);
bool balancer_fill_status(struct balancer *balancer, struct arena *arena, struct lb_status *status);
