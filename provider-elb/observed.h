// SPDX-License-Identifier: Apache-2.0
/*
 * What AWS has of ours: balancers, target groups and security groups, found by their tags, confirmed by the Describe pages, and kept up to date from the
 * answers to our own writes. No I/O.
 *
 * A balancer's listeners, rules and certificates are read only when they are needed (has_content): TAG_APPLIED says whether they are as wanted.
 * Everything here owns its memory; pointers are valid until the thing is forgotten, those into the content until it is dropped.
 *
 * What the tagging API lists is a hint: it lags. A thing has no name before a Describe page, or the answer to our own create, has shown it; until then
 * it is found by its ARN only, and nobody plans with it.
 */
#pragma once

#include "provider-elb/naming.h"

#include <bsd/sys/queue.h>

enum {
	OBSERVED_MAX = 20 * 1000
}; /* of each kind, accepted from lists: the quota of target groups is 3000 */

enum elb_state { ELB_PROVISIONING, ELB_ACTIVE, ELB_IMPAIRED, ELB_FAILED };

/* Whether the targets that a group has are known. */
struct observed_group {
	struct elb_group
		group; /* identity, lb, applied, name, arn, settings as read; texts are its own */
	char *balancer_arn; /* of the balancer that uses it; NULL: none */
	/* Registered and not draining, as far as we know: read, or from our own writes. */
	struct elb_target_list targets;
	bool has_targets; /* `targets` was read, or the group was made by us in this life */
	bool is_supplied; /* all wanted targets have been registered once: rules may lead to it */
	bool is_proven; /* one target was healthy while a rule or listener led to it, or that was waited for long enough */
	double health_read_at; /* when its targets' health was last read to prove it; 0: never */
	double attached_at;    /* since when something leads to it, by ev_now(); 0: nothing does */
	uint64_t seen_in;      /* number of the pass of the inventory that has seen it last */
};

struct observed_permission {
	uint64_t from, to; /* ports */
	char *source;      /* CIDR, or id of a group */
};

struct observed_security_group {
	char *id;
	char *name;
	char *identity; /* value of TAG_RESOURCE */
	char *lb;
	bool has_permissions;
	LIST_OF(struct observed_permission) permissions; /* tcp, ingress */
	uint64_t seen_in;
};

struct observed_balancer {
	char *arn;
	char *name;
	char *dns_name; /* lower case */
	char *zone_id;  /* CanonicalHostedZoneId */
	char *identity; /* value of TAG_RESOURCE */
	char *lb;       /* value of TAG_LB */
	char *applied;  /* value of TAG_APPLIED; NULL: none */
	enum elb_type type;
	enum elb_state state;
	char *state_reason;
	char *scheme;
	char *ip_address_type;
	struct str_list security_groups; /* ids, sorted */
	struct str_list subnets;         /* ids, sorted */
	/* Read in full, since the last write that was not ours as far as we know: */
	bool has_content;
	struct arena content;
	LIST_OF(struct elb_listener) listeners; /* by port; in `content` */
	const void *
		content_reader; /* that reads it now, only compared; NULL: none, or it was dropped meanwhile */
	size_t content_writes; /* changes of the content that have left something behind in its arena */
	bool is_leaving;       /* AWS has accepted to delete it; forgotten once a page lacks it */
	bool is_protected;     /* deletion protection is on: known after a refused delete */
	double replaced_at; /* since when another one serves in its place; 0: none does */
	uint64_t seen_in;
};

struct observed;

struct observed *observed_new(void);
void observed_free(struct observed *observed);

/* By ARN, name, or the id of the load-balancer object; NULL: there is none. */
struct observed_balancer *observed_find_balancer(const struct observed *observed, struct str arn);
struct observed_balancer *observed_find_balancer_name(
	const struct observed *observed, struct str name);
struct observed_group *observed_find_group(const struct observed *observed, struct str arn);
struct observed_group *observed_find_group_name(const struct observed *observed, struct str name);
/* All balancers, groups and security groups of one load-balancer object, by name: an array in the arena. */
size_t observed_balancers_of(const struct observed *observed, struct str lb, struct arena *arena,
	struct observed_balancer ***ret_balancers);
size_t observed_groups_of(const struct observed *observed, struct str lb, struct arena *arena,
	struct observed_group ***ret_groups);
size_t observed_security_groups_of(const struct observed *observed, struct str lb,
	struct arena *arena, struct observed_security_group ***ret_groups);
struct observed_security_group *observed_find_security_group(
	const struct observed *observed, struct str id);
/* Everything by ARN, hints too, for sweeps: the first one after NULL. */
struct observed_balancer *observed_next_balancer(
	const struct observed *observed, const struct observed_balancer *balancer);
struct observed_group *observed_next_group(
	const struct observed *observed, const struct observed_group *group);
struct observed_security_group *observed_next_security_group(
	const struct observed *observed, const struct observed_security_group *group);
size_t observed_balancer_count(const struct observed *observed);
size_t observed_group_count(const struct observed *observed);
size_t observed_security_group_count(const struct observed *observed);
/* All ids of load-balancer objects that something here belongs to, sorted; views of texts here. */
size_t observed_load_balancers(
	const struct observed *observed, struct arena *arena, struct str **ret_lbs);

/* Makes it if there is none; empty but for the key. */
struct observed_balancer *observed_add_balancer(
	struct observed *observed, struct str arn, struct str lb);
struct observed_group *observed_add_group(struct observed *observed, struct str arn, struct str lb);
struct observed_security_group *observed_add_security_group(
	struct observed *observed, struct str id, struct str lb);
void observed_set_balancer_name(
	struct observed *observed, struct observed_balancer *balancer, struct str name);
void observed_set_group_name(
	struct observed *observed, struct observed_group *group, struct str name);
void observed_set_security_group_name(
	struct observed *observed, struct observed_security_group *group, struct str name);
/* A pass begins, whether it will see anything or not: what is made from now on may be missing in its pages. */
void observed_begin_pass(struct observed *observed, uint64_t pass);
/* A pass of the inventory has seen it. An older pass does not count. */
void observed_see(struct observed *observed, uint64_t pass, uint64_t *seen_in);
/* We have just made it. The pages of the pass that is under way may be older than it, so it counts as seen in the next one. */
void observed_see_new(const struct observed *observed, uint64_t *seen_in);
void observed_forget_balancer(struct observed *observed, struct observed_balancer *balancer);
void observed_forget_group(struct observed *observed, struct observed_group *group);
void observed_forget_security_group(
	struct observed *observed, struct observed_security_group *group);

/* All that no pass from `before` on has seen: it does not exist. How many of them somebody may have planned with; of those balancers on_balancer(), which may
 * be NULL, is told first. What has no name was only hinted at, and counts as no loss: the tagging API goes on listing what was deleted, pass after pass. */
size_t observed_forget_unseen(struct observed *observed, uint64_t before,
	void (*on_balancer)(void *ctx, const struct observed_balancer *balancer), void *ctx);

/* What a balancer has in it is not known any more (somebody else wrote, or an answer was lost). */
void observed_drop_content(struct observed_balancer *balancer);
/* A target is registered, or not; keeps the order. */
void observed_add_target(struct observed_group *group, const struct elb_target *target);
void observed_remove_target(struct observed_group *group, const struct elb_target *target);
