// SPDX-License-Identifier: Apache-2.0
/*
 * How a plan is made, one file for each kind of thing. A function that returns bool has found the step, which stands in work->plan; false: nothing is to be done
 * there, or not now, which is noted in `work`.
 */
#pragma once

#include "provider-elb/plan.h"
#include "provider-elb/priorities.h"

/* What the plan is made of, and what has been found out so far. */
struct plan_work {
	const struct plan_input *input;
	struct arena *arena;
	struct plan *plan;
	LIST_OF(struct observed_balancer *) balancers; /* all of the object */
	LIST_OF(struct observed_group *) groups;
	LIST_OF(struct observed_security_group *) security_groups;
	/* Why it is not settled: what has come first. */
	bool is_waiting;
	const char *waits_for;
	bool needs_help;
	double delay_s; /* look again after it; 0: nothing has asked for that */
	/* Something is not done because AWS has refused it. */
	bool is_held;
};

/* A rule that is wanted, and what AWS has of it. */
struct plan_rule {
	const struct elb_rule *wanted;
	struct elb_rule *read; /* NULL: it is to be made */
	uint64_t priority;     /* that it is to have */
};

/* A listener that is wanted. */
struct plan_listener {
	const struct elb_listener *wanted;
	struct elb_listener *read; /* NULL: it is to be made */
	bool is_blocked;           /* something of it cannot be made yet, so that nothing may go */
	LIST_OF(struct plan_rule)
	rules; /* in order of precedence, without those that were given up */
	LIST_OF(struct elb_rule *) leaving; /* ours that are not wanted, by priority */
	struct plan_priority *moves;        /* what SetRulePriorities has to do */
	size_t move_count;
};

/* A group that something in the balancer leads to. */
struct plan_use {
	struct str group;
	bool is_alone; /* somewhere it is the only one */
};

/* A balancer whose content is known. */
struct plan_content {
	struct plan_work *work;
	const struct wanted_balancer *wanted;
	struct observed_balancer *balancer;
	LIST_OF(struct plan_listener) listeners; /* by port */
	LIST_OF(struct elb_listener *) leaving;  /* ours that are not wanted */
	LIST_OF(struct plan_use) uses;           /* by name, each once */
	size_t rule_count;                       /* that AWS has in it, of whomever */
	size_t rules_max;                        /* that AWS takes */
	bool is_blocked;                         /* as of a listener, but of any */
	struct observed_group *
		unproven; /* leads beside another one, and has yet to show a healthy target: the one that was asked longest ago */
};

/* ---- plan_steps.c: ways to end ---- */

bool plan_do(struct plan_work *work, enum plan_step step);
/* Not settled, and looked at again after delay_s (0: when something happens). */
void plan_wait(struct plan_work *work, const char *for_what, double delay_s);
/* The same for what does not come by itself: the owners are told. */
void plan_wait_for_help(struct plan_work *work, const char *for_what, double delay_s);
/* Settled or not, it is looked at again after delay_s. */
void plan_look_again(struct plan_work *work, double delay_s);
/* AWS has refused this: goes on without it. */
bool plan_is_held(struct plan_work *work, struct str subject);
/* Nothing is deleted before the translator's state is complete. */
bool plan_may_delete(struct plan_work *work);
/* Something of the listener cannot be made yet, so that nothing of it may go. */
void plan_block(struct plan_content *content, struct plan_listener *listener);
/* A step that changes the content of a balancer: says TAG_CHANGING before the first one. */
bool plan_change(struct plan_content *content, enum plan_step step);
bool plan_delete_balancer(struct plan_work *work, struct observed_balancer *balancer);
/* For qsort() and bsearch() of struct str. */
int plan_text_cmp(const void *left, const void *right);

/* ---- plan_groups.c ---- */

bool plan_groups_make(struct plan_work *work, const struct wanted_balancer *wanted);
/* Those that nothing wants or uses any more. `contents` are those of the wanted balancers that are known; those of others are as wanted. */
bool plan_groups_remove(
	struct plan_work *work, const struct plan_content *contents, size_t content_count);

/* ---- plan_security.c ---- */

/* Which security groups a balancer is to have, sorted; false: its own one is not there. */
bool plan_security_groups(
	struct plan_work *work, const struct wanted_balancer *wanted, struct str_list *ret_ids);
/* The own security group and its permissions, before a listener needs them. */
bool plan_security_make(struct plan_work *work, const struct wanted_balancer *wanted);
bool plan_security_revoke(struct plan_work *work, const struct wanted_balancer *wanted);
bool plan_security_remove(struct plan_work *work);

/* ---- plan_balancer.c ---- */

/* NULL: it is not there. */
struct observed_balancer *plan_balancer_find(
	const struct plan_work *work, const struct wanted_balancer *wanted);
/* Makes it; *ret_is_usable: it is there, and can be written to. */
bool plan_balancer_make(
	struct plan_work *work, const struct wanted_balancer *wanted, bool *ret_is_usable);
bool plan_balancer_set_security(struct plan_work *work, const struct wanted_balancer *wanted,
	struct observed_balancer *balancer);
/* Those in whose place another one serves, and those of a type that is not wanted any more. */
bool plan_balancers_remove(struct plan_work *work);
bool plan_balancers_are_wanted(const struct plan_work *work);

/* ---- plan_content.c ---- */

/* Compares what is wanted with what was read. */
void plan_content_init(struct plan_content *content, struct plan_work *work,
	const struct wanted_balancer *wanted, struct observed_balancer *balancer);
const struct plan_use *plan_content_find_use(const struct plan_content *content, struct str group);

/* ---- plan_matches.c ---- */

/* Finds for each rule that is wanted the one that AWS has. `count`: how many of the first rules are wanted still. */
void plan_match_rules(struct plan_listener *listener, size_t count, struct arena *arena);

/* ---- plan_actions.c ---- */

enum plan_action_state {
	ACTION_AS_WANTED,
	ACTION_SEND,    /* *ret_action */
	ACTION_BLOCKED, /* it cannot be sent yet */
	ACTION_HELD,    /* it leads to a group that AWS refuses */
};

/* `read` is NULL where something is to be made. */
enum plan_action_state plan_action(struct plan_content *content, const struct elb_action *wanted,
	const struct elb_action *read, const struct elb_action **ret_action);

/* ---- plan_listeners.c ---- */

bool plan_listeners_make(struct plan_content *content);
bool plan_listeners_remove(struct plan_content *content);

/* ---- plan_rules.c ---- */

bool plan_rules_change(struct plan_content *content);

/* ---- plan_removal.c ---- */

/* Nothing is wanted. */
bool plan_removal(struct plan_work *work);
