// SPDX-License-Identifier: Apache-2.0
/*
 * Where load balancers are made: the VPC, its networks, the subnets of new load balancers; and the quotas of the account. Found out at the start and on
 * request only, so that a tag that somebody changes moves no traffic. What could not be found out is tried again with back-off.
 */
#pragma once

#include "provider-elb/call.h"
#include "provider-elb/metadata.h"
#include "provider-elb/plan.h"

struct network;

/* Keeps all pointers and texts. */
struct network_config {
	const struct call_context *context;
	struct metadata *metadata; /* for the VPC; NULL: it may not be asked */
	struct str vpc;          /* absent: that of the given subnets, else that of this instance */
	struct str_list subnets; /* ids; empty: by tags */
	struct str_list security_groups;
	struct str backend_security_group;
	struct str_list inbound;
	/* Read: cluster, scheme, ip_address_type. Written: quotas and `networks`. */
	struct settings *settings;
	/* What network_plan(), network_problem() or the settings say has changed; from the loop. */
	void (*on_change)(void *ctx);
	void *ctx;
};

struct network *network_new(const struct network_config *config);
void network_free(struct network *network);

/* Finds everything out. */
void network_start(struct network *network);
/* A load balancer is about to be made, or was refused for its subnets: finds everything out again, unless that was just done or is about to be.
 */
void network_refresh(struct network *network);

/* It was found out once, whatever the result. */
bool network_is_known(const struct network *network);
/* For a load balancer of this type: an application load balancer gets at least two subnets, or none. Texts are valid until the next on_change().
 */
void network_plan(const struct network *network, enum elb_type type, struct plan_network *ret_plan);
/* Why a load balancer of this type has no subnets, for people; NULL: it has. Valid until the next on_change(). */
const char *network_problem(const struct network *network, enum elb_type type);
