// SPDX-License-Identifier: Apache-2.0
/*
 * The next step that brings the resources of one load-balancer object nearer to what is wanted: a pure function. Steps are taken one by one, and each is
 * planned from what the answer to the one before has shown, so nothing depends on what was meant to happen: a crash between any two calls, a lost
 * answer or a change by hand lead to another plan, not to another program.
 *
 * Order (make before break): groups and their settings → security group → balancer → TAG_CHANGING → listeners, certificates → rules: moved
 * priorities, changed, new, then old ones → listeners that go → certificates that go → what goes with nobody waiting for it: security group rules, replaced
 * balancers, groups, security groups → TAG_APPLIED. What replaces another thing is there first; nothing is deleted while something that is
 * wanted cannot be made yet, but for rules when AWS has no room for more.
 * Nothing leads to a group before its targets were registered once (observed_group.is_supplied). Targets themselves are kept by target_sync.h, which
 * never waits for a plan.
 *
 * Where a rule or a listener leads to another group than before, and that has not proven itself, it leads to both for a while, to the new one with weight 0,
 * which is how AWS comes to check its health: a switch at once would give 503 until the first check. (reference: AWS, 5.6)
 *
 * What AWS refuses by itself stops nothing else: it is held for a while (plan_subject(), plan_input.held), as if it were as wanted.
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
	PLAN_READ_GROUP_HEALTH, /* of `group`: is one target healthy? Then it is_proven; in any case health_read_at is set */
	/* writes */
	PLAN_CREATE_GROUP,
	/* Settings of `group` as of `wanted_group`: the answers bring what is known of the group up to date, of its attributes, too. */
	PLAN_MODIFY_GROUP, /* the health check */
	PLAN_MODIFY_GROUP_ATTRIBUTES,
	PLAN_TAG_GROUP, /* with `tag_value` */
	PLAN_CREATE_SECURITY_GROUP,
	PLAN_AUTHORIZE, /* `permission` */
	PLAN_REVOKE,
	PLAN_CREATE_BALANCER,
	PLAN_SET_SECURITY_GROUPS,
	PLAN_TAG_BALANCER, /* with `tag_value` */
	PLAN_CREATE_LISTENER, /* as `wanted_listener`, without its further certificates, with `action` */
	PLAN_MODIFY_LISTENER, /* likewise; `listener` keeps its further certificates */
	PLAN_DELETE_LISTENER,
	PLAN_ADD_CERTIFICATE,
	PLAN_REMOVE_CERTIFICATE,
	PLAN_SET_PRIORITIES,
	PLAN_MODIFY_RULE,     /* `rule` gets the conditions of `wanted_rule`, and `action` */
	PLAN_CREATE_RULE,     /* at `listener`, with `priority` and `action` */
	PLAN_DELETE_RULE,     /* `rule` of `listener` */
	PLAN_DELETE_BALANCER, /* the answer sets is_leaving; a page without it forgets it */
	PLAN_DELETE_GROUP,
	PLAN_DELETE_SECURITY_GROUP,
	PLAN_FORGET, /* nothing is wanted, and nothing is there */
	PLAN_STEP_COUNT,
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
	double tag_delay_s; /* how long everything has to be as wanted before TAG_APPLIED says so */
	bool may_delete;    /* the translator's snapshot is complete */
	/* A rule that AWS has no room for: this many of the last ones (by precedence) are given up, and told; 0: none. */
	size_t rules_given_up;
	/* Read and compare although TAG_APPLIED says that all is as wanted. The caller drops the content before. */
	bool is_sweep;
	/* Since when every plan said is_settled; 0: the last one did not. TAG_APPLIED waits for tag_delay_s of it, so that changes that follow each other
	 * cost two tags together. */
	double settled_since;
	double failed_since; /* since when a balancer of this object is ELB_FAILED; 0: none is */
	/* Sorted: plan_subject() of steps that AWS has refused lately, and will refuse again. The caller limits their number, and lets go of each after some time. */
	struct str_list held;
};

/* Seconds. */
enum {
	PLAN_SUPPLY_WAIT_S = 5, /* an earlier wake is up to target_sync.h */
	PLAN_HEALTH_EVERY_S = 2,
	PLAN_PROOF_MAX_S = 60,   /* after this a new group is trusted without a healthy target */
	PLAN_FAILED_WAIT_S = 60, /* before a failed balancer is made anew */
	PLAN_DISAPPEAR_WAIT_S = 5,
	PLAN_PROTECTED_WAIT_S =
		300, /* then the caller forgets is_protected, and it is tried again */
	PLAN_PRIORITIES_WAIT_S = 60, /* people's own rules have filled a band */
	PLAN_HELD_WAIT_S = 60,
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
	/* Of a rule or a listener: what to send now, which may be a step of a move by weights; the group may have weight 0. */
	const struct elb_action *action;
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
	bool needs_help;   /* what it waits for does not come by itself */
	/* Everything is as wanted: it can be told as applied. Also true of steps that only remember that, or clean up. */
	bool is_settled;
};

/* Everything that *ret_plan points to is in the arena, or in what the input points to. */
void plan_next(const struct plan_input *input, struct arena *arena, struct plan *ret_plan);

/* What a step is about, to be held when AWS refuses it for good: an identity, a name, an ARN or an id; absent: it is nothing that others could go on without. */
struct str plan_subject(const struct plan *plan);
