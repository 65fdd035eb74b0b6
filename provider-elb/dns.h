// SPDX-License-Identifier: Apache-2.0
/*
 * Keeps the records of hosts in Route 53 as records.h wants them. Nothing is remembered of a zone: each pass reads all its records, which one call
 * tells 300 of, and writes what differs, as many names in one call as it takes. A pass is made when the hosts or what serves them have changed, and every
 * --list-interval.
 *
 * A batch that is refused is halved until the names are found that are to blame; they are told, and the rest goes on. What fails is tried again by the next
 * pass, which reads everything again: somebody else may have written meanwhile.
 */
#pragma once

#include "provider-common/state.h"
#include "provider-elb/call.h"
#include "provider-elb/notices.h"
#include "provider-elb/records.h"

struct dns;

struct dns_config {
	const struct call_context *calls;
	struct str_list zones; /* ids; kept */
	struct str cluster;
	double interval_s;
	/* Everything that is wanted and everything that serves it is known, and this replica may write. Who answers false calls dns_wake() when that changes. */
	bool (*may_start)(void *ctx);
	/* Fills the wishes, with texts in the arena. */
	void (*list_hosts)(void *ctx, struct arena *arena, struct records_wishes *wishes);
	/* dns_notices() and dns_is_behind() may have other answers. */
	void (*on_told)(void *ctx);
	void *ctx;
};

struct dns *dns_new(const struct dns_config *config);
/* Of all these, NULL is nothing. */
void dns_free(struct dns *dns);
/* What is wanted may have changed. Cheap. */
void dns_wake(struct dns *dns);
/* Likewise, if the commit concerns hosts. */
void dns_on_commit(struct dns *dns, const struct state_commit *commit);
/* Another replica may have written, or does: gives up the pass that is under way. To be followed by dns_wake(). */
void dns_restart(struct dns *dns);
/* Records of this load balancer could not be written: they may lead to one that it has replaced. */
bool dns_is_behind(const struct dns *dns, struct str lb);
/* What the owners of this load balancer should know; in the arena. */
size_t dns_notices(
	const struct dns *dns, struct str lb, struct arena *arena, struct lb_notice **ret_list);
