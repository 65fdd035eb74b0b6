// SPDX-License-Identifier: Apache-2.0
/*
 * Asks for the state of load balancers that come up, many in one call, and of those that go, each alone: an answer about several is refused whole when
 * one of them is gone.
 */
#pragma once

#include "provider-elb/call.h"
#include "provider-elb/observed.h"

struct poller;

struct poller_config {
	const struct call_context *calls;
	struct observed *observed;
	double interval_s;
	/* The state of one of this load-balancer object was read. */
	void (*on_state)(void *ctx, struct str lb);
	/* AWS does not know it any more. It is still in `observed`. */
	void (*on_gone)(void *ctx, struct observed_balancer *balancer);
	void *ctx;
};

struct poller *poller_new(const struct poller_config *config);
void poller_free(struct poller *poller);
/* Goes on until no load balancer in `observed` comes up any more. */
void poller_start(struct poller *poller);
/* Until this one is gone, too. */
void poller_add_going(struct poller *poller, struct str arn);
