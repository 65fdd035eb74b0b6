// SPDX-License-Identifier: Apache-2.0
/*
 * What a load-balancer object of the translator asks of AWS: no, one or two balancers with their listeners, rules and target groups. Pure: no
 * I/O, no state. Everything that AWS cannot do is left out and told as a notice, by host and path; it never stops the rest.
 *
 * Order: the rules of a listener are in order of precedence (exact hosts, then wildcards from the longest to the shortest, then any host;
 * within a host as given). plan.h turns it into priorities.
 *
 * A host whose rules do not take every path is ended by one more rule, with the default action, when a host of less precedence would take the rest: an Ingress
 * knows no such fallback. With patterns for wildcards (WILDCARD_GLOB) the hosts that are too deep get the default action before the wildcard's own rules.
 *
 * Closed rather than open: a rule whose pool is unknown, has no room or needs what AWS cannot do (certificates of endpoints that have to be checked) stays and
 * answers 503, so that no less specific rule takes its requests.
 */
#pragma once

#include "provider-elb/naming.h"
#include "provider-elb/settings.h"

enum {
	WANTED_RULES_MAX = 5000, /* of one balancer, before quotas: protects time and memory */
	WANTED_NOTICES_MAX = 32, /* of one balancer; a last one counts the others */
};

/* What the translator's state and the certificates in ACM say. The answers live at least as long as the arena's contents. */
struct wanted_lookup {
	/* NULL: there is no such pool. */
	const struct pool *(*find_pool)(void *ctx, struct str id);
	/* ARN of the certificate in ACM; absent: not imported yet, and is waited for. *ret_is_refused: it will not be. */
	struct str (*find_certificate)(void *ctx, struct str id, bool *ret_is_refused);
	void *ctx;
};

struct wanted_balancer {
	enum elb_type type;
	struct str lb;       /* id of the load-balancer object */
	struct str identity; /* value of TAG_RESOURCE */
	struct str name;
	struct str owner; /* value of TAG_OWNER */
	LIST_OF(struct elb_listener)
	listeners; /* by port; none: nothing can be served now, so it is not made, but one that exists stays */
	LIST_OF(struct elb_group) groups; /* by name */
	bool waits_for_certificates; /* at least one listener lacks a certificate that is being imported: it is not among `listeners` yet */
	struct str
		digest; /* 16 hex digits of a SHA-256 of all of it, but for the settings of groups: value of TAG_APPLIED */
};

struct wanted {
	struct wanted_balancer *balancers; /* at most one of each type, application first */
	size_t count;
	LIST_OF(struct lb_notice) notices;
};

/* `hosts` are the virtual hosts of the load balancer, in any order. Linear in their rules, but for sorting. Of an object that is absent or kept nothing is
 * wanted. */
void wanted_make(const struct load_balancer *lb, const struct virtual_host *hosts,
	size_t host_count, const struct settings *settings, const struct wanted_lookup *lookup,
	struct arena *arena, struct wanted *ret_wanted);

/* The digest of one group's settings, as in TAG_APPLIED of the group. */
struct str wanted_group_digest(const struct elb_group *group, struct arena *arena);

/* The targets of a pool: active endpoints, which are the ready ones, or, if there is none, those that serve while they terminate. One address family, as
 * group->is_ipv6 says: IPv6 when more than two thirds of the endpoints are, and the balancer is dualstack. Others are left out, and so are addresses that
 * AWS would refuse (networks.h). At most `max`: those that are registered already (`registered` may be NULL) are kept first, so that the choice
 * is stable. *ret_left_out: how many did not fit. */
void wanted_targets(const struct pool *pool, const struct elb_group *group,
	const struct settings *settings, const struct elb_target_list *registered, size_t max,
	struct arena *arena, struct elb_target_list *ret_targets, size_t *ret_left_out);
/* Those of its inactive endpoints that could be targets: they serve while they terminate, beside others that are ready. */
void wanted_serving(const struct pool *pool, const struct elb_group *group,
	const struct settings *settings, struct arena *arena, struct elb_target_list *ret_targets);
