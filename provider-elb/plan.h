// SPDX-License-Identifier: Apache-2.0
/*
 * The next step that brings the resources of one load-balancer object nearer to what is wanted: a pure function. Steps are taken one by one, and each is
 * planned from what the answer to the one before has shown, so nothing depends on what was meant to happen: a crash between any two calls, a lost
 * answer or a change by hand lead to another plan, not to another program.
 *
 * Order (make before break): groups and their settings → security group → balancer → TAG_CHANGING → listeners, certificates → rules: moved
 * priorities, changed, new, then old ones → listeners that go → certificates that go → groups that go → security group rules that go → TAG_APPLIED.
 * Nothing leads to a group before its targets were registered once (observed_group.is_supplied). Targets themselves are kept by target_sync.h, which
 * never waits for a plan.
 */
#pragma once

#include "provider-elb/observed.h"
#include "provider-elb/wanted.h"

enum plan_step {
	PLAN_NOTHING, /* as wanted, or only AWS can go on */
	PLAN_LATER,   /* look again after delay_s */
	/* reads: each one is a single call, but for paging */
	PLAN_READ_LISTENERS, /* of `balancer`; then rules and certificates, which make its content complete */
	PLAN_READ_SECURITY_GROUP,
	PLAN_READ_GROUP_HEALTH, /* of `group`: is one target healthy? */
	/* writes */
	PLAN_CREATE_GROUP,
	PLAN_MODIFY_GROUP,            /* the health check */
	PLAN_MODIFY_GROUP_ATTRIBUTES, /* then its TAG_APPLIED */
	PLAN_TAG_GROUP,
	PLAN_CREATE_SECURITY_GROUP,
	PLAN_AUTHORIZE, /* `permission` */
	PLAN_REVOKE,
	PLAN_CREATE_BALANCER,
	PLAN_SET_SECURITY_GROUPS,
	PLAN_TAG_BALANCER, /* with `tag_value` */
	PLAN_CREATE_LISTENER,
	PLAN_MODIFY_LISTENER,
	PLAN_DELETE_LISTENER,
	PLAN_ADD_CERTIFICATE,
	PLAN_REMOVE_CERTIFICATE,
	PLAN_SET_PRIORITIES,
	PLAN_MODIFY_RULE,
	PLAN_CREATE_RULE,
	PLAN_DELETE_RULE,
	PLAN_DELETE_BALANCER,
	PLAN_DELETE_GROUP,
	PLAN_DELETE_SECURITY_GROUP,
	PLAN_FORGET, /* nothing is wanted, and nothing is there */
};

struct plan_priority {
	struct str rule; /* ARN */
	uint64_t priority;
};

/* Which network a new balancer is made in. */
struct plan_network {
	struct str vpc;
	struct str_list
		subnets; /* chosen for a new balancer; empty: not known yet, or there are too few */
	struct str_list
		security_groups; /* given by the administrator; empty: one of our own is made */
	struct str backend_security_group; /* attached to all, too; absent: none */
	struct str_list inbound;           /* CIDRs that may connect */
};

struct plan_input {
	const struct load_balancer *object; /* NULL: nothing is wanted any more */
	const struct wanted *wanted;        /* NULL with it, or when it must not exist */
	bool is_kept;                       /* what is wanted is not known: nothing is touched */
	const struct settings *settings;
	const struct plan_network *network;
	struct observed *observed;
	struct str lb; /* id of the object */
	double now;
	double replace_delay_s; /* how long a replaced balancer stays after its successor was active */
	bool may_delete;        /* the translator's snapshot is complete */
	/* A rule that AWS has no room for: this many of the last ones (by precedence) are given up, and told; 0: none. */
	size_t rules_given_up;
};

struct plan {
	enum plan_step step;
	const struct wanted_balancer *wanted; /* that it belongs to; NULL: none */
	struct observed_balancer *balancer;
	struct observed_group *group;
	struct observed_security_group *security_group;
	const struct elb_group *wanted_group;
	const struct elb_listener *wanted_listener;
	const struct elb_listener *listener; /* as read */
	const struct elb_rule *wanted_rule;
	const struct elb_rule *rule; /* as read */
	const struct elb_action *
		action; /* of a rule or a listener: what to send now, which may be a step of a move by weights */
	uint64_t priority;                /* of a new rule */
	struct plan_priority *priorities; /* of PLAN_SET_PRIORITIES */
	size_t priority_count;
	struct observed_permission permission; /* of PLAN_AUTHORIZE and PLAN_REVOKE */
	struct str certificate;                /* ARN */
	struct str tag_value;
	struct str_list security_groups; /* of a new balancer, or of PLAN_SET_SECURITY_GROUPS */
	double delay_s;
	const char *
		waits_for; /* for the status: "the load balancer to become active"; NULL: nothing */
	bool is_settled;   /* everything is as wanted: it can be told as applied */
};

/* Everything that *ret_plan points to is in the arena, or in what the input points to. */
void plan_next(const struct plan_input *input, struct arena *arena, struct plan *ret_plan);
