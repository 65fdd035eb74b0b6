// SPDX-License-Identifier: Apache-2.0
/*
 * What AWS has with the tag of this cluster: found by the tagging API, which lags, and confirmed by the pages of the load balancer API, so that a start
 * costs pages and not a call for each load balancer. Lists again from time to time, and asks for the state of load balancers that come up or go.
 */
#pragma once

#include "provider-elb/call.h"
#include "provider-elb/config.h"
#include "provider-elb/observed.h"

struct inventory;

struct inventory_ops {
	/* A certificate in ACM with our tag; texts valid during the call. Then, after the last one of a pass, on_certificates_end(). */
	void (*on_certificate)(void *ctx, struct str arn, struct str identity, struct str applied);
	void (*on_certificates_end)(void *ctx);
	/* A pass is complete: everything that exists is in `observed`, and nothing else. */
	void (*on_listed)(void *ctx);
	/* The state of a load balancer was read again, or it is gone. */
	void (*on_changed)(void *ctx, struct str lb);
	/* What is known has changed: inventory_missing_text(). */
	void (*on_progress)(void *ctx);
};

struct inventory_config {
	const struct call_context *calls;
	const struct config *options;
	struct observed *observed;
	const struct inventory_ops *ops;
	void *ctx;
};

struct inventory *inventory_new(const struct inventory_config *config);
void inventory_free(struct inventory *inventory);
void inventory_start(struct inventory *inventory);
/* At least one pass was complete: what is not in `observed` is not there. */
bool inventory_is_known(const struct inventory *inventory);
/* What is waited for, and why, for people; NULL: nothing. Static, or valid until the next call. */
const char *inventory_missing_text(const struct inventory *inventory);
/* Why the last pass failed, while nothing is known; NULL: it did not. Likewise. */
const char *inventory_problem(const struct inventory *inventory);
/* Lists everything again: soon, after the pass under way if there is one. Cheap; may be called any number of times. */
void inventory_list_now(struct inventory *inventory);
/* The number of the pass that begins next, and so knows all that has happened until now; and of the last one that was complete. */
uint64_t inventory_next_pass(const struct inventory *inventory);
uint64_t inventory_complete_pass(const struct inventory *inventory);
/* Somebody else may have written until now: forgets all, and nothing is known before a pass that begins now is complete. */
void inventory_start_over(struct inventory *inventory);
/* Counts what was forgotten: who keeps pointers into `observed` over a call compares it. */
uint64_t inventory_losses(const struct inventory *inventory);
/* There may be load balancers that come up: their states are asked for every --poll-interval until that is over. */
void inventory_poll(struct inventory *inventory);
/* The removal of this one was accepted: asked for likewise, until it is gone. */
void inventory_poll_gone(struct inventory *inventory, struct str arn);
