// SPDX-License-Identifier: Apache-2.0
/*
 * What the parts of wanted.c share while they make one balancer. Nothing else includes this. No I/O.
 *
 *   wanted_certificates.c   which certificates a listener has
 *   wanted_rules.c          hosts and paths to rules in their order, and how many of them there may be
 *   wanted_groups.c         pools to target groups, and to what rules and listeners do
 */
#pragma once

#include "provider-elb/conditions.h"
#include "provider-elb/notices.h"
#include "provider-elb/wanted.h"

enum { WANTED_LISTENERS_MAX = 50 /* of a balancer; AWS raises it for application ones only */ };

/* A rule whose action is not known yet. */
struct draft_rule {
	struct elb_rule rule;
	struct str pool;   /* id */
	bool does_default; /* what the listener does by default, not what the pool says */
};

struct draft_listener {
	struct elb_listener listener;
	LIST_OF(struct draft_rule) rules;
	struct str pool;    /* id, of the default action; absent: 404 */
	struct str ingress; /* of what wants the pool, for messages */
};

struct wanted_builder {
	const struct load_balancer *lb;
	const struct virtual_host *hosts;
	size_t host_count;
	const struct settings *settings;
	const struct wanted_lookup *lookup;
	struct arena *arena;
	struct notices notices;
	struct wanted_balancer *balancer;      /* that is made now */
	LIST_OF(struct draft_listener) drafts; /* its listeners */
	size_t rule_count;                     /* of all drafts */
	size_t certificate_count;              /* likewise, without the default ones */
};

/* Sets the certificates of a listener for HTTPS. False: there is none to serve, and why is told. */
bool wanted_certificates_add(
	struct wanted_builder *b, const struct listener *from, struct elb_listener *listener);

/* The virtual hosts that do not pass TLS through, in order of precedence: pointers in the arena. */
size_t wanted_rules_sort(const struct wanted_builder *b, const struct virtual_host ***ret_hosts);
/* The rules of a listener for requests. */
void wanted_rules_add(struct wanted_builder *b, const struct virtual_host *const *hosts,
	size_t host_count, struct draft_listener *draft);
/* Leaves out those of the least precedence until the account's quota is kept. */
void wanted_rules_limit(struct wanted_builder *b);

/* Makes the groups of all drafts, and puts their listeners, with the actions, into the balancer. */
void wanted_groups_add(struct wanted_builder *b);
